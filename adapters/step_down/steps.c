/* One function for each step; each returns the kernel's 0 or -errno. */
#define _GNU_SOURCE
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "checkpoint/raw_call.h"
#include "sandbox/steps.h"
#include "say.h"

#ifndef SYS_mmap
#define SYS_mmap SYS_mmap2 /* its place in the file is in pages */
#endif

enum {

  kControl = 3,             /* STEP_READY's channel */
  kSetRecursive = 0x8000,   /* AT_RECURSIVE */
  kPrivate = 1 << 18,       /* MS_PRIVATE */
  kRecursive = 16384,       /* MS_REC */
  kNoSetuid = 2,            /* MS_NOSUID */
  kNoDevices = 4,           /* MS_NODEV */
  kInterfaceFlags = 0x8913, /* SIOCGIFFLAGS */
  kSetInterfaceFlags = 0x8914,
  kLandlockPathBeneath = 1
};

struct landlock_attributes {
  uint64_t files, network, scoped; /* the first kernels with Landlock know only the first */
};

struct landlock_path {
  uint64_t allowed;
  int32_t folder;
} __attribute__((packed));

static int slots[STEP_SLOTS];
static int landlock_fd = -1;

/* The compiler may insert calls to these. */
void *memset(void *at, int byte, size_t size);
void *memset(void *at, int byte, size_t size) {
  volatile char *bytes = at;
  for (size_t i = 0; i < size; ++i) bytes[i] = (char)byte;
  return at;
}

/* The machine's calls that fill a struct stat differ; this one is the same everywhere. */
static long look_at(long fd, struct statx *status) {
  return raw_call(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, status);
}

static long open_path(const char *path, int flags) {
  return raw_call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

static long write_file(const char *path, const char *text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  long fd = open_path(path, O_WRONLY);
  if (fd < 0) return fd;
  long result = raw_call(SYS_write, fd, text, length);
  raw_call(SYS_close, fd);
  return result < 0 ? result : 0;
}

/* "ID ID 1" */
static long map_id(const char *path, unsigned long id) {
  char digits[12], text[32];
  size_t count = 0, at = 0;
  do digits[count++] = (char)('0' + id % 10);
  while ((id /= 10) > 0);
  for (int i = 0; i < 2; ++i) {
    for (size_t k = count; k > 0;) text[at++] = digits[--k];
    text[at++] = ' ';
  }
  text[at++] = '1';
  text[at] = '\0';
  return write_file(path, text);
}

static long map_ids(unsigned long uid, unsigned long gid) {
  long result = write_file("/proc/self/setgroups", "deny");
  if (result == 0) result = map_id("/proc/self/uid_map", uid);
  if (result == 0) result = map_id("/proc/self/gid_map", gid);
  return result;
}

static long change_root(long folder) {
  long result = raw_call(SYS_fchdir, folder);
  return result == 0 ? raw_call(SYS_chroot, ".") : result;
}

/* Where "/" is not a mount (the bridge runs under chroot), the mount above it cannot be named, but
 * a process that joins its own namespace is at the namespace's root. */
static long make_private(void) {
  long root = open_path("/", O_PATH | O_DIRECTORY), own = open_path("/proc/self/ns/mnt", O_RDONLY);
  if (root < 0) return root;
  if (own < 0) return own;
  long result = raw_call(SYS_setns, own, CLONE_NEWNS);
  if (result == 0) result = raw_call(SYS_mount, NULL, "/", NULL, kPrivate | kRecursive, NULL);
  if (result == 0) result = change_root(root);
  raw_call(SYS_close, own);
  raw_call(SYS_close, root);
  return result;
}

static long copy_mounts(const char *path) {
  return raw_call(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | kSetRecursive | O_CLOEXEC);
}

static long set_attributes(long tree, uint64_t attributes) {
  struct mount_attr wanted = {.attr_set = attributes};
  if (attributes == 0) return 0;
  return raw_call(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | kSetRecursive, &wanted,
                  sizeof wanted);
}

static long take(unsigned long slot, const char *path) {
  if (slot >= STEP_SLOTS) return -EINVAL;
  long tree = copy_mounts(path);
  slots[slot] = (int)tree; /* the error's number: an optional one that is not there */
  return tree < 0 ? tree : 0;
}

static long new_root(uint64_t attributes) {
  long tree = copy_mounts("/"), below = open_path("/", O_PATH | O_DIRECTORY);
  if (tree < 0) return tree;
  if (below < 0) return below;
  long result = set_attributes(tree, attributes);
  if (result == 0) {
    result = raw_call(SYS_move_mount, tree, "", below, "",
                      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
  }
  if (result == 0) result = change_root(tree);
  raw_call(SYS_close, tree);
  raw_call(SYS_close, below);
  return result;
}

static const char *rest_after(const char *text) {
  while (*text != '\0') ++text;
  return text + 1;
}

static long new_tmpfs(const char *path) {
  return raw_call(SYS_mount, "tmpfs", path, "tmpfs", kNoSetuid | kNoDevices, rest_after(path));
}

/* Every folder above path, and path itself. path may be written to: it is in the list's own
 * memory. */
static void make_folders(char *path) {
  for (char *at = path + 1;; ++at) {
    if (*at != '/' && *at != '\0') continue;
    char kept = *at;
    *at = '\0';
    raw_call(SYS_mkdirat, AT_FDCWD, path, 0755);
    *at = kept;
    if (kept == '\0') return;
  }
}

static void make_place(long tree, char *path) {
  struct statx status;
  char *last = path;
  for (char *at = path; *at != '\0'; ++at) last = *at == '/' ? at : last;
  if (look_at(tree, &status) != 0) return;
  if (S_ISDIR(status.stx_mode)) return make_folders(path);
  if (last == path) return;
  *last = '\0';
  make_folders(path);
  *last = '/';
  long fd = raw_call(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0) raw_call(SYS_close, fd);
}

static long put(unsigned long slot, uint64_t flags, char *path) {
  if (slot >= STEP_SLOTS) return -EINVAL;
  long tree = slots[slot];
  if (tree < 0) return 0; /* an optional one */
  if ((flags & STEP_MAKE_FOLDER) != 0) make_place(tree, path);
  long result = set_attributes(tree, (flags & STEP_READ_ONLY) != 0 ? MOUNT_ATTR_RDONLY : 0);
  if (result != 0) return result;
  return raw_call(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

static long close_off(char *path) {
  long result = take(STEP_SLOTS - 1, path);
  return result == 0 ? put(STEP_SLOTS - 1, STEP_READ_ONLY, path) : result;
}

static long bring_up_loopback(void) {
  struct ifreq request = {.ifr_name = "lo"};
  long fd = raw_call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fd;
  long result = raw_call(SYS_ioctl, fd, kInterfaceFlags, &request);
  request.ifr_flags |= IFF_UP;
  if (result == 0) result = raw_call(SYS_ioctl, fd, kSetInterfaceFlags, &request);
  raw_call(SYS_close, fd);
  return result;
}

static _Noreturn void be_ready(void) {
  char byte = 'r';
  raw_call(SYS_write, kControl, &byte, 1);
  while (raw_call(SYS_read, kControl, &byte, 1) == -EINTR) continue;
  for (;;) raw_call(SYS_exit_group, 0);
}

static long drop_capabilities(uint64_t dropped) {
  for (unsigned long number = 0; number < 64; ++number) {
    if ((dropped >> number & 1) == 0) continue;
    long result = raw_call(SYS_prctl, PR_CAPBSET_DROP, number, 0, 0, 0);
    if (result != 0 && result != -EINVAL) return result; /* EINVAL: this kernel does not know it */
  }
  return 0;
}

static long begin_rules(uint64_t files, uint64_t scoped) {
  struct landlock_attributes rules = {.files = files, .network = 0, .scoped = scoped};
  landlock_fd = (int)raw_call(SYS_landlock_create_ruleset, &rules,
                              scoped == 0 ? sizeof rules.files : sizeof rules, 0);
  return landlock_fd < 0 ? landlock_fd : 0;
}

static long allow(uint64_t if_folder, uint64_t if_none, const char *path) {
  struct statx status;
  long fd = open_path(path, O_PATH);
  if (fd < 0) return fd;
  long result = look_at(fd, &status);
  struct landlock_path rule = {.allowed = S_ISDIR(status.stx_mode) ? if_folder : if_none,
                               .folder = (int32_t)fd};
  if (result == 0) {
    result = raw_call(SYS_landlock_add_rule, landlock_fd, kLandlockPathBeneath, &rule, 0);
  }
  raw_call(SYS_close, fd);
  return result;
}

static long set_filter(const char *instructions, size_t bytes) {
  struct sock_fprog program = {
      .len = (unsigned short)(bytes / sizeof(struct sock_filter)),
      .filter = (struct sock_filter *)instructions,
  };
  return raw_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static long do_step(const struct sandbox_step *step, char *payload) {
  switch (step->kind) {
    case STEP_UNSHARE:
      return raw_call(SYS_unshare, step->a);
    case STEP_MAP_IDS:
      return map_ids(step->a, step->b);
    case STEP_PRIVATE:
      return make_private();
    case STEP_TAKE:
      return take(step->a, payload);
    case STEP_ROOT:
      return new_root(step->a);
    case STEP_TMPFS:
      return new_tmpfs(payload);
    case STEP_PUT:
      return put(step->a, step->b, payload);
    case STEP_CLOSE_OFF:
      return close_off(payload);
    case STEP_LOOPBACK:
      return bring_up_loopback();
    case STEP_READY:
      be_ready();
    case STEP_JOIN:
      return raw_call(SYS_setns, step->a, step->b);
    case STEP_CHANGE_ROOT:
      return change_root((long)step->a);
    case STEP_DROP_CAPABILITIES:
      return drop_capabilities(step->a);
    case STEP_LANDLOCK:
      return begin_rules(step->a, step->b);
    case STEP_ALLOW:
      return allow(step->a, step->b, payload);
    case STEP_NO_NEW_PRIVILEGES:
      return raw_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    case STEP_ENFORCE:
      return raw_call(SYS_landlock_restrict_self, landlock_fd, 0);
    case STEP_FILTER:
      return set_filter(payload, step->size);
    default:
      return -EINVAL;
  }
}

static int has_path(uint32_t kind) {
  return kind == STEP_TAKE || kind == STEP_TMPFS || kind == STEP_PUT || kind == STEP_CLOSE_OFF ||
         kind == STEP_ALLOW;
}

/* In the order of their numbers. */
static const char *const names[] = {"",
                                    "make namespaces",
                                    "map its user",
                                    "make its mounts private",
                                    "take ",
                                    "make its root",
                                    "mount a tmpfs at ",
                                    "bind ",
                                    "close off ",
                                    "bring up its loopback",
                                    "",
                                    "join its namespaces",
                                    "change its root",
                                    "drop capabilities",
                                    "begin Landlock's rules",
                                    "allow writing to ",
                                    "",
                                    "set no_new_privs",
                                    "enforce Landlock's rules",
                                    "set the filter of system calls"};

static _Noreturn void fail(const struct sandbox_step *step, const char *payload, long error) {
  say("cgibridge: sandbox: cannot ");
  say(step->kind < sizeof names / sizeof *names ? names[step->kind] : "take an unknown step");
  if (has_path(step->kind)) say(payload);
  say(": ");
  say_error(error);
  say("\n");
  leave();
}

/* Whether the path of a step may be missing. */
static int may_lack(const struct sandbox_step *step) {
  const int optional = (step->b & STEP_OPTIONAL) != 0;
  return step->kind == STEP_ALLOW ||
         (optional &&
          (step->kind == STEP_TAKE || step->kind == STEP_TMPFS || step->kind == STEP_CLOSE_OFF));
}

struct steps steps_of(int fd) {
  struct statx status;
  long result = look_at(fd, &status);
  if (result == 0 && status.stx_size > 0 && status.stx_size <= STEP_MAX_BYTES) {
    long at = raw_call(SYS_mmap, 0, status.stx_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (at > 0 || at < -4095) {
      return (struct steps){(const char *)at, (const char *)at + status.stx_size};
    }
  }
  say("cgibridge: sandbox: cannot read what is to be done\n");
  leave();
}

void take_steps(struct steps *steps) {
  while (steps->next < steps->end) {
    const struct sandbox_step *step = (const struct sandbox_step *)steps->next;
    char *payload = (char *)(step + 1);
    steps->next = payload + (step->size + STEP_ALIGN - 1) / STEP_ALIGN * STEP_ALIGN;
    if (step->kind == STEP_BECOME) return;
    long result = do_step(step, payload);
    const int not_there = result == -ENOENT || result == -ENOTDIR;
    if (result < 0 && !(not_there && may_lack(step))) fail(step, payload, -result);
  }
}
