/* fork(), except that the child's parent is the bridge (CLONE_PARENT), which reaps it and learns of
 * its end without the zygote. libc has no call for that, so what its fork() does for a process of
 * one thread is done here: the fork handlers, the thread's id in its control block, the robust
 * list. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "checkpoint.h"
#include "raw_call.h"
#include "unforked.h"

#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif

/* Where libc keeps this thread's id. Kernels without CONFIG_CHECKPOINT_RESTORE do not report it;
 * then the control block is searched for the one word that is the id. */
int *clone_tid_address(void) {
  int *address = NULL;
  pid_t tid = (pid_t)syscall(SYS_gettid);
  if (raw_call(SYS_prctl, PR_GET_TID_ADDRESS, &address, 0, 0, 0) == 0 && address != NULL &&
      *address == tid)
    return address;
  int *block = (int *)pthread_self();
  enum { kSearchBytes = 1024 };
  address = NULL;
  for (size_t i = 0; i < kSearchBytes / sizeof(int); ++i) {
    if (block[i] != tid) continue;
    if (address != NULL) return NULL;
    address = &block[i];
  }
  return address;
}

static long raw_clone(unsigned long flags, int *child_tid) {
#if defined(__x86_64__)
  return raw_call(SYS_clone, flags, NULL, NULL, child_tid, NULL);
#elif defined(__aarch64__)
  return raw_call(SYS_clone, flags, NULL, NULL, NULL, child_tid);
#else
#error "the argument order of clone() is not known for this machine"
#endif
}

/* The kernel forgets a forked child's robust list; libc registers it only at a thread's start. */
void clone_restore_robust_list(void *list, size_t bytes) {
  struct robust_list_head *head = list;
  if (head == NULL) return;
  head->list.next = &head->list;
  raw_call(SYS_set_robust_list, head, bytes);
}

void clone_robust_list(void **head, size_t *bytes) {
  if (raw_call(SYS_get_robust_list, 0, head, bytes) != 0) *head = NULL;
}

int clone_robust_list_has_mutex(const void *robust) {
  const struct robust_list_head *head = robust;
  return head != NULL && (head->list.next != &head->list || head->list_op_pending != NULL);
}

pid_t clone_bare(void) {
  int *tid_address = clone_tid_address();
  if (tid_address == NULL) {
    errno = ENOTSUP;
    return -1;
  }
  void *robust;
  size_t robust_bytes;
  clone_robust_list(&robust, &robust_bytes);
  long pid =
      raw_clone(CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, tid_address);
  if (pid == 0) clone_restore_robust_list(robust, robust_bytes);
  if (pid >= 0) return (pid_t)pid;
  errno = (int)-pid;
  return -1;
}

pid_t clone_worker(void) {
  if (unforked_share() > 0) {
    errno = ENOTSUP;
    return -1;
  }
  fork_handlers_prepare();
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  pid_t pid = clone_bare();
  int failure = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (pid == 0) {
    unforked_withhold();
    fork_handlers_child();
  } else {
    fork_handlers_parent();
  }
  errno = failure;
  return pid;
}
