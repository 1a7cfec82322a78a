/* A text that the interpreter finds in its program's file, although it is not there: a call of its
 * adapter's, at a place where no hook of the language's is. Only until the checkpoint. */
#ifndef CGIBRIDGE_INSERTED_H
#define CGIBRIDGE_INSERTED_H

/* "OFFSET/TEXT/PATH": an absolute path; TEXT has no slash. 0, or -1 if it is not understood. "":
 * from here on the file is as it is. */
int inserted_set(const char *what);
/* Whoever opens the file to read it, in any thread: a descriptor of a copy with the text in it, or
 * -1 if this is another file, or it cannot be read. */
int inserted_open(const char *path, int flags);

#endif
