/* The descriptors of a resting worker, compared with those of its zygote. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewind/findings.h"

static int stood_at_checkpoint(int fd) {
  for (size_t i = 0; i < state.file_count; ++i) {
    if (state.files[i].fd == fd) return 1;
  }
  return 0;
}

void compare_descriptors(struct findings *findings) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd", (int)findings->pid);
  DIR *folder = opendir(path);
  if (folder == NULL)
    return find(findings, "its descriptors cannot be listed: %s", strerror(errno));
  size_t standing = 0, own = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    int fd = atoi(entry->d_name);
    if (entry->d_name[0] == '.') continue;
    if (stood_at_checkpoint(fd)) {
      ++standing;
    } else if (fd >= descriptor_least_own()) {
      ++own;
    } else {
      find(findings, "descriptor %d is open", fd);
    }
  }
  closedir(folder);
  if (standing != state.file_count) find(findings, "a descriptor of the checkpoint is closed");
  if (own > 7 + state.file_count) find(findings, "%zu descriptors are open high up", own);
}
