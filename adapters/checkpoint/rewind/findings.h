/* A comparison of a resting worker with its zygote: what it has found so far, and its parts. Runs
 * in the zygote. */
#ifndef CGIBRIDGE_FINDINGS_H
#define CGIBRIDGE_FINDINGS_H

#include "rewind/engine.h"

enum { kTextMax = 32 * 1024 };

/* Mapped for one look: memory that was there at the checkpoint would be checked in each reset. */
struct scratch {
  struct mapping mappings[kMappingsMax];
  char maps_text[16 * 1024];
  char page[kPageSize];
  char ours[kTextMax], theirs[kTextMax];
};

struct findings {
  struct scratch *scratch;
  pid_t pid;
  int memory;     /* its memory as a file, where process_vm_readv() is refused; -1: not needed */
  uint64_t there; /* bits of its page map: a page that is there has one of them set */
  uint32_t pages;
  int count;
  size_t length;
  char text[1024];
};

/* Adds a difference, in words. */
__attribute__((format(printf, 2, 3))) void find(struct findings *findings, const char *format, ...);
/* A file of the worker's folder below /proc, or of another process's. open: -1 with errno. read: up
 * to kTextMax - 1 bytes, and how many there were. */
int open_of(pid_t pid, const char *name);
size_t read_text(pid_t pid, const char *name, char *text);

/* verify_memory.c, verify_descriptors.c */
void compare_memory(struct findings *findings, const struct engine *engine);
void compare_descriptors(struct findings *findings);

#endif
