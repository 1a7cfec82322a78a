/* See unseen.h. */
#include "rewind/unseen.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "raw_call.h"

/* Newer than some headers. */
enum {
  kRegistrations = 1 << 9, /* membarrier: which there are; Linux 6.3 */
  kIsFlusher = 58,         /* PR_GET_IO_FLUSHER */
  kOfCores = 62,           /* PR_SCHED_CORE, whose first command asks */
  kMayBeExecuted = 66      /* PR_GET_MDWE */
};

static void note(struct unseen_state *unseen, const char *what, long answer) {
  if (unseen->count == kUnseenMax) return;
  unseen->looks[unseen->count].what = what;
  unseen->looks[unseen->count++].answer = answer;
}

static void note_place(struct unseen_state *unseen, const char *path) {
  struct stat status;
  long result = raw_call(SYS_newfstatat, AT_FDCWD, path, &status, 0);
  note(unseen, "its root or a namespace", result == 0 ? (long)status.st_ino : result);
}

/* Without a capability, only those of a user namespace of its own let a process change the others,
 * and they would be seen. */
static int is_privileged(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (raw_call(SYS_capget, &header, sets) != 0) return 1;
  return (sets[0].permitted | sets[1].permitted) != 0;
}

static void note_places(struct unseen_state *unseen) {
  static const char *const kPlaces[] = {"/",
                                        "/proc/self/ns/mnt",
                                        "/proc/self/ns/net",
                                        "/proc/self/ns/ipc",
                                        "/proc/self/ns/uts",
                                        "/proc/self/ns/cgroup",
                                        "/proc/self/ns/pid_for_children",
                                        "/proc/self/ns/time_for_children"};
  for (size_t i = 0; i < sizeof kPlaces / sizeof *kPlaces; ++i) note_place(unseen, kPlaces[i]);
}

/* Those that it may never have again, and those that an execution would keep. */
static void note_capabilities(struct unseen_state *unseen) {
  long bounds = 0, ambient = 0;
  for (int number = 0; number < 64; ++number) {
    long has = raw_call(SYS_prctl, PR_CAPBSET_READ, number, 0, 0, 0);
    if (has < 0) break;
    bounds |= has << number;
    has = raw_call(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number, 0, 0);
    if (has > 0) ambient |= 1l << number;
  }
  note(unseen, "the bounds of its capabilities", bounds);
  note(unseen, "its ambient capabilities", ambient);
}

static void note_attributes(struct unseen_state *unseen) {
  unsigned long cookie = 0;
  int counter = 0;
  raw_call(SYS_prctl, PR_GET_TSC, &counter, 0, 0, 0);
  raw_call(SYS_prctl, kOfCores, 0, 0, 0, &cookie);
  note(unseen, "whether it may read the processor's counter", counter);
  note(unseen, "with whom it shares a processor's core", (long)cookie);
  note(unseen, "an attribute", raw_call(SYS_prctl, PR_MCE_KILL_GET, 0, 0, 0, 0));
  note(unseen, "an attribute", raw_call(SYS_prctl, kIsFlusher, 0, 0, 0, 0));
  note(unseen, "an attribute of its memory", raw_call(SYS_prctl, kMayBeExecuted, 0, 0, 0, 0));
  for (int which = 0; which < 3; ++which) {
    note(unseen, "what the processor may speculate on",
         raw_call(SYS_prctl, PR_GET_SPECULATION_CTRL, which, 0, 0, 0));
  }
  note(unseen, "a registration for membarrier", raw_call(SYS_membarrier, kRegistrations, 0, 0));
}

static void note_memory_policy(struct unseen_state *unseen) {
  unsigned long nodes[16] = {0}, all = 0;
  int mode = 0;
  raw_call(SYS_get_mempolicy, &mode, nodes, sizeof nodes * 8, NULL, 0);
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) all = all * 31 + nodes[i];
  note(unseen, "its memory policy", mode);
  note(unseen, "its memory policy", (long)all);
}

static void note_processor(struct unseen_state *unseen) {
#if defined(__x86_64__)
  enum { kHasCpuid = 0x1011, kRegistersAllowed = 0x1022, kMask = 0x4001, kShadowStack = 0x5005 };
  static const int kQuestions[] = {kRegistersAllowed, kMask, kShadowStack};
  note(unseen, "a mode of the processor", raw_call(SYS_arch_prctl, kHasCpuid, 0));
  for (size_t i = 0; i < sizeof kQuestions / sizeof *kQuestions; ++i) {
    unsigned long answer = 0;
    raw_call(SYS_arch_prctl, kQuestions[i], &answer);
    note(unseen, "a mode of the processor", (long)answer);
  }
  char segments[64];
  note(unseen, "a segment", raw_call(SYS_modify_ldt, 0, segments, sizeof segments));
#else
  (void)unseen;
#endif
}

/* The first that is free. To have it for a moment changes only the register, which is put back. */
static void note_key(struct unseen_state *unseen) {
  long key = raw_call(SYS_pkey_alloc, 0, 0);
  note(unseen, "a protection key", key);
  if (key >= 0) raw_call(SYS_pkey_free, key);
}

/* Those that were noted are deleted by now. */
static void note_timers(struct unseen_state *unseen) {
  char text[64];
  long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/self/timers", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  note(unseen, "a timer", raw_call(SYS_read, fd, text, sizeof text));
  raw_call(SYS_close, fd);
}

static void note_keyrings(struct unseen_state *unseen) {
  static const int kRings[] = {KEY_SPEC_THREAD_KEYRING, KEY_SPEC_PROCESS_KEYRING,
                               KEY_SPEC_SESSION_KEYRING};
  for (size_t i = 0; i < sizeof kRings / sizeof *kRings; ++i) {
    note(unseen, "a keyring", raw_call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, kRings[i], 0, 0, 0));
  }
}

void unseen_read(struct unseen_state *unseen, pid_t own, pid_t zygote) {
  unseen->count = 0;
  note_place(unseen, "/proc/self/ns/user");
  if (is_privileged()) {
    note_places(unseen);
    note_capabilities(unseen);
  }
  note_attributes(unseen);
  note_memory_policy(unseen);
  note_processor(unseen);
  note_key(unseen);
  note_timers(unseen);
  note_keyrings(unseen);
  note(unseen, "the user that files see", raw_call(SYS_setfsuid, -1));
  note(unseen, "the group that files see", raw_call(SYS_setfsgid, -1));
  /* A sandbox of its own (landlock) does not let it look at what is outside. */
  long order = raw_call(SYS_kcmp, own, zygote, KCMP_VM, 0, 0);
  note(unseen, "its sandbox", order < 0 ? order : 0);
}

const char *unseen_difference(const struct unseen_state *then, pid_t own, pid_t zygote) {
  struct unseen_state now;
  unseen_read(&now, own, zygote);
  if (now.count != then->count) return "what it may look at";
  for (size_t i = 0; i < now.count; ++i) {
    if (now.looks[i].answer != then->looks[i].answer) return now.looks[i].what;
  }
  return NULL;
}
