/* Files that say what the kernel's calls would return, by whatever name they are opened: a device
 * is known by its number, and a file of /proc, /sys or a cgroup by its own place there, after links
 * and dots and a folder's descriptor. What describes the machine, or the program as it was
 * launched, is harmless, and interpreters and allocators read it for themselves: cpuinfo, meminfo,
 * maps, io. Of /proc and cgroups only what is known to be so is; whatever else they have may count
 * or measure. */
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

static int begins_with(const char *text, const char *begin) {
  return strncmp(text, begin, strlen(begin)) == 0;
}

static int ends_with(const char *text, const char *end) {
  size_t length = strlen(text), of_end = strlen(end);
  return length >= of_end && strcmp(text + length - of_end, end) == 0;
}

/* Below /proc/N, or /proc/N/task/N. The others number or measure the process: its memory, the
 * positions of its files, its time. */
static enum impurity kind_of_process_file(const char *name) {
  static const struct kind_of_name kNames[] = {{"environ", IMPURE_INPUT},
                                               {"syscall", IMPURE_TIME},
                                               {"schedstat", IMPURE_TIME},
                                               {"maps", IMPURITIES},
                                               {"io", IMPURITIES},
                                               {"cmdline", IMPURITIES},
                                               {"comm", IMPURITIES},
                                               {"auxv", IMPURITIES},
                                               {"limits", IMPURITIES},
                                               {"cgroup", IMPURITIES},
                                               {"cpuset", IMPURITIES},
                                               {"mounts", IMPURITIES},
                                               {"mountinfo", IMPURITIES},
                                               {"uid_map", IMPURITIES},
                                               {"gid_map", IMPURITIES},
                                               {"setgroups", IMPURITIES},
                                               {"current", IMPURITIES},
                                               {"exec", IMPURITIES},
                                               {"prev", IMPURITIES},
                                               {"personality", IMPURITIES},
                                               {"oom_score_adj", IMPURITIES},
                                               {"coredump_filter", IMPURITIES},
                                               {"timerslack_ns", IMPURITIES},
                                               {"loginuid", IMPURITIES},
                                               {NULL, IMPURE_PID}};
  return kind_in(kNames, name);
}

/* Settings, except for what counts. path: without /proc/sys/ */
static enum impurity kind_of_setting(const char *path) {
  static const struct kind_of_name kNames[] = {{"kernel/random/uuid", IMPURE_RANDOM},
                                               {"kernel/random/entropy_avail", IMPURE_RANDOM},
                                               {"kernel/ns_last_pid", IMPURE_PID},
                                               {"kernel/pty/nr", IMPURE_TIME},
                                               {"fs/file-nr", IMPURE_TIME},
                                               {"fs/inode-nr", IMPURE_TIME},
                                               {"fs/inode-state", IMPURE_TIME},
                                               {"fs/dentry-state", IMPURE_TIME},
                                               {"fs/aio-nr", IMPURE_TIME},
                                               {"net/netfilter/nf_conntrack_count", IMPURE_TIME},
                                               {NULL, IMPURITIES}};
  return kind_in(kNames, path);
}

/* path: without /proc/. Another process's files tell as much. */
static enum impurity kind_in_proc(const char *path) {
  static const struct kind_of_name kNames[] = {
      {"cpuinfo", IMPURITIES},     {"meminfo", IMPURITIES}, {"version", IMPURITIES},
      {"cmdline", IMPURITIES},     {"devices", IMPURITIES}, {"version_signature", IMPURITIES},
      {"filesystems", IMPURITIES}, {"modules", IMPURITIES}, {"config.gz", IMPURITIES},
      {"partitions", IMPURITIES},  {"crypto", IMPURITIES},  {"kallsyms", IMPURITIES},
      {"locks", IMPURE_PID},       {"mtrr", IMPURITIES},    {"sysvipc/shm", IMPURE_PID},
      {"sysvipc/msg", IMPURE_PID}, {"", IMPURITIES},        {NULL, IMPURE_TIME}};
  const char *name = strrchr(path, '/');
  if (begins_with(path, "sys/")) return kind_of_setting(path + sizeof "sys/" - 1);
  int is_of_process = isdigit((unsigned char)path[0]) && name != NULL;
  return is_of_process ? kind_of_process_file(name + 1) : kind_in(kNames, path);
}

/* Clocks, counters and sensors. */
static enum impurity kind_in_sys(const char *path) {
  static const char *const kPlaces[] = {"/statistics/", "/hwmon", "/thermal", "/powercap/",
                                        "cur_freq",     "/rtc/",  "/sys/fs/"};
  static const struct kind_of_name kNames[] = {
      {"stat", IMPURE_TIME},          {"inflight", IMPURE_TIME}, {"vmstat", IMPURE_TIME},
      {"uevent_seqnum", IMPURE_TIME}, {"numastat", IMPURE_TIME}, {NULL, IMPURITIES}};
  for (size_t i = 0; i < sizeof kPlaces / sizeof *kPlaces; ++i) {
    if (strstr(path, kPlaces[i]) != NULL) return IMPURE_TIME;
  }
  return kind_in(kNames, strrchr(path, '/') + 1);
}

/* Limits and shares are settings; the rest counts, or lists processes. */
static enum impurity kind_in_cgroup(const char *path) {
  static const char *const kEnds[] = {".max",    ".min",     ".high",       ".low",
                                      ".weight", "in_bytes", "_quota_us",   "_period_us",
                                      ".shares", ".type",    "controllers", "subtree_control"};
  const char *name = strrchr(path, '/') + 1;
  if (strstr(name, "usage") != NULL || strstr(name, "pressure") != NULL) return IMPURE_TIME;
  if (begins_with(name, "cpuset.")) return IMPURITIES;
  for (size_t i = 0; i < sizeof kEnds / sizeof *kEnds; ++i) {
    if (ends_with(name, kEnds[i])) return IMPURITIES;
  }
  return IMPURE_TIME;
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
  int is_cgroup = system.f_type == CGROUP_SUPER_MAGIC || system.f_type == CGROUP2_SUPER_MAGIC;
  int is_proc = system.f_type == PROC_SUPER_MAGIC;
  if (!is_cgroup && !is_proc && system.f_type != SYSFS_MAGIC) return IMPURITIES;
  if (path_of_open_file(fd, path, sizeof path) <= 0 || path[0] != '/') return IMPURITIES;
  if (is_proc) return kind_in_proc(kernel_file_place(path));
  return is_cgroup ? kind_in_cgroup(path) : kind_in_sys(path);
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
