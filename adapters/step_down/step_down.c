/* cgibridge-step-down IDS STEPS FOLDER FILE WORD...: becomes another user and then the program
 * FILE, with WORD... as its argv and the environment unchanged. IDS: "UID GID GROUP,GROUP,...",
 * preceded by an n for no_new_privs; "-": it keeps its ids. STEPS: the descriptor of a list of what
 * else is to be done (steps.h), or "-". A failure is reported on standard error, with exit code
 * 126.
 *
 * Why a separate program, when the bridge forks anyway: until its exec() the bridge's child shares
 * the bridge's memory, and the bridge is suspended (vfork). If that child already had the user's
 * id, any process of that user could stop it, or the user's file system could keep it waiting, and
 * the bridge with it. So the bridge waits only until this program has been executed, by root, from
 * a file of root's; everything that the user can influence comes after that, in a process that
 * shares nothing.
 *
 * No libc: there is nothing that a preloaded library or a variable could change, and it starts in a
 * tenth of a millisecond. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/limits.h>
#include <linux/prctl.h>
#include <stddef.h>
#include <sys/types.h>

#include "checkpoint/raw_call.h"
#include "say.h"
#include "steps.h"

#if defined(SYS_setresuid32) /* the calls with the old names take ids of 16 bits */
enum {
  kGetUid = SYS_getuid32,
  kSetGroups = SYS_setgroups32,
  kSetGids = SYS_setresgid32,
  kSetUids = SYS_setresuid32
};
#else
enum {
  kGetUid = SYS_getuid,
  kSetGroups = SYS_setgroups,
  kSetGids = SYS_setresgid,
  kSetUids = SYS_setresuid
};
#endif

enum { kFirstClosed = 4 }; /* 3: the control channel of a zygote */

static gid_t groups[NGROUPS_MAX];

static _Noreturn void fail(const char *what, const char *on, unsigned long uid, long error) {
  say("cgibridge: cannot ");
  say(what);
  say(on);
  say(" as uid ");
  say_number(uid);
  say(": ");
  say_error(error);
  say("\n");
  leave();
}

/* Reads a number and moves past it. Leaves if there is none. */
static unsigned read_number(const char **text) {
  unsigned long number = 0;
  const char *at = *text;
  while (*at >= '0' && *at <= '9' && number <= 0xffffffffu) {
    number = number * 10 + (unsigned long)(*at++ - '0');
  }
  if (at == *text || number >= 0xffffffffu) {
    say("cgibridge: cgibridge-step-down is called by cgibridge alone\n");
    leave();
  }
  if (*at == ' ' || *at == ',') ++at;
  *text = at;
  return (unsigned)number;
}

static void become(const char *ids, unsigned long *uid) {
  int no_new_privileges = *ids == 'n';
  ids += no_new_privileges;
  *uid = read_number(&ids);
  unsigned gid = read_number(&ids);
  size_t count = 0;
  while (*ids != '\0' && count < NGROUPS_MAX) groups[count++] = read_number(&ids);
  long result = raw_call(kSetGroups, count, groups);
  if (result == 0) result = raw_call(kSetGids, gid, gid, gid);
  if (result == 0) result = raw_call(kSetUids, *uid, *uid, *uid);
  if (result == 0 && *uid != 0) {
    /* Already dropped, unless the bridge was started in a way that keeps them. */
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct none[2];
    header.version = _LINUX_CAPABILITY_VERSION_3;
    header.pid = 0;
    for (int i = 0; i < 2; ++i) {
      none[i].effective = none[i].permitted = none[i].inheritable = 0;
    }
    result = raw_call(SYS_capset, &header, none);
  }
  if (result == 0 && no_new_privileges) {
    result = raw_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  }
  if (result != 0) fail("run", "", *uid, -result);
}

/* Where the kernel starts the program, with argc, argv and the environment on the stack. */
__attribute__((used)) _Noreturn void step_down(long *stack) {
  long argc = stack[0];
  char **argv = (char **)(stack + 1), **environment = argv + argc + 1;
  unsigned long uid = 0;
  if (argc < 6) {
    say("cgibridge: cgibridge-step-down is called by cgibridge alone\n");
    leave();
  }
  const char *ids = argv[1], *list = argv[2], *folder = argv[3], *file = argv[4];
  int death_signal = 0; /* another user's process loses it */
  raw_call(SYS_prctl, PR_GET_PDEATHSIG, &death_signal, 0, 0, 0);
  struct steps steps = {NULL, NULL};
  if (*list != '-') steps = steps_of((int)read_number(&list));
  take_steps(&steps);
  if (*ids == '-') {
    uid = (unsigned long)raw_call(kGetUid);
  } else {
    become(ids, &uid);
  }
  raw_call(SYS_prctl, PR_SET_PDEATHSIG, (unsigned long)death_signal, 0, 0, 0);
  /* Closed only at the exec: Landlock's rules are still to be enforced, by their descriptor. */
  raw_call(SYS_close_range, kFirstClosed, ~0u, CLOSE_RANGE_CLOEXEC);
  long result = raw_call(SYS_chdir, folder);
  if (result != 0) fail("enter ", folder, uid, -result);
  take_steps(&steps);
  result = raw_call(SYS_execve, file, argv + 5, environment);
  fail("execute ", file, uid, -result);
}

#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call step_down\n"
    "  hlt\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    ".globl _start\n"
    "_start:\n"
    "  mov x29, #0\n"
    "  mov x30, #0\n"
    "  mov x0, sp\n"
    "  bl step_down\n");
#elif defined(__riscv)
__asm__(
    ".text\n"
    ".globl _start\n"
    "_start:\n"
    ".option push\n"
    ".option norelax\n"
    "  la gp, __global_pointer$\n"
    ".option pop\n"
    "  mv a0, sp\n"
    "  andi sp, sp, -16\n"
    "  call step_down\n");
#elif defined(__arm__)
__asm__(
    ".text\n"
    ".globl _start\n"
    ".type _start, %function\n"
    "_start:\n"
    "  mov fp, #0\n"
    "  mov lr, #0\n"
    "  mov r0, sp\n"
    "  bic r1, r0, #7\n"
    "  mov sp, r1\n"
    "  bl step_down\n");
#endif
