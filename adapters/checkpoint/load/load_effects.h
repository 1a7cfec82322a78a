/* What a program changes outside its process while it is loaded (a file, a connection, a child, a
 * signal to another process) would be done once for nobody at each start. So before the call is
 * made, the process starts over without the module that makes it, or ends as a zygote: then each
 * request does it for itself. */
#ifndef CGIBRIDGE_LOAD_EFFECTS_H
#define CGIBRIDGE_LOAD_EFFECTS_H

/* What is done about it from here on, in the adapter's words; 0, or -1 if they are not understood:
 * "": perl is asked to start over, by its adapter's own code, CGIBridge::before_effect();
 * "/refuse/WHEN": the zygote ends, because the program does it WHEN; what was found before is
 * forgotten;
 * "/without/LIST" + line's end + "NAME" + line's end + "WHEN": the process is executed again with
 * the words and variables of its launch, without NAME in the word, or variable, that begins with
 * LIST, and that names modules with commas between them. The text is a warning's. */
int load_effects_expect(const char *words);
void load_effects_leave(void); /* nothing is done any more */
int load_effects_matter(void);
/* The watch (load_watch.h) has found such a call, in these words. Returns if perl does not start
 * over. */
void load_effects_prevent(const char *found);
/* Whether Python itself writes there, before its adapter runs: what it has compiled. */
int load_effects_is_cache(const char *path);
/* load_left.c: executes the program again as described; or returns -1. */
int start_over_without(const char *list, const char *name);
/* load_rehearsal.c: what the program will do at its end is done in a copy of the process, which
 * ends before the first call that others would notice. words: "": begins; the answer is "copy" in
 * the copy, and in the process, once that has ended, "unnoticed" or "", or "hangs" if it was killed
 * after a second. In the copy "/unnoticed" or any other words end it; it can tell the bridge
 * nothing. */
const char *load_effects_rehearse(const char *words);
int load_effects_is_copy(void);

#endif
