/* Go executables stop at main.main(): the runtime is up, and all packages are initialized. Their
 * threads are parked like any other program's (rewind/threads.h).
 *
 * What package initialization draws, asks and prints would be the same for all visitors, so it is
 * watched: system calls as they are handed back; what needs no system call, at the beginning of
 * functions of the standard library, whose first instruction is replaced by a system call until
 * the checkpoint. The main goroutine is stopped before the first of these, and goes on from there
 * in each request (level `booted`); done by another one, it keeps the program from being stopped.
 * Each request then gets its own variables, words and random numbers. */
#ifndef CGIBRIDGE_GO_PROGRAM_H
#define CGIBRIDGE_GO_PROGRAM_H

#include <elf.h>
#include <signal.h>
#include <sys/types.h>
#include <ucontext.h>

#include "go/places.h"
#include "load/load_watch.h"

enum { kGoDataMax = 8, kGoListsMax = 4, kGoThreadsMax = 64 };

enum go_stage { GO_STARTS, GO_STANDS, GO_GOES_ON };

struct go_program {
  int is_wanted;          /* the bridge has asked for a stop at main.main() */
  int is_go;              /* and the program will stop there */
  struct byte_range code; /* the executable's */
  struct go_places places;
  struct byte_range data[kGoDataMax]; /* the executable's own writable memory */
  size_t data_count;
  int argc; /* as it was entered */
  char **argv, **envp;
  char *stack; /* the one in use at the checkpoint */
  ucontext_t *context;
  int stage;      /* enum go_stage; a word that threads wait at, see threads.c */
  pid_t first_id; /* of the first thread, as the runtime knows it */
  int is_called;  /* its first thread was sent the runtime's signal while it was stopped */
  uintptr_t variable_lists[kGoListsMax]; /* slices of all variables */
  size_t variable_list_count;
  const char *refused;  /* why it cannot be stopped at all; or NULL */
  char left[kFoundMax]; /* what it was stopped before, in words; empty: before main.main() */
  uintptr_t stop;       /* the instruction at which requests begin */
  char *variables;      /* a copy of all of envp, one behind the other */
  size_t variables_bytes;
  int timer;           /* the kernel's id of the request's, plus one; 0: none */
  size_t thread_bytes; /* the executable's own memory in each of libc's threads, below its block */
  size_t goroutine_at; /* how far below a thread's block is the goroutine that it runs */
  uintptr_t threads[kGoThreadsMax]; /* the runtime's m of each of its threads at the checkpoint */
  size_t thread_count;
};

/* Whether the program is Go's, and stops at main.main() or before. */
int program_is_go(void);
int go_program_level(void); /* that it reaches: LEVEL_COMPILED, or LEVEL_BOOTED */
/* The same, and a loader has linked it with libc, which is this library's, too. */
int program_is_linked_go(void);

/* program.c: what an executable's memory is, by its program headers; all fields except `known`. */
void go_image_read(struct go_image *image, const Elf64_Phdr *segments, unsigned count,
                   uintptr_t base);
/* The executable is mapped, and none of its code has run: 0; or -1 with the reason. The program is
 * marked. */
int go_program_find(const struct go_image *image, const char **reason);
void go_program_enter(int argc, char **argv, char **envp);
/* The first thread has reached main.main(). */
_Noreturn void go_program_stand(uintptr_t place, ucontext_t *context);
/* The launch's variable, for as long as the process lives; or NULL. */
const char *go_program_variable(const char *name);
/* tgkill(): the runtime knows threads by the ids they had before the checkpoint. */
long go_program_tgkill(const long *words);

/* linked.c: executables that a loader links with libc.
 * Before any constructor, when this library's variables were taken out of envp: if the program is
 * to stop at main.main(), the rest of this library treats it as one without an adapter, as at the
 * level `linked`; and if its first instruction is Go's own, it is marked. */
void go_program_begin(int argc, char **argv, char **envp);
/* dlopen() in a request: a plugin has code whose calls are not handed back, so no thread may be
 * missing, and the worker ends. */
void go_linked_opens(void);
/* What libc calls in the place of the main() of one (state.real_main). */
int go_linked_main(int argc, char **argv, char **envp);
/* pthread_create(): what the new thread has to run instead, so that its calls are handed back; and
 * when it was not made after all. */
struct go_thread_start;
struct go_thread_start *go_linked_thread(void *(*run)(void *), void *argument);
void *go_linked_thread_run(void *start);
void go_linked_thread_drop(struct go_thread_start *start);

/* marks.c, all of it until the checkpoint. */
int go_marks_set(void); /* 0 or -1 */
int go_marks_take_away(void);
/* sigaction(): whether this signal is a breakpoint's at the moment. The program's action is then
 * kept here until the checkpoint. Either may be NULL. */
struct signal_action;
int go_marks_act(int number, const struct signal_action *action, struct signal_action *old);
/* The function at a mark, which stays, is entered all the same: its beginning is imitated, and the
 * program continues after that. */
void go_mark_pass(const struct go_mark *mark, ucontext_t *context);

/* watch.c, the same; neither returns if the program is stopped there. */
/* This place was reached: whether it is a mark; if so, it was dealt with. */
int go_mark_reached(uintptr_t place, ucontext_t *context);
void go_watch_call(long number, const long *words, ucontext_t *context);
/* Who calls what is being noted: ", called by main.init", as load_place() says it. */
int go_place(char *place, size_t bytes);

/* threads.c: a call of the program's, in a request whose threads were not made yet: makes them if
 * it could wait for what they do, or start another. */
void go_threads_see_call(long number, const long *words);
int go_call_may_wait(long number, const long *words); /* waits.c */
/* A thread that wants to pause, or to wait for a limited time, in the zygote: whether it was made
 * to wait instead, until the program goes on after main.main(). Otherwise it would not rest there,
 * and the one that looks after all others (sysmon) would find that main.main() takes long, and each
 * request would begin with an interruption. */
int go_threads_hold(long number, const long *words);
void go_threads_tell(enum go_stage stage);
/* A request begins, or has ended; in between all threads are made after some milliseconds in any
 * case, for a program that waits in a loop. The timer's signal is the one of a handed-back call. */
void go_threads_expect(void);
/* The program's C code is about to wait, or to start a thread; or to make this call. */
void go_threads_see_wait(void);
void go_threads_see_c_call(long number, const long *words);
void go_threads_expect_no_more(void);
int go_threads_are_due(const siginfo_t *info); /* whether this signal is the timer's */

/* renewal.c: what each request's process has of its own. -1: this one cannot be given it. */
int go_renewal_find(void); /* at the checkpoint: 0, or -1 if the lists of variables are not found */
/* The first thread and those that are parked: 0, or -1 if one is not Go's. */
int go_renewal_find_threads(void);
int go_renew(void);

#endif
