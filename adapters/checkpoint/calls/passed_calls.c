/* Functions that are noted and passed on. Their arguments, and their return address, are as the
 * program made them: some check who calls (dlsym, dlopen), some take any number of arguments, some
 * return twice. So they are not called from here, but jumped to. */
#include "calls/passed_calls.h"

#include <dlfcn.h>

#include "rewind/engine.h"

#define DEFINE(function, may_touch, why, how) \
  struct passed_call passed_##function = {NULL, #function, may_touch, why, how};
PASSED_CALLS(DEFINE)

__attribute__((used)) void *passed_call_note(struct passed_call *call, const long *arguments);

#if defined(__x86_64__)

#define ENTER(function, may_touch, why, how)              \
  __asm__(".text\n.globl " #function "\n.type " #function \
          ", @function\n"                                 \
          ".hidden passed_" #function "\n" #function      \
          ":\n"                                           \
          "  endbr64\n  lea passed_" #function            \
          "(%rip), %r11\n  jmp passed_call_enter\n"       \
          ".size " #function ", . - " #function "\n");

__asm__(
    ".text\n.type passed_call_enter, @function\n"
    "passed_call_enter:\n"
    "  push %rax\n  push %r9\n  push %r8\n  push %rcx\n  push %rdx\n  push %rsi\n  push %rdi\n"
    "  mov %r11, %rdi\n  mov %rsp, %rsi\n  call passed_call_note\n  mov %rax, %r11\n"
    "  pop %rdi\n  pop %rsi\n  pop %rdx\n  pop %rcx\n  pop %r8\n  pop %r9\n  pop %rax\n"
    "  jmp *%r11\n"
    ".size passed_call_enter, . - passed_call_enter\n");

#elif defined(__aarch64__)

#define ENTER(function, may_touch, why, how)                                          \
  __asm__(".text\n.globl " #function "\n.type " #function                             \
          ", %function\n"                                                             \
          ".hidden passed_" #function "\n" #function                                  \
          ":\n"                                                                       \
          "  adrp x16, passed_" #function "\n  add x16, x16, :lo12:passed_" #function \
          "\n  b passed_call_enter\n"                                                 \
          ".size " #function ", . - " #function "\n");

__asm__(
    ".text\n.type passed_call_enter, %function\n"
    "passed_call_enter:\n"
    "  stp x0, x1, [sp, -80]!\n  stp x2, x3, [sp, 16]\n  stp x4, x5, [sp, 32]\n"
    "  stp x6, x7, [sp, 48]\n  stp x8, x30, [sp, 64]\n"
    "  mov x0, x16\n  mov x1, sp\n  bl passed_call_note\n  mov x16, x0\n"
    "  ldp x2, x3, [sp, 16]\n  ldp x4, x5, [sp, 32]\n  ldp x6, x7, [sp, 48]\n"
    "  ldp x8, x30, [sp, 64]\n  ldp x0, x1, [sp], 80\n"
    "  br x16\n"
    ".size passed_call_enter, . - passed_call_enter\n");

#endif

PASSED_CALLS(ENTER)

static long is_missing(void) {
  errno = ENOSYS;
  return -1;
}

/* For dlsym() itself, and for what libc keeps only for old programs. */
static void *find_by_version(const char *name) {
  static const char *const kVersions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
  void *found = NULL;
  void *(*by_version)(void *, const char *, const char *) =
      (__typeof__(by_version))passed_dlvsym.real;
  for (int i = 0; i < 3 && found == NULL && by_version != NULL; ++i)
    found = by_version(RTLD_NEXT, name, kVersions[i]);
  dlerror(); /* the program may itself ask about its last error */
  return found;
}

void *passed_dlsym_of_libc(void *library, const char *name) {
  return ((void *(*)(void *, const char *))passed_dlsym.real)(library, name);
}

static void find(struct passed_call *call) {
  if (passed_dlvsym.real == NULL) passed_dlvsym.real = libc_symbol("dlvsym");
  if (call == &passed_dlvsym) return;
  call->real = call == &passed_dlsym ? NULL : dlsym(RTLD_NEXT, call->name);
  if (call->real == NULL) call->real = find_by_version(call->name);
}

void passed_calls_find(void) {
#define FIND(function, may_touch, why, how) \
  if (passed_##function.real == NULL) find(&passed_##function);
  PASSED_CALLS(FIND)
}

/* A library that was opened, and closed again. */
static int is_unloaded(const void *function) {
  struct dl_find_object found;
  return function != NULL && _dl_find_object((void *)(uintptr_t)function, &found) != 0;
}

/* A function of a library other than libc, which may be loaded long after the program's start, and
 * be visible only to the caller that asked for it, is searched where the caller would have found it
 * without us. Nor is it remembered: another caller may have another library of that kind. */
void *passed_call_find(struct passed_call *call, const void *caller) {
  if (call->look == look_at_random && is_unloaded(call->real)) call->real = NULL;
  if (call->real == NULL) find(call);
  if (call->real != NULL) return call->real;
  return is_of_this_library(caller) ? NULL : symbol_for(call->name, caller);
}

void *passed_call_note(struct passed_call *call, const long *arguments) {
  void *real = passed_call_find(call, caller_of(arguments));
  /* A library that makes a call as the last thing it does leaves its own caller as the caller. */
  if (real == NULL) real = any_symbol(call->name);
  if (call->touched != 0) call_touch(call->touched);
  if (call->doubt != RETIRED_NOT) call_doubt(call->doubt, call->name);
  void *instead = call->look != NULL ? call->look(call, arguments) : NULL;
  if (instead != NULL) return instead;
  return real != NULL ? real : (void *)(uintptr_t)is_missing;
}
