/* Texts that the interpreter finds in its program's files, although they are not there: calls of
 * its adapter's, at places where no hook of the language's is. Only until the checkpoint. */
#ifndef CGIBRIDGE_INSERTED_H
#define CGIBRIDGE_INSERTED_H

/* "OFFSET/TEXT/PATH": an absolute path; TEXT has no slash. Several texts of a file in the order of
 * their offsets, at most 9 in all. 0, or -1 if it is not understood, or one too many. "": from here
 * on all files are as they are. */
int inserted_set(const char *what);
/* Whoever opens such a file to read it, in any thread: a descriptor of a copy with the texts in it,
 * or -1 if this is another file, or it cannot be read. */
int inserted_open(const char *path, int flags);

#endif
