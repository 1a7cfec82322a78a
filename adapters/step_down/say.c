#include "say.h"

#include <errno.h>
#include <stddef.h>

#include "checkpoint/raw_call.h"

enum { kCannot = 126 };

void say(const char *text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  raw_call(SYS_write, 2, text, length);
}

void say_number(unsigned long number) {
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
    case ENOSPC:
      return "No space left on device";
    case ENOSYS:
      return "Function not implemented";
    case EINVAL:
      return "Invalid argument";
    default:
      return NULL;
  }
}

void say_error(long error) {
  if (meaning(error) != NULL) return say(meaning(error));
  say("error ");
  say_number((unsigned long)error);
}

_Noreturn void leave(void) {
  for (;;) raw_call(SYS_exit_group, kCannot);
}
