/* The adapters' call (magic_path.c): how far it is open, and to whom. */
#ifndef CGIBRIDGE_CALL_H
#define CGIBRIDGE_CALL_H

#include <stddef.h>
#include <sys/types.h>

/* To nobody yet; to the adapter, which got the secret; to it as it starts over; while the script
 * runs, for what the end of a request needs. */
enum call_phase { CALL_UNOPENED, CALL_ADAPTER, CALL_OVER, CALL_SCRIPT };
enum { kSecretChars = 32 };

struct adapters_call {
  enum call_phase phase;
  char secret[kSecretChars + 1];  /* the part of its paths that nobody can guess */
  size_t argv_offset, env_offset; /* how far the adapter has read the request's strings */
};

/* 1 if path was a call; then length in result is the answer's, or -1 with errno. */
int magic_path_answer(const char *path, char *buffer, size_t size, ssize_t *result);

#endif
