/* Before these, threads of the checkpoint that are missing are made: see waking_list.h. */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "calls/clean.h"
#include "calls/passed_calls.h"
#include "rewind/threads_missing.h"

void *look_at_condition(const struct passed_call *call, const long *arguments) {
  (void)call;
  threads_see_release((const void *)arguments[0], sizeof(pthread_cond_t));
  return NULL;
}

void *look_at_semaphore(const struct passed_call *call, const long *arguments) {
  (void)call;
  threads_see_release((const void *)arguments[0], sizeof(sem_t));
  return NULL;
}

/* Those that wait for it as readers are also woken by another reader. */
void *look_at_rwlock(const struct passed_call *call, const long *arguments) {
  (void)call;
  threads_see_release((const void *)arguments[0], sizeof(pthread_rwlock_t));
  return NULL;
}

void *look_at_thread(const struct passed_call *call, const long *arguments) {
  (void)call;
  threads_see_thread((pthread_t)arguments[0]);
  return NULL;
}

void *look_at_threads(const struct passed_call *call, const long *arguments) {
  (void)call;
  (void)arguments;
  threads_needed();
  return NULL;
}

void *look_at_awaited(const struct passed_call *call, const long *arguments) {
  (void)call;
  threads_see_descriptor(arguments[0]);
  return NULL;
}

/* A mask of its own for as long as it waits, or bytes that go nobody knows where. */
void *look_at_wait_for_all(const struct passed_call *call, const long *arguments) {
  threads_needed();
  return look_at_wait(call, arguments);
}

/* ppoll() has it as the fourth word, pselect() as the last, sigsuspend() has no other. */
void *look_at_wait_with_mask(const struct passed_call *call, const long *arguments) {
  int at = strstr(call->name, "ppoll") != NULL ? 3 : strcmp(call->name, "pselect") == 0 ? 5 : 0;
  clean_note_waiting_mask((const sigset_t *)arguments[at]);
  return look_at_wait_for_all(call, arguments);
}
