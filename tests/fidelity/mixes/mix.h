/* A program that does what its query, a number, says: a random mix of what programs do to
 * themselves and leave behind. Each deed prints what it finds before it changes it, so that an
 * answer is a fresh process's only if nothing was left by others. No time, number of a process or
 * address is printed. SETUP: which threads there are before main(). */
#ifndef MIX_H
#define MIX_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#ifndef SETUP
#define SETUP 0
#endif
enum { kPool = 1, kEvents = 2, kLocks = 3 };

unsigned roll(unsigned sides); /* the next number of the query's sequence, below sides */
void check(int is_well);       /* prints errno if not */
void note(int number);         /* a signal's handler, which sets caught */

extern volatile sig_atomic_t caught;
extern int counter, was_barred; /* was_barred: a thread that has ended may still be listed */
extern char *kept;
extern long sum;
extern pthread_mutex_t mutex;

#define DEEDS_ON_STATE(X) \
  X(count)                \
  X(change_umask)         \
  X(change_folder)        \
  X(change_environment)   \
  X(change_limit)         \
  X(change_name)          \
  X(be_nice)              \
  X(set_locale)           \
  X(set_rounding)         \
  X(draw)                 \
  X(use_hidden_state)     \
  X(take_memory)          \
  X(map_memory)           \
  X(move_break)           \
  X(use_file)             \
  X(move_descriptors)     \
  X(redirect)             \
  X(read_input)           \
  X(print_much)           \
  X(set_buffer)           \
  X(lock_file)            \
  X(jump)                 \
  X(load_library)         \
  X(keep)                 \
  X(use_socket)           \
  X(register_end)
#define DEEDS_ON_SIGNALS(X)    \
  X(catch_signal)              \
  X(block_signals)             \
  X(await_alarm)               \
  X(set_timer)                 \
  X(await_timer)               \
  X(take_signal_by_descriptor) \
  X(other_stack)               \
  X(fork_child)                \
  X(run_program)               \
  X(spawn_program)
#define DEEDS_ON_THREADS(X) \
  X(use_threads)            \
  X(leave_thread)           \
  X(leave_busy_thread)      \
  X(ask_pool)               \
  X(ask_events)             \
  X(ask_locks)              \
  X(hold_lock)

#define DECLARE(deed) void deed(void);
DEEDS_ON_STATE(DECLARE)
DEEDS_ON_SIGNALS(DECLARE)
DEEDS_ON_THREADS(DECLARE)

#endif
