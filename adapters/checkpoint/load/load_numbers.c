/* What a load does by syscall(): the same as by the functions of load_calls.h. */
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include "calls/rare_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"

/* Newer than some headers. */
enum {
  kFaccessat2 = 439,
  kFchmodat2 = 452,
  kSetxattrat = 463,
  kRemovexattrat = 466,
  kFileSetattr = 469
};

/* words: the folder's descriptor, and the path */
static void note_open_by_number(const long *words, int flags, const void *caller) {
  const char *path = (const char *)words[1];
  note_open_of_load("syscall open", (int)words[0], path, flags, caller);
  lookups_see_open((int)words[0], path, flags, caller);
}

static int is_change(long number) {
  static const long kChanges[] = {
      SYS_flock,       SYS_unlinkat,     SYS_renameat,     SYS_renameat2,  SYS_mkdirat,
      SYS_linkat,      SYS_symlinkat,    SYS_mknodat,      SYS_truncate,   SYS_fchmodat,
      SYS_fchownat,    SYS_utimensat,    SYS_setxattr,     SYS_lsetxattr,  SYS_fsetxattr,
      SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_shmget,     SYS_semget,
      SYS_msgget,      SYS_shmctl,       SYS_semctl,       SYS_msgctl,     SYS_mq_open,
      SYS_mq_unlink,   kFchmodat2,       kSetxattrat,      kRemovexattrat, kFileSetattr,
#ifdef SYS_fork
      SYS_unlink,      SYS_rename,       SYS_mkdir,        SYS_rmdir,      SYS_link,
      SYS_symlink,     SYS_mknod,        SYS_chmod,        SYS_chown,      SYS_lchown,
      SYS_utime,       SYS_utimes,       SYS_futimesat,
#endif
  };
  for (size_t i = 0; i < sizeof kChanges / sizeof *kChanges; ++i) {
    if (kChanges[i] == number) return 1;
  }
  return 0;
}

/* Python's threading asks for its thread's id, and Go's own code does. */
static int is_asked_by_constructors_alone(long number, const void *caller) {
  int is_usage = number == SYS_getrusage; /* is_harmless() knows more */
  int is_such = number == SYS_gettid || number == SYS_sysinfo || is_usage;
  if (!is_such || state.level == LEVEL_LINKED) return is_such && program_is_go();
  return !is_usage && !load_watch_is_by_program(caller);
}

static enum impurity kind_of(long number, const void *caller) {
  if (is_change(number)) return IMPURE_FILES;
  if (is_asked_by_constructors_alone(number, caller)) return IMPURITIES;
  switch (number) {
    case SYS_getrandom:
      return IMPURE_RANDOM;
    case SYS_clock_gettime:
    case SYS_getrusage:
    case SYS_gettimeofday:
    case SYS_times:
    case SYS_adjtimex:
    case SYS_clock_adjtime:
    case SYS_sysinfo:
      return IMPURE_TIME;
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getpgid:
    case SYS_getsid:
      return IMPURE_PID;
    case SYS_connect:
    case SYS_bind:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
      return IMPURE_SOCKETS;
    case SYS_clone:
    case SYS_clone3:
    case SYS_execve:
    case SYS_execveat:
      return IMPURE_CHILDREN;
    case SYS_pidfd_send_signal:
      return IMPURE_OTHERS;
#ifdef SYS_fork
    case SYS_time:
      return IMPURE_TIME;
    case SYS_getpgrp:
      return IMPURE_PID;
    case SYS_fork:
    case SYS_vfork:
      return IMPURE_CHILDREN;
#endif
    default:
      return IMPURITIES;
  }
}

static const char *name_of(enum impurity kind) {
  if (kind == IMPURE_RANDOM) return "syscall getrandom";
  if (kind == IMPURE_TIME) return "syscall for a time";
  if (kind == IMPURE_PID) return "syscall for a process id";
  if (kind == IMPURE_SOCKETS) return "syscall of a socket";
  if (kind == IMPURE_OTHERS) return "syscall on another process";
  return kind == IMPURE_FILES ? "syscall on a file" : "syscall for a process";
}

/* Whether its arguments say that it is harmless. */
static int is_harmless(long number, const long *words, const void *caller) {
  const uint64_t *flags = (const uint64_t *)words[0]; /* of clone3(): a structure's first word */
  if (number == SYS_clock_gettime) return !load_watch_tells_time((clockid_t)words[0], caller);
  if (number == SYS_getrusage) return !load_watch_tells_time(CLOCK_PROCESS_CPUTIME_ID, caller);
  if (number == SYS_clone) return (words[0] & CLONE_THREAD) != 0;
  return number == SYS_clone3 && may_be_memory(flags) && (*flags & CLONE_THREAD) != 0;
}

void load_watch_note_number(long number, const long *words, const void *caller) {
  if (!state.load.is_on) return;
  if (number == SYS_execve || number == SYS_execveat || number == SYS_clone || number == SYS_clone3)
    cycles_leave();
  enum impurity kind = kind_of(number, caller);
  if (kind != IMPURITIES) {
    if (!is_harmless(number, words, caller)) load_watch_note(kind, name_of(kind), caller);
    return;
  }
  answers_see_number(number, words, caller);
  switch (number) {
    case SYS_openat:
      return note_open_by_number(words, (int)words[2], caller);
    case SYS_openat2: /* its flags are a structure's first word */
      if (!may_be_memory((const void *)words[2])) return;
      return note_open_by_number(words, *(const int *)words[2], caller);
#ifdef SYS_fork
    case SYS_open:
      return note_open_by_number((const long[]){AT_FDCWD, words[0]}, (int)words[1], caller);
    case SYS_creat:
      return note_open_by_number((const long[]){AT_FDCWD, words[0]}, O_WRONLY, caller);
#endif
    case SYS_newfstatat:
    case SYS_statx: /* libuv's way */
    case SYS_faccessat:
    case kFaccessat2:
    case SYS_readlinkat:
      return lookups_see_look((int)words[0], (const char *)words[1], caller);
    default:
      return;
  }
}
