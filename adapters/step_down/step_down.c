/* cgibridge-step-down IDS FOLDER FILE WORD...: becomes another user and then the program FILE, with
 * WORD... as its argv and the environment as it is. IDS: "UID GID GROUP,GROUP,...", with an n in
 * front for no_new_privs. What fails is said on standard error, and the exit code is 126.
 *
 * Why a program of its own, when the bridge forks anyway: until its exec() the bridge's child
 * shares the bridge's memory, and the bridge stands still (vfork). A child that had the user's id
 * already could be stopped by any process of that user, or kept waiting by his file system, and the
 * bridge with it. So the bridge waits only until this has been executed, by root, from a file of
 * root's; all that the user may have a hand in comes behind that, in a process that shares nothing.
 *
 * No libc: there is nothing that a preloaded library or a variable could change, and it is up in a
 * tenth of a millisecond. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/limits.h>
#include <linux/prctl.h>
#include <stddef.h>
#include <sys/types.h>

#include "checkpoint/raw_call.h"

enum { kFirstClosed = 4, kCannot = 126 }; /* 3: the control channel of a zygote */

static gid_t groups[NGROUPS_MAX];

static void say(const char *text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  raw_call(SYS_write, 2, text, length);
}

static void say_number(unsigned long number) {
  char digits[24];
  char *at = digits + sizeof digits;
  *--at = '\0';
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  say(at);
}

static const char *meaning(long error) {
  switch (error) {
    case EPERM:
      return "Operation not permitted";
    case EACCES:
      return "Permission denied";
    case ENOENT:
      return "No such file or directory";
    case ENOTDIR:
      return "Not a directory";
    case ENOEXEC:
      return "Exec format error";
    case EAGAIN:
      return "the user has as many processes as limits.user_processes allows";
    case E2BIG:
      return "Argument list too long";
    case ENOMEM:
      return "Cannot allocate memory";
    case ETXTBSY:
      return "Text file busy";
    case ELOOP:
      return "Too many levels of symbolic links";
    default:
      return NULL;
  }
}

static _Noreturn void leave(void) {
  for (;;) raw_call(SYS_exit_group, kCannot);
}

static _Noreturn void fail(const char *what, const char *on, unsigned long uid, long error) {
  say("cgibridge: cannot ");
  say(what);
  say(on);
  say(" as uid ");
  say_number(uid);
  say(": ");
  if (meaning(error) != NULL) {
    say(meaning(error));
  } else {
    say("error ");
    say_number((unsigned long)error);
  }
  say("\n");
  leave();
}

/* Reads a number and goes behind it. Leaves if there is none. */
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
  long result = raw_call(SYS_setgroups, count, groups);
  if (result == 0) result = raw_call(SYS_setresgid, gid, gid, gid);
  if (result == 0) result = raw_call(SYS_setresuid, *uid, *uid, *uid);
  if (result == 0 && *uid != 0) {
    /* Gone already, unless the bridge was started in a way that keeps them. */
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

/* Where the kernel begins, with argc, argv and the environment on the stack. */
__attribute__((used)) _Noreturn void step_down(long *stack) {
  long argc = stack[0];
  char **argv = (char **)(stack + 1), **environment = argv + argc + 1;
  unsigned long uid = 0;
  if (argc < 5) {
    say("cgibridge: cgibridge-step-down IDS FOLDER FILE WORD...: called by cgibridge alone\n");
    leave();
  }
  const char *folder = argv[2], *file = argv[3];
  become(argv[1], &uid);
  raw_call(SYS_close_range, kFirstClosed, ~0u, 0);
  long result = raw_call(SYS_chdir, folder);
  if (result != 0) fail("enter ", folder, uid, -result);
  result = raw_call(SYS_execve, file, argv + 4, environment);
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
#endif
