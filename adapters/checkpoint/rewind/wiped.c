/* Memory that the kernel wipes in a forked child: MADV_WIPEONFORK, by which TLS libraries notice a
 * fork, and MAP_DROPPABLE, in which libc (2.41) and Go (1.26) keep the state of getrandom(). A copy
 * of it would draw the same numbers in every request. So it is not part of the snapshot, and is
 * emptied after each reset, as in the forked child that a rewound process represents. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "raw_call.h"
#include "rewind/engine.h"

/* A line of /proc/self/smaps that begins a mapping: "from-to perms ...". */
static int read_range(const char *line, struct address_range *range) {
  unsigned long from, to;
  if (sscanf(line, "%lx-%lx ", &from, &to) != 2) return 0;
  range->start = from;
  range->end = to;
  return 1;
}

static int has_flag(const char *flags, const char *flag) {
  char word[] = {' ', flag[0], flag[1], ' ', '\0'};
  return strstr(flags, word) != NULL;
}

static int add(struct engine *engine, const struct address_range *range) {
  if (engine->wiped_count == kWipedMax) return -1;
  engine->wiped[engine->wiped_count++] = *range;
  return 0;
}

static int take_line(struct engine *engine, const char *line, struct address_range *range) {
  static const char kFlags[] = "VmFlags:";
  if (strncmp(line, kFlags, sizeof kFlags - 1) != 0) {
    read_range(line, range);
    return 0;
  }
  int is_wiped = has_flag(line, "wf") || has_flag(line, "dp");
  return is_wiped ? add(engine, range) : 0;
}

int wiped_find(struct engine *engine) {
  char *text = engine->maps_text;
  struct address_range range = {0, 0};
  size_t kept = 0;
  ssize_t got = 0;
  int result = 0, fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  while (result == 0 && (got = read(fd, text + kept, sizeof engine->maps_text - 1 - kept)) > 0) {
    text[kept + (size_t)got] = '\0';
    char *line = text;
    for (char *end; result == 0 && (end = strchr(line, '\n')) != NULL; line = end + 1) {
      *end = '\0';
      result = take_line(engine, line, &range);
    }
    kept = strlen(line);
    memmove(text, line, kept);
  }
  close(fd);
  return got < 0 ? -1 : result;
}

enum retirement wiped_put_back(struct engine *engine) {
  for (size_t i = 0; i < engine->wiped_count; ++i) {
    const struct address_range *range = &engine->wiped[i];
    size_t bytes = range->end - range->start;
    if (raw_call(SYS_madvise, range->start, bytes, MADV_DONTNEED) == 0) continue;
    strcpy(engine->reason, "memory that is empty in a forked child cannot be emptied");
    return RETIRED_MAPPINGS;
  }
  return RETIRED_NOT;
}
