/* See smaps.h. */
#include "smaps.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kTextBytes = 8 * 1024 };

int smaps_has(const struct smaps_entry *entry, const char *flag) {
  char word[] = {' ', flag[0], flag[1], ' ', '\0'};
  return strstr(entry->flags, word) != NULL;
}

/* "from-to perms ..." begins a mapping, "VmFlags: ..." is the last line of it. */
static int take_line(const char *line, struct smaps_entry *entry, smaps_visit *visit,
                     void *context) {
  static const char kFlags[] = "VmFlags:";
  unsigned long from, to;
  char permissions[5];
  if (strncmp(line, kFlags, sizeof kFlags - 1) == 0) {
    entry->flags = line + sizeof kFlags - 1;
    return visit(entry, context);
  }
  if (sscanf(line, "%lx-%lx %4s", &from, &to, permissions) == 3) {
    entry->range = (struct address_range){from, to};
    entry->is_private = permissions[3] == 'p';
  }
  return 0;
}

int smaps_each(int fd, smaps_visit *visit, void *context) {
  char text[kTextBytes];
  struct smaps_entry entry = {.flags = ""};
  size_t kept = 0;
  ssize_t got = -1;
  int result = 0;
  while (fd >= 0 && result == 0 && (got = read(fd, text + kept, sizeof text - 1 - kept)) > 0) {
    text[kept + (size_t)got] = '\0';
    char *line = text;
    for (char *end; result == 0 && (end = strchr(line, '\n')) != NULL; line = end + 1) {
      *end = '\0';
      result = take_line(line, &entry, visit, context);
    }
    kept = strlen(line);
    memmove(text, line, kept);
  }
  if (fd >= 0) close(fd);
  if (result != 0) return result;
  return got < 0 || kept > 0 ? -1 : 0;
}
