/* Go executables that a loader links with libc, because they use cgo, or the standard library's
 * net or os/user. Their C code calls libc, whose functions this library replaces; Go's own calls
 * are handed back like a static executable's (static/traps.h), and only those: the kernel hands
 * back what comes from the executable's code, and lets pass what comes from above it, where all
 * libraries are. libc's memory of the thread stays in place. */
#include "go/program.h"

#include <elf.h>
#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "calls/passed_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "static/traps.h"

int program_is_linked_go(void) {
  return program_is_go() && !program_is_static();
}

#if defined(__x86_64__)

enum { kCannotEnter = 74 };

static struct go_image image;

/* ---- is it one ---- */

static int is_note_of_go(const Elf64_Phdr *segment, uintptr_t base) {
  static const char kOwner[] = {'G', 'o', '\0', '\0'};
  const char *at = (const char *)(base + segment->p_vaddr);
  size_t left = segment->p_memsz;
  while (left >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr head;
    memcpy(&head, at, sizeof head);
    size_t align = segment->p_align == 8 ? 8 : 4;
    size_t bytes = sizeof head + ((head.n_namesz + align - 1) & -align);
    bytes += (head.n_descsz + align - 1) & -align;
    if (bytes > left) return 0;
    if (head.n_namesz == sizeof kOwner && memcmp(at + sizeof head, kOwner, sizeof kOwner) == 0)
      return 1;
    at += bytes;
    left -= bytes;
  }
  return 0;
}

/* Reads the executable, the first of the list: 1; or -1 if it lacks the note of Go's compiler,
 * which stripping leaves. */
static int read_image(struct dl_phdr_info *info, size_t bytes, void *unused) {
  (void)bytes;
  (void)unused;
  int has_note = 0;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const Elf64_Phdr *segment = &info->dlpi_phdr[i];
    has_note |= segment->p_type == PT_NOTE && is_note_of_go(segment, info->dlpi_addr);
    if (segment->p_type != PT_TLS) continue;
    size_t align = segment->p_align > 1 ? segment->p_align : 1;
    state.executable.go.thread_bytes = (segment->p_memsz + align - 1) & -align;
  }
  go_image_read(&image, info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr);
  return has_note ? 1 : -1;
}

/* ---- the way in ---- */

static _Noreturn void refuse(const char *why) {
  char reason[kReasonMax] = "a Go executable: ";
  strncat(reason, why, sizeof reason - strlen(reason) - 1);
  checkpoint_refuse(reason);
}

/* Its libraries must be above it: the kernel lets only one range pass. */
static int libraries_are_above(uintptr_t end) {
  return (uintptr_t)refuse > end && (uintptr_t)dl_iterate_phdr > end &&
         (uintptr_t)getauxval(AT_SYSINFO_EHDR) > end;
}

static void begin_with(const struct go_known known, int argc, char **argv, char **envp) {
  const char *reason = NULL;
  image.known = known;
  if (!libraries_are_above(image.code.end)) refuse("its libraries are below it in memory");
  if (!traps_are_offered()) refuse("this kernel does not hand system calls back (Linux 5.11 does)");
  if (go_program_find(&image, &reason) != 0) refuse(reason);
  go_program_enter(argc, argv, envp);
  if (traps_begin() != 0) give_up(kCannotEnter);
}

/* Go's runtime expects the auxiliary vector after the end of the variables. */
static void fill_gap(char **envp) {
  static char nothing[1];
  size_t words;
  char **end = (char **)(uintptr_t)request_auxiliary_vector(&words) - 1;
  while (*envp != NULL) ++envp;
  while (envp < end) *envp++ = nothing;
}

void go_program_begin(int argc, char **argv, char **envp) {
  if (state.level != LEVEL_COMPILED) return;
  if (!program_is_static() && dl_iterate_phdr(read_image, NULL) != 1) return;
  state.executable.go.is_wanted = 1;
  state.level = LEVEL_LINKED;
  if (program_is_static()) return;
  fill_gap(envp);
  if (calls_start_of_libc()) return;
  on_exit(worker_finish, NULL);
  begin_with(GO_KNOWN_BY_ENTRY((uintptr_t)getauxval(AT_ENTRY)), argc, argv, envp);
}

int go_linked_main(int argc, char **argv, char **envp) {
  begin_with(GO_KNOWN_BY_MAIN((uintptr_t)state.real_main), argc, argv, envp);
  return state.real_main(argc, argv, envp);
}

static int has_plugins(void) {
  const struct go_places *places = &state.executable.go.places;
  for (size_t i = 0; i < places->mark_count; ++i) {
    if (places->marks[i].kind == GO_PLUGIN) return 1;
  }
  return 0;
}

void go_linked_opens(void) {
  if (!program_is_linked_go() || !has_plugins()) return;
  go_threads_see_wait();
  call_doubt(RETIRED_CALL, "a plugin's code");
}

/* ---- threads that libc makes ---- */

/* A thread does not inherit that its calls are handed back. Its start is kept here until it has
 * read it. */
enum { kStartsMax = 64 };
struct go_thread_start {
  int is_taken;
  void *(*run)(void *);
  void *argument;
};
static struct go_thread_start starts[kStartsMax];

struct go_thread_start *go_linked_thread(void *(*run)(void *), void *argument) {
  go_threads_see_wait();
  for (size_t i = 0;; i = (i + 1) % kStartsMax) {
    struct go_thread_start *start = &starts[i];
    int none = 0;
    if (__atomic_compare_exchange_n(&start->is_taken, &none, 1, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
      start->run = run;
      start->argument = argument;
      return start;
    }
    if (i == kStartsMax - 1) sched_yield();
  }
}

void go_linked_thread_drop(struct go_thread_start *start) {
  __atomic_store_n(&start->is_taken, 0, __ATOMIC_SEQ_CST);
}

void *go_linked_thread_run(void *started) {
  struct go_thread_start start = *(struct go_thread_start *)started;
  go_linked_thread_drop(started);
  if (traps_of_thread(1) != 0) give_up(kCannotEnter);
  return start.run(start.argument);
}

static int run_of_c11(void *start) {
  return (int)(intptr_t)go_linked_thread_run(start);
}

static int create_of_c11(void *thread, void *run, void *argument) {
  int (*create)(void *, int (*)(void *), void *) =
      (int (*)(void *, int (*)(void *), void *))passed_thrd_create.real;
  struct go_thread_start *start = go_linked_thread((void *(*)(void *))run, argument);
  int result = create(thread, run_of_c11, start);
  if (result != 0) go_linked_thread_drop(start);
  return result;
}

#else

void go_linked_opens(void) {}

void go_program_begin(int argc, char **argv, char **envp) {
  (void)argc;
  (void)argv;
  (void)envp;
}

int go_linked_main(int argc, char **argv, char **envp) {
  return state.real_main(argc, argv, envp);
}

struct go_thread_start *go_linked_thread(void *(*run)(void *), void *argument) {
  (void)run;
  (void)argument;
  return NULL;
}

void *go_linked_thread_run(void *started) {
  return started;
}

static int create_of_c11(void *thread, void *run, void *argument) {
  (void)thread;
  (void)run;
  (void)argument;
  return -1;
}

void go_linked_thread_drop(struct go_thread_start *start) {
  (void)start;
}

#endif

void *look_at_thrd_create(const struct passed_call *call, const long *arguments) {
  (void)arguments;
  return program_is_linked_go() && call->real != NULL ? (void *)(uintptr_t)create_of_c11 : NULL;
}

/* Threads that libc starts for itself may call the program, and then Go. */
void *look_at_unseen_thread(const struct passed_call *call, const long *arguments) {
  (void)arguments;
  if (program_is_linked_go()) call_doubt(RETIRED_CALL, call->name);
  return NULL;
}
