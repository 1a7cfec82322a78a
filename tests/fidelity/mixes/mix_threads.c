/* Threads, those before main() and those of a request: see mix.h. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mix.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static pthread_cond_t work = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;

static sem_t begin, end;

static pthread_barrier_t barrier;

long sum;

static int jobs, done, event, pipe_ends[2], poll_set;

static __thread int mine;

static void *in_pool(void *unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (jobs == 0) pthread_cond_wait(&work, &mutex);
    sum += jobs-- * (mine + 1);
    ++done;
    pthread_cond_signal(&ready);
  }
  return NULL;
}

static void *on_events(void *unused) {
  (void)unused;
  for (;;) {
    struct epoll_event what;
    uint64_t value = 0;
    if (epoll_wait(poll_set, &what, 1, -1) != 1) continue;
    if (what.data.fd == event)
      check(read(event, &value, sizeof value) == sizeof value);
    else
      check(read(pipe_ends[0], &value, 1) == 1);
    sum += (long)value;
    sem_post(&end);
  }
  return NULL;
}

static void *on_semaphore(void *unused) {
  (void)unused;
  for (;;) {
    if (sem_wait(&begin) != 0) continue;
    sum *= 3;
    ++mine;
    sem_post(&end);
  }
  return NULL;
}

static void *on_barrier(void *unused) {
  (void)unused;
  pthread_barrier_wait(&barrier);
  pthread_mutex_lock(&mutex);
  sum += 5;
  pthread_mutex_unlock(&mutex);
  pthread_barrier_wait(&barrier);
  return NULL;
}

static void start(void *(*run)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) != 0) abort();
}

/* Out of the way of what is done to descriptors. */
static int move_up(int fd) {
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, 200);
  close(fd);
  return moved;
}

__attribute__((constructor)) static void before_main(void) {
  struct epoll_event of_event = {.events = EPOLLIN}, of_pipe = {.events = EPOLLIN};
  sem_init(&begin, 0, 0);
  sem_init(&end, 0, 0);
  if (SETUP == kPool) start(in_pool), start(in_pool), start(in_pool);
  if (SETUP == kLocks)
    pthread_barrier_init(&barrier, NULL, 3), start(on_barrier), start(on_barrier);
  if (SETUP != kEvents) return;
  event = move_up(eventfd(0, EFD_CLOEXEC));
  poll_set = move_up(epoll_create1(EPOLL_CLOEXEC));
  check(pipe2(pipe_ends, O_CLOEXEC) == 0);
  for (int i = 0; i < 2; ++i) pipe_ends[i] = move_up(pipe_ends[i]);
  of_event.data.fd = event, of_pipe.data.fd = pipe_ends[0];
  epoll_ctl(poll_set, EPOLL_CTL_ADD, event, &of_event);
  epoll_ctl(poll_set, EPOLL_CTL_ADD, pipe_ends[0], &of_pipe);
  start(on_events), start(on_semaphore);
}

static pthread_key_t key;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void) {
  pthread_key_create(&key, NULL), puts("once");
}

static void *compute(void *number) {
  long value = (long)number;
  pthread_once(&once, make_key);
  pthread_setspecific(key, number);
  mine += (int)value;
  for (int i = 0; i < 1000; ++i) value = (value * 31 + i) % 100003;
  pthread_mutex_lock(&mutex);
  sum += value + mine;
  pthread_mutex_unlock(&mutex);
  return (void *)value;
}

void use_threads(void) {
  pthread_t threads[8];
  unsigned many = 1 + roll(8);
  long total = 0;
  was_barred |= 1; /* one that was joined may still be listed */
  pthread_once(&once, make_key);
  for (unsigned i = 0; i < many; ++i)
    pthread_create(&threads[i], NULL, compute, (void *)(long)roll(50));
  for (unsigned i = 0; i < many; ++i) {
    void *got = NULL;
    pthread_join(threads[i], &got);
    total += (long)got;
  }
  printf("threads: %u %ld %ld %d\n", many, total, sum, mine);
}

static void *sleep_for_ever(void *unused) {
  (void)unused;
  mine = 99;
  sem_post(&end);
  for (;;) pause();
  return NULL;
}

void leave_thread(void) {
  pthread_t thread;
  printf("left: %d\n", counter);
  pthread_create(&thread, NULL, sleep_for_ever, NULL);
  if (roll(2)) pthread_detach(thread);
  while (sem_wait(&end) != 0) continue;
}

static void *spin(void *unused) {
  (void)unused;
  sem_post(&end);
  for (;;) __atomic_fetch_add(&was_barred, 2, __ATOMIC_RELAXED);
  return NULL;
}

void leave_busy_thread(void) {
  pthread_t thread;
  puts("busy");
  was_barred |= 1;
  pthread_create(&thread, NULL, spin, NULL);
  while (sem_wait(&end) != 0) continue;
}

void ask_pool(void) {
  int how_many = 1 + (int)roll(40);
  if (SETUP != kPool) return;
  pthread_mutex_lock(&mutex);
  jobs = how_many, done = 0;
  pthread_cond_broadcast(&work);
  while (done < how_many) pthread_cond_wait(&ready, &mutex);
  pthread_mutex_unlock(&mutex);
  printf("pool: %d %ld\n", done, sum);
}

void ask_events(void) {
  uint64_t value = 1 + roll(9);
  if (SETUP != kEvents) return;
  switch (roll(4)) {
    case 0:
      check(write(event, &value, sizeof value) == sizeof value);
      break;
    case 1:
      check(write(pipe_ends[1], "x", 1) == 1);
      break;
    case 2:
      check(dprintf(pipe_ends[1], "%d", 7) == 1);
      break;
    default:
      sem_post(&begin);
  }
  while (sem_wait(&end) != 0) continue;
  printf("events: %ld\n", sum);
}

void ask_locks(void) {
  static int is_over;
  if (SETUP != kLocks || is_over) return;
  was_barred |= 1;
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  is_over = 1;
  printf("barrier: %ld\n", sum);
}

void hold_lock(void) {
  static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  printf("held: %d\n", pthread_mutex_trylock(&held));
  if (roll(2)) pthread_mutex_unlock(&held);
}
