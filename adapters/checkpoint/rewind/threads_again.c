/* Threads of the checkpoint, made again in a process that has a request; see threads.h. */
#include <errno.h>
#include <sched.h>
#include <signal.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/other_threads.h"
#include "rewind/parked_threads.h"
#include "rewind/threads.h"

#if defined(__x86_64__)

enum { kNoThread = 73 };

_Static_assert(kRestartableBytes == 32, "as the assembly below has it");
_Static_assert(offsetof(struct parked_thread, traps) == 32, "as the assembly below has it");
_Static_assert(offsetof(struct parked_thread, name) == 56, "as the assembly below has it");

/* Returns the new thread's id, or -errno. The thread has no stack to call anything on: it registers
 * its list of robust mutexes and its restartable sequences with the kernel, takes its name, and
 * returns from the signal by which it was parked. */
long thread_again(unsigned long flags, uintptr_t stack, int *id, uintptr_t block,
                  const struct parked_thread *thread) __attribute__((visibility("hidden")));
__asm__(
    ".text\n"
    ".globl thread_again\n.hidden thread_again\n.type thread_again, @function\n"
    "thread_again:\n"
    "  push %r12\n  mov %r8, %r12\n  mov %rcx, %r8\n  mov %rdx, %r10\n"
    "  mov $56, %eax\n  syscall\n" /* clone(flags, stack, id, id, block) */
    "  test %rax, %rax\n  jz 1f\n  pop %r12\n  ret\n"
    "1:\n  mov 8(%r12), %rdi\n  test %rdi, %rdi\n  jz 2f\n"
    "  mov 16(%r12), %rsi\n  mov $273, %eax\n  syscall\n" /* set_robust_list */
    "2:\n  mov 24(%r12), %rdi\n  test %rdi, %rdi\n  jz 3f\n"
    "  mov $32, %esi\n  xor %edx, %edx\n  mov $0x53053053, %r10d\n"
    "  mov $334, %eax\n  syscall\n" /* rseq, with libc's signature */
    "3:\n  mov 48(%r12), %r8\n  test %r8, %r8\n  jz 4f\n"
    "  mov $59, %edi\n  mov $1, %esi\n  mov 32(%r12), %rdx\n  mov 40(%r12), %r10\n"
    "  mov $157, %eax\n  syscall\n" /* PR_SET_SYSCALL_USER_DISPATCH */
    "4:\n  mov $15, %edi\n  lea 56(%r12), %rsi\n  mov $157, %eax\n  syscall\n" /* PR_SET_NAME */
    "  mov 0(%r12), %rsp\n  mov $15, %eax\n  syscall\n  ud2\n"                 /* rt_sigreturn */
    ".size thread_again, . - thread_again\n");

/* As libc's pthread_create() starts a thread. */
static const unsigned long kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                    CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                    CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
static const unsigned long kIdFlags = CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

/* Whether a signal's handler ends the wait. libc's waits on futexes go on after one; waits for
 * signals find them pending. (Go's runtime begins all of its waits again.) */
static int ends_by_signal(const struct parked_thread *thread) {
  switch (thread->wait.number) {
    case SYS_futex:
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend:
      return 0;
    default:
      return 1;
  }
}

/* As at the checkpoint, a signal that the request sends must find the thread in its wait. */
static void await_wait(const struct parked_thread *thread, pid_t id) {
  enum { kLooksMost = 1000 };
  struct parked_thread now;
  for (int looks = 0; looks < kLooksMost; ++looks) {
    if (thread_read_wait(&now, id) == 0 && now.wait.number == thread->wait.number) return;
    raw_call(SYS_sched_yield);
  }
}

/* While another thread executes a program the kernel refuses new ones: then either this thread ends
 * as well, or that one fails. */
static long make(struct parked_thread *thread) {
  enum { kMost = 5000, kNanoseconds = 1000000 };
  unsigned long flags = thread->tid_address != NULL ? kFlags : kFlags & ~kIdFlags;
  for (int times = 0;; ++times) {
    long id = thread_again(flags, thread->frame, thread->tid_address, thread->block, thread);
    if (id != -EAGAIN || times == kMost) return id;
    thread_pause(kNanoseconds);
  }
}

static void make_all(void) {
  parked_threads.are_missing = 0;
  for (size_t i = 0; i < parked_threads.count; ++i) {
    struct parked_thread *thread = &parked_threads.list[i];
    long id = make(thread);
    if (id <= 0) give_up(kNoThread);
    thread->id_again = (pid_t)id;
    if (!program_is_go() && ends_by_signal(thread)) await_wait(thread, (pid_t)id);
  }
}

/* With every signal blocked: none may reach a thread before it has its own mask, nor may a handler
 * run here that needs a thread which is not made yet. No call of ours is handed back after the
 * note, which ends a clean request, and may make them itself. */
void threads_make_again(void) {
  uint64_t all = ~0ull, before;
  if (parked_threads.count == 0) return;
  if (__atomic_load_n(&parked_threads.are_again, __ATOMIC_SEQ_CST)) return;
  call_touch(TOUCHED_THREADS | TOUCHED_SIGSYS);
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
  if (!__atomic_exchange_n(&parked_threads.are_again, 1, __ATOMIC_SEQ_CST)) make_all();
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
}

#else

void threads_make_again(void) {}

#endif

void threads_begin_request(void) {
  if (program_is_go()) return;
  if (parked_threads.can_be_missing && state.is_clean)
    parked_threads.are_missing = 1;
  else
    threads_make_again();
}
