/* The adapters' call (adapters/README.md) from C; and what differs between launch and request. */
#ifndef CGIBRIDGE_JAVA_CALL_H
#define CGIBRIDGE_JAVA_CALL_H

#include <stddef.h>
#include <sys/types.h>

enum { kPathMax = 4096, kAnswerMax = 4096 };

/* The very first call: 0; or -1 if the checkpoint library is not there, or inactive. */
int call_open(void);
/* what: a path below the secret. Writes at most size - 1 bytes and a NUL; returns how many bytes
 * came, or -1: refused. */
ssize_t call_library(const char *what, char *answer, size_t size);

/* The words that the process was launched with, less those that brought this library in; and the
 * variables that Java reads while it starts. Of both it has made its own copies. */
void launch_remember(void);
/* In a worker with a request: NULL if it has the same; or what differs, in words. */
const char *launch_differs(void);

#endif
