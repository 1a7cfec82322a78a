/* What a process may hold when it is copied. If it holds anything that a copy would share with its
 * siblings, or would lack although a fresh process has it, the checkpoint is too deep for this
 * program. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "uncopied.h"

/* Uses the system call itself: an ended thread may have held any of libc's locks. */
unsigned threads_of_process(void) {
  struct stat status;
  long result = raw_call(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &status, 0);
  return result == 0 && status.st_nlink > 2 ? (unsigned)status.st_nlink - 2 : 0;
}

static int child_stands(void) {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* A line of /proc/self/maps: "from-to perms offset dev inode path". */
static int is_shared_and_writable(const char *line) {
  const char *permissions = strchr(line, ' ');
  return permissions != NULL && permissions[2] == 'w' && permissions[4] == 's';
}

static int shared_memory_is_mapped(void) {
  int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[4096];
  size_t kept = 0;
  int found = 0;
  for (;;) {
    ssize_t count = read(fd, text + kept, sizeof text - 1 - kept);
    if (count <= 0) break;
    text[kept + (size_t)count] = '\0';
    char *line = text;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      *end = '\0';
      found |= is_shared_and_writable(line);
    }
    kept = strlen(line);
    if (kept == sizeof text - 1) kept = 0;
    memmove(text, line, kept);
  }
  close(fd);
  return found;
}

const char *stillness_of_process(void) {
  const char *held = NULL;
  if (lookups_left_folder()) held = "changes its working folder before the checkpoint";
  if (lookups_see_input()) held = "reads standard input before the checkpoint";
  if (alarm_runs()) held = "a timer runs at the checkpoint";
  if (child_stands()) held = "a child process stands at the checkpoint";
  if (held == NULL) held = uncopied_of_process();
  if (shared_memory_is_mapped()) held = "shared writable memory is mapped at the checkpoint";
  return held;
}

int stillness_check(char *reason, size_t reason_bytes) {
  const char *held = stillness_of_process();
  if (timers_stand()) held = "a timer runs at the checkpoint";
  if (held != NULL) {
    snprintf(reason, reason_bytes, "%s", held);
    return -1;
  }
  return descriptors_watch(reason, reason_bytes);
}
