/* Enters a static executable, and comes back to the preloaded libc. */
#include <linux/futex.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "static/traps.h"

#if defined(__x86_64__)

#include <alloca.h>
#include <asm/prctl.h>

enum { kRandomBytes = 16, kCannotEnter = 74, kVariablesMax = 512 };

/* ---- the thread, which belongs to one libc or the other ---- */

struct thread_of_libc thread_now(void) {
  struct thread_of_libc thread = {0};
  raw_call(SYS_arch_prctl, ARCH_GET_FS, &thread.block);
  raw_call(SYS_prctl, PR_GET_TID_ADDRESS, &thread.tid_address, 0, 0, 0);
  clone_robust_list(&thread.robust_list, &thread.robust_list_bytes);
  return thread;
}

void thread_becomes(const struct thread_of_libc *thread) {
  if (!program_is_static()) return;
  raw_call(SYS_arch_prctl, ARCH_SET_FS, thread->block);
  raw_call(SYS_set_tid_address, thread->tid_address);
  raw_call(SYS_set_robust_list, thread->robust_list, sizeof(struct robust_list_head));
}

/* ---- the first stack ---- */

/* execve() leaves all registers zero; rdx would be a function to call at the end. */
static _Noreturn void enter_at(const uintptr_t *stack, uintptr_t entry) {
  __asm__ volatile(
      "mov %0, %%rsp\n  push %1\n"
      "xor %%eax, %%eax\n  xor %%ebx, %%ebx\n  xor %%ecx, %%ecx\n  xor %%edx, %%edx\n"
      "xor %%esi, %%esi\n  xor %%edi, %%edi\n  xor %%ebp, %%ebp\n  xor %%r8d, %%r8d\n"
      "xor %%r9d, %%r9d\n  xor %%r10d, %%r10d\n  xor %%r11d, %%r11d\n  xor %%r12d, %%r12d\n"
      "xor %%r13d, %%r13d\n  xor %%r14d, %%r14d\n  xor %%r15d, %%r15d\n"
      "ret"
      :
      : "r"(stack), "r"(entry)
      : "memory");
  __builtin_unreachable();
}

size_t count_of_strings(char **list) {
  size_t count = 0;
  while (list[count] != NULL) ++count;
  return count;
}

/* What the vector says about the program must be what the kernel would say about the executable. */
static uintptr_t auxiliary_value(uintptr_t kind, uintptr_t value, const char *random) {
  switch (kind) {
    case AT_PHDR:
      return state.executable.headers;
    case AT_PHNUM:
      return state.executable.header_count;
    case AT_ENTRY:
      return state.executable.entry;
    case AT_BASE:
      return 0;
    case AT_EXECFN:
      return (uintptr_t)state.executable.path;
    case AT_RANDOM:
      return (uintptr_t)random;
    default:
      return value;
  }
}

static void draw(char *random) {
  if (getrandom(random, kRandomBytes, 0) != kRandomBytes) give_up(kCannotEnter);
}

int static_executable_main(int argc, char **argv, char **envp) {
  struct static_executable *executable = &state.executable;
  char random[kRandomBytes], nothing[1] = "";
  draw(random);
  size_t variables = count_of_strings(envp), words = 0;
  const uintptr_t *vector = request_auxiliary_vector(&words);
  /* If the checkpoint is at main(), requests have room for more variables than there are now. They
   * and a copy of the vector take the place of these empty ones. */
  size_t room = executable->main != 0 ? kVariablesMax + words : 0;
  size_t total = 1 + (size_t)argc + 1 + variables + room + 1 + words;
  uintptr_t *stack = alloca((total + 2) * sizeof *stack);
  stack = (uintptr_t *)(((uintptr_t)stack + 15) & ~(uintptr_t)15);
  uintptr_t *at = stack;
  *at++ = (uintptr_t)argc;
  executable->stack = (struct first_stack){.envp = (char **)(at + argc + 1),
                                           .variables_max = variables + kVariablesMax,
                                           .vector_words = words,
                                           .random = random};
  memcpy(at, argv, ((size_t)argc + 1) * sizeof *at);
  at += argc + 1;
  memcpy(at, envp, variables * sizeof *at);
  at += variables;
  for (size_t i = 0; i < room; ++i) *at++ = (uintptr_t)nothing;
  *at++ = 0;
  executable->stack.vector = at;
  for (size_t i = 0; i < words; i += 2) {
    *at++ = vector[i];
    *at++ = auxiliary_value(vector[i], vector[i + 1], random);
  }
  if (program_is_go()) go_program_enter(argc, argv, envp);
  executable->ours = thread_now();
  executable->ours.tid_address = clone_tid_address();
  if (traps_begin() != 0) give_up(kCannotEnter);
  static const struct thread_of_libc none;
  thread_becomes(&none);
  enter_at(stack, executable->entry);
}

/* ---- at main() ---- */

/* Until main() is reached, a system call stands in its place, which is handed back. */
static int change_main(const unsigned char *code) {
  char *place = (char *)state.executable.main;
  uintptr_t first = (uintptr_t)place & ~(uintptr_t)(kPageSize - 1);
  size_t bytes = (uintptr_t)place + sizeof state.executable.main_code - first;
  if (raw_call(SYS_mprotect, first, bytes, PROT_READ | PROT_WRITE) != 0) return -1;
  memcpy(place, code, sizeof state.executable.main_code);
  return raw_call(SYS_mprotect, first, bytes, PROT_READ | PROT_EXEC) == 0 ? 0 : -1;
}

int static_executable_mark_main(void) {
  static const unsigned char kCall[] = {0x0f, 0x05};
  memcpy(state.executable.main_code, (const char *)state.executable.main, sizeof kCall);
  return change_main(kCall);
}

/* The words are main()'s own; the variables are where libc has found them. */
static void show_request(const struct request *request, greg_t *registers) {
  const struct first_stack *stack = &state.executable.stack;
  memcpy(stack->envp, request->envp, ((size_t)request->envc + 1) * sizeof *stack->envp);
  memcpy(stack->envp + request->envc + 1, stack->vector,
         stack->vector_words * sizeof *stack->vector);
  draw(stack->random);
  registers[REG_RDI] = request->argc;
  registers[REG_RSI] = (greg_t)request->argv;
  registers[REG_RDX] = (greg_t)stack->envp;
  registers[REG_RIP] = (greg_t)state.executable.main;
}

void static_executable_at_main(void *ucontext) {
  struct static_executable *executable = &state.executable;
  const struct request *request = &state.request;
  ucontext_t *context = ucontext;
  executable->theirs = thread_now();
  traps_end();
  thread_becomes(&executable->ours);
  if (change_main(executable->main_code) != 0) give_up(kCannotEnter);
  checkpoint_stand();
  if (request->envc > executable->stack.variables_max) {
    start_anew(request);
    give_up(kCannotEnter);
  }
  show_request(request, context->uc_mcontext.gregs);
  if (executable->theirs.tid_address != NULL) *executable->theirs.tid_address = state.pid;
  if (traps_of_thread(1) != 0) give_up(kCannotEnter);
  thread_becomes(&executable->theirs);
}

/* ---- the end ---- */

int static_executable_holds_robust_mutex(void) {
  if (!program_is_static()) return 0;
  void *head;
  size_t bytes;
  clone_robust_list(&head, &bytes);
  return clone_robust_list_has_mutex(head);
}

void static_executable_left(void) {
  if (!program_has_traps()) return;
  go_threads_expect_no_more();
  traps_end();
  thread_becomes(&state.executable.ours);
}

#else

int static_executable_mark_main(void) {
  return -1;
}

int static_executable_main(int argc, char **argv, char **envp) {
  (void)argc;
  (void)argv;
  (void)envp;
  give_up(74);
}

int static_executable_holds_robust_mutex(void) {
  return 0;
}

void static_executable_left(void) {}

#endif
