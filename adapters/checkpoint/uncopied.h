/* What the kernel keeps for a process and does not give to a copy of it, or keeps with a standard
 * stream, which each request brings anew: a program that leaves such a thing before the checkpoint
 * would find it in a process of its own. */
#ifndef CGIBRIDGE_UNCOPIED_H
#define CGIBRIDGE_UNCOPIED_H

/* At the start, when the streams of the load are in place. */
void uncopied_remember_start(void);
/* In words, or NULL; of the streams only as long as those of the load are in place. */
const char *uncopied_of_process(void);
/* At the end of the load, before its streams are released: also what has taken their place. */
const char *uncopied_streams(void);

#endif
