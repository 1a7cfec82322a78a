/* The state that the kernel keeps for a process and that a program can change. */
#ifndef CGIBRIDGE_KERNEL_STATE_H
#define CGIBRIDGE_KERNEL_STATE_H

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "message/wire.h"
#include "rewind/unseen.h"

struct engine;

enum { kSignalsMax = 65, kGroupsMax = 128, kFileOfOneMax = 32 };
enum { kPrctlOfHugePages = 3 }; /* in prctls */

/* The fields of /proc/self/stat that a program can change. */
struct process_words {
  char name[64];
  long process_group, session_id, terminal, priority, nice;
  uint64_t faults_of_children;       /* of children that were waited for */
  uint64_t pending, ignored, caught; /* signals 1 to 31 */
  long real_time_priority, policy;
  uint64_t address_space; /* bytes mapped */
};

/* process_words.c: fd: of /proc/PID/stat. 0, or -1 if it is not as expected. */
int process_words_read(int fd, struct process_words *words);

/* As the kernel takes it. aarch64 uses the restorer only for 32-bit programs, but always has room
 * for it. */
struct signal_action {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
};

struct kernel_state {
  struct process_words words;
  mode_t umask;
  struct signal_action actions[kSignalsMax];
  stack_t alternate_stack;
  uid_t uids[3];
  gid_t gids[3];
  int group_count;
  gid_t groups[kGroupsMax];
  uint32_t capabilities[6];
  long seccomp, no_new_privileges, dumpable, personality, io_priority;
  long session_keyring; /* its serial number */
  long group_aside;     /* the bridge's process group, to move into for a moment; 0: none */
  long prctls[5];       /* as kernel_state.c reads them */
  struct rlimit limits[RLIM_NLIMITS];
  unsigned long affinity[128 / sizeof(unsigned long)];
  uint64_t schedule[8]; /* struct sched_attr, with room for what a later kernel adds to it */
  char oom_score_adj[kFileOfOneMax], coredump_filter[kFileOfOneMax];
  struct unseen_state unseen; /* read by a worker that is put back */
};

/* kernel_state.c: all of it, from the kernel; fd: of /proc/self/stat. 0 or -1 */
int kernel_state_read(int fd, struct kernel_state *kernel);
enum retirement kernel_state_put_back(struct engine *engine);
/* Whether from some moment on nobody saw what an instruction of the program's own did. */
int calls_have_passed(const struct engine *engine);

/* let_go.c: puts descriptors back as at the checkpoint and closes those of a request. */
enum retirement descriptors_put_back(struct engine *engine);
/* Whether 0, 1 and 2 are as they came, and the next request may have them. */
int streams_can_stay(const struct engine *engine);
void descriptors_count(struct engine *engine); /* how many are open at rest */
/* Whether the library's own descriptors are still what they were: they are numbers like any
 * others. */
enum retirement descriptors_check(struct engine *engine);
int descriptors_are_ours(const struct engine *engine);
/* Whether another process has copies of the library's descriptors. If the kernel cannot tell, they
 * count as shared. */
enum retirement own_files_check(struct engine *engine);

/* timers.c */
int alarm_runs(void);
int timers_stand(void);     /* of timer_create() */
int timers_are_noted(void); /* 0: a thread was ended, or interrupted, within a call on a timer */
void timers_put_back(int was_clean);
/* The calls themselves, with their words, and the kernel's result. */
long timer_create_by_number(const long *words);
long timer_delete_by_number(const long *words);

#endif
