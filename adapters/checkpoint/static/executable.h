/* Static executables: they have no loader that could preload this library, so it is the other way
 * round. A dynamic program of ours (cgibridge-static) is launched in the executable's place, with
 * this library in it, and the library maps the executable's segments as execve() would have.
 *
 * The checkpoint is before the executable's first instruction, which each request enters on a stack
 * as execve() makes one. If the executable is linked with glibc, and has no constructors of its
 * own, it is entered before the checkpoint, which is where it would call main(): none of the
 * program itself has run then, and libc has only seen the process.
 *
 * Such a program calls the kernel by its own instructions. The kernel hands each of these calls
 * back (Syscall User Dispatch, Linux 5.11) in the form of a signal, whose handler notes it as the
 * functions of calls/ do, and makes it. The same holds for the program's threads and children,
 * until they execute another program.
 *
 * x86-64 only; elsewhere these programs run classic. */
#ifndef CGIBRIDGE_STATIC_EXECUTABLE_H
#define CGIBRIDGE_STATIC_EXECUTABLE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "go/program.h"

/* What a thread has got from the libc that made it. */
struct thread_of_libc {
  uintptr_t block; /* the thread pointer */
  int *tid_address;
  void *robust_list;
  size_t robust_list_bytes;
};

/* On the first stack of the executable, where every request finds its own. */
struct first_stack {
  char **envp;
  size_t variables_max;
  const uintptr_t *vector; /* the auxiliary one */
  size_t vector_words;
  char *random; /* the bytes of AT_RANDOM */
};

struct static_executable {
  char path[PATH_MAX];        /* as it was launched; empty: the program is an ordinary one */
  char file[PATH_MAX];        /* what /proc/self/exe would lead to: no link, wherever path leads */
  uintptr_t entry;            /* its first instruction; 0: it was not mapped */
  uintptr_t main;             /* main(), if the checkpoint is there; or 0 */
  unsigned char main_code[2]; /* the original code, while it is replaced */
  uintptr_t headers;          /* its program headers, in memory */
  unsigned header_count;
  struct thread_of_libc ours, theirs; /* of the preloaded libc; of the executable's, at main() */
  struct first_stack stack;
  int is_of_go; /* whether it stops at main.main() or not */
  struct go_program go;
};

/* launch_variables.c keeps the path. */
int program_is_static(void);
/* The same, or Go's: its calls are handed back (static/traps.h). */
int program_has_traps(void);
/* Go's: code runs on stacks that are too small for a handler's frame, and each thread has one for
 * signals. (A dynamic one counts only if it stops at main.main().) */
int program_has_small_stacks(void);

/* map.c: maps the executable. 0, or -1 with the reason why it cannot be run in this way. */
int static_executable_map(char *reason, size_t reason_bytes);

/* enter.c: enters the executable, as main() of the program that was launched. The strings stay
 * where they are; after envp's NULL comes the process's own auxiliary vector. Ends the process if
 * the kernel refuses to hand calls back. */
int static_executable_main(int argc, char **argv, char **envp);
/* The executable has reached main(), of which these are the registers: the checkpoint. Returns in a
 * worker, with a request for main(). */
void static_executable_at_main(void *ucontext);
/* Whether the executable holds a mutex about whose release at its end the kernel would tell the
 * next owner. */
int static_executable_holds_robust_mutex(void);
/* At the end of a request, in the first thread: it has what the preloaded libc gave it, and its
 * calls are its own. Does nothing in a program whose calls are not handed back. */
void static_executable_left(void);

#endif
