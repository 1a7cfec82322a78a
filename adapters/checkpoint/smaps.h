/* /proc/PID/smaps: what madvise() has told the kernel of each mapping. */
#ifndef CGIBRIDGE_SMAPS_H
#define CGIBRIDGE_SMAPS_H

#include <stdint.h>

struct address_range {
  uintptr_t start, end;
};

/* flags: a two-letter word, between blanks, for each (proc(5), VmFlags). Valid during the call. */
struct smaps_entry {
  struct address_range range;
  int is_private;
  const char *flags;
};

int smaps_has(const struct smaps_entry *entry, const char *flag);

/* Calls visit for each mapping until it returns other than 0, and returns that; -1: not readable.
 * Takes the descriptor, and closes it. No malloc. */
typedef int smaps_visit(const struct smaps_entry *entry, void *context);
int smaps_each(int fd, smaps_visit *visit, void *context);

#endif
