/* Files that say what the kernel's calls would return, by whatever name they are opened: a device
 * is known by its number, and a file of /proc or /sys by its own place there, after links and dots
 * and a folder's descriptor. What describes the machine, or the program as it was launched, is
 * harmless, and interpreters and allocators read it for themselves: cpuinfo, meminfo, maps, io. */
#include <ctype.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "calls/rare_calls.h"
#include "descriptors.h"
#include "load/load_watch.h"
#include "raw_call.h"

struct kind_of_name {
  const char *name;
  enum impurity kind;
};

static enum impurity kind_of_device(const struct stat *file) {
  enum { kMemory = 1, kMisc = 10, kHardwareRandom = 183 };
  unsigned number = minor(file->st_rdev);
  if (major(file->st_rdev) == kMemory) {
    if (number == 8 || number == 9) return IMPURE_RANDOM;
    if (number == 3 || number == 5 || number == 7) return IMPURITIES; /* null, zero, full */
  }
  int is_random = major(file->st_rdev) == kMisc && number == kHardwareRandom;
  return is_random ? IMPURE_RANDOM : IMPURE_INPUT; /* a clock's, a terminal's */
}

static enum impurity kind_in(const struct kind_of_name *names, const char *name) {
  while (names->name != NULL && strcmp(names->name, name) != 0) ++names;
  return names->kind;
}

/* Below /proc/N, or /proc/N/task/N. */
static enum impurity kind_of_process_file(const char *name) {
  static const struct kind_of_name kNames[] = {
      {"stat", IMPURE_PID},   {"status", IMPURE_PID},   {"environ", IMPURE_INPUT},
      {"sched", IMPURE_PID},  {"syscall", IMPURE_TIME}, {"schedstat", IMPURE_TIME},
      {"timers", IMPURE_PID}, {NULL, IMPURITIES}};
  return kind_in(kNames, name);
}

/* path: without /proc/. Another process's files tell as much. */
static enum impurity kind_in_proc(const char *path) {
  static const struct kind_of_name kNames[] = {
      {"uptime", IMPURE_TIME},       {"loadavg", IMPURE_TIME},     {"stat", IMPURE_TIME},
      {"interrupts", IMPURE_TIME},   {"softirqs", IMPURE_TIME},    {"vmstat", IMPURE_TIME},
      {"diskstats", IMPURE_TIME},    {"timer_list", IMPURE_TIME},  {"schedstat", IMPURE_TIME},
      {"driver/rtc", IMPURE_TIME},   {"zoneinfo", IMPURE_TIME},    {"buddyinfo", IMPURE_TIME},
      {"pressure/cpu", IMPURE_TIME}, {"pressure/io", IMPURE_TIME}, {"pressure/memory", IMPURE_TIME},
      {"pressure/irq", IMPURE_TIME}, {"locks", IMPURE_PID},        {"sysvipc/shm", IMPURE_PID},
      {"sysvipc/msg", IMPURE_PID},   {"sysvipc/sem", IMPURE_TIME}, {NULL, IMPURITIES}};
  static const char kRandom[] = "sys/kernel/random/";
  if (strncmp(path, kRandom, sizeof kRandom - 1) == 0) {
    const char *name = path + sizeof kRandom - 1;
    return strcmp(name, "uuid") == 0 || strcmp(name, "entropy_avail") == 0 ? IMPURE_RANDOM
                                                                           : IMPURITIES;
  }
  const char *name = strrchr(path, '/');
  int is_of_process = isdigit((unsigned char)path[0]) && name != NULL;
  return is_of_process ? kind_of_process_file(name + 1) : kind_in(kNames, path);
}

/* A clock's. */
static enum impurity kind_in_sys(const char *path) {
  static const struct kind_of_name kNames[] = {{"time", IMPURE_TIME},
                                               {"date", IMPURE_TIME},
                                               {"since_epoch", IMPURE_TIME},
                                               {NULL, IMPURITIES}};
  return strstr(path, "/rtc/") != NULL ? kind_in(kNames, strrchr(path, '/') + 1) : IMPURITIES;
}

/* Where a file is below its file system's own root, with "" for what cannot be told: /proc may be
 * mounted elsewhere, or twice. */
const char *kernel_file_place(char *path) {
  struct statfs system;
  for (char *at = path; (at = strchr(at, '/')) != NULL; ++at) {
    *at = '\0';
    long known = raw_call(SYS_statfs, at == path ? "/" : path, &system);
    *at = '/';
    if (known == 0 && system.f_type == PROC_SUPER_MAGIC) return at + 1;
  }
  return "";
}

static enum impurity kind_of_file(int fd) {
  char path[1024];
  struct statfs system;
  if (raw_call(SYS_fstatfs, fd, &system) != 0) return IMPURITIES;
  if (system.f_type != PROC_SUPER_MAGIC && system.f_type != SYSFS_MAGIC) return IMPURITIES;
  if (path_of_open_file(fd, path, sizeof path) <= 0) return IMPURITIES;
  return system.f_type == SYSFS_MAGIC ? kind_in_sys(path) : kind_in_proc(kernel_file_place(path));
}

/* Standard input by another name, or a pipe that has a name of its own; but not another pipe of the
 * process's, by a link of /proc. */
static int is_input(const struct stat *pipe) {
  struct stat own;
  int knows = raw_call(SYS_fstat, 0, &own) == 0 && own.st_dev == pipe->st_dev;
  return !knows || own.st_ino == pipe->st_ino;
}

static enum impurity kind_of(int directory, const char *path) {
  struct stat file;
  if (raw_call(SYS_newfstatat, directory, path, &file, 0) != 0) return IMPURITIES;
  if (S_ISCHR(file.st_mode)) return kind_of_device(&file);
  if (S_ISFIFO(file.st_mode)) return is_input(&file) ? IMPURE_INPUT : IMPURITIES;
  if (!S_ISREG(file.st_mode) || major(file.st_dev) != 0) return IMPURITIES; /* on a disk */
  long fd = raw_call(SYS_openat, directory, path, O_PATH | O_CLOEXEC, 0);
  if (fd < 0) return IMPURITIES;
  enum impurity kind = kind_of_file((int)fd);
  raw_call(SYS_close, fd);
  return kind;
}

void load_watch_note_file(int directory, const char *path, int flags, const void *caller) {
  if ((flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH) != 0) return;
  enum impurity kind = kind_of(directory, path);
  if (kind != IMPURITIES) load_watch_note(kind, path, caller);
}
