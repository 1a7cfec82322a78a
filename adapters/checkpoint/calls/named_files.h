/* Files, folders, links and sockets that a request names by its process id. With rewind one process
 * answers many requests: what such a request leaves behind, the next one would take for its own. A
 * worker of whose files one is left retires, and the next request has another id. Compared is the
 * decimal number, with no digit beside it, whoever has put it there. */
#ifndef CGIBRIDGE_NAMED_FILES_H
#define CGIBRIDGE_NAMED_FILES_H

#include <stddef.h>

/* A request is about to make this, or may be. */
void named_files_see(int directory, const char *path);
/* The same, by a system call's number. */
void named_files_see_number(long number, const long *words);
/* Whether one is left, at the end of a request; then also why, in words. */
int named_files_are_left(char *why, size_t bytes);

#endif
