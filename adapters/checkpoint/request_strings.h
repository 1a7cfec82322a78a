/* A request as the bridge sent it. */
#ifndef CGIBRIDGE_REQUEST_STRINGS_H
#define CGIBRIDGE_REQUEST_STRINGS_H

#include <stddef.h>
#include <stdint.h>

/* The strings of a request, in memory that outlives the request. */
struct request {
  uint64_t id;
  char *cwd;
  char *argv_text; /* NUL-terminated words, one after the other */
  size_t argv_bytes;
  char *env_text;
  size_t env_bytes;
  uint32_t argc, envc;
  char **argv, **envp; /* NULL-terminated, as main() gets them */
};

#endif
