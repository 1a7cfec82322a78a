/* Where the library enters the program's life: before all constructors, and around main(). */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "calls/clean.h"
#include "checkpoint.h"
#include "ending.h"
#include "load/load_watch.h"
#include "load/own_calls.h"
#include "load/script_text.h"
#include "raw_call.h"
#include "rewind/kept_at_exec.h"
#include "uncopied.h"
#include "usage.h"

enum { kCannotStart = 71 }; /* exit code; the bridge logs it */

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void),
                           void (*)(void), void *);

struct checkpoint_state state __attribute__((aligned(4096)));

/* A program starts with every signal at its default and none blocked, whatever the bridge does;
 * one that another program executes, with those ignored that this one ignored. */
static void reset_signals(void) {
  for (int number = 1; number < _NSIG; ++number) {
    struct sigaction action;
    int is_ignored = (state.ignored >> (number - 1) & 1) != 0;
    if (sigaction(number, NULL, &action) == 0 && (action.sa_handler == SIG_IGN) != is_ignored)
      signal(number, is_ignored ? SIG_IGN : SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **envp) {
  environment_watch_begin();
  lookups_begin();
  request_remember_auxiliary_vector(envp);
  launch_variables_take(envp);
  if (state.role == ROLE_NONE) return;
  environment_watch_remember(envp);
  prctl(PR_GET_NAME, state.launched_name);
  state.pid = getpid();
  state.bridge_pid = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  cpu_limit_remember();
  reset_signals();
  kept_remember_start();
  int channel = descriptor_move_high(state.channel);
  if (channel < 0) give_up(70);
  channel_adopt(channel);
  fork_handlers_add_own(processor_limit_of_child); /* while its parent is still known */
  fork_handlers_add_own(child_forget);
  descriptors_remember_start();
  load_watch_catch_streams();
  uncopied_remember_start();
  if (state.folder.st_ino == 0) (void)stat(".", &state.folder);
  load_left_remember_start();
  state.loads_at_start = ending_count_loads();
  go_program_begin(argc, argv, envp);
  /* At other levels the adapter knows where the program's own part begins. */
  if (state.level != LEVEL_LINKED) return;
  if (!program_has_traps() && !calls_start_of_libc())
    checkpoint_refuse("its own code begins before libc's: main() is not called by it");
  load_watch_begin("");
  load_watch_count_output();
  cycles_watch();
  own_calls_watch();
}

static int find_word(struct dl_phdr_info *info, size_t bytes, void *word) {
  (void)bytes;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) == 0) continue;
    uintptr_t start = (info->dlpi_addr + segment->p_vaddr + 7) & ~(uintptr_t)7;
    const void **end = (const void **)(info->dlpi_addr + segment->p_vaddr + segment->p_memsz);
    for (const void **at = (const void **)start; at + 1 <= end; ++at) {
      if (*at == word) return 1;
    }
  }
  return -1; /* the program itself comes first */
}

void start_anew(const struct request *request) {
  char path[PATH_MAX];
  if (program_is_static()) {
    strcpy(path, state.executable.path);
  } else {
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = '\0';
  }
  reset_signals();
  load_left_take_back();
  /* Really: no other worker suits the request better. */
  long failure = libc_call(SYS_execve, path, request->argv, request->envp);
  errno = (int)-failure;
}

static _Noreturn void must_start_anew(const struct request *request) {
  start_anew(request);
  dprintf(2, "cgibridge: cannot start %s anew: %s\n", request->argv[0], strerrorname_np(errno));
  give_up(kCannotStart);
}

/* Constructors are called with argc and argv, and Rust's library keeps them for std::env::args().
 * Such a program is started again for arguments other than its zygote's. */
static void start_anew_for_other_arguments(const struct request *request, int argc, char **argv) {
  int same = request->argc == (uint32_t)argc;
  for (int i = 0; same && i < argc; ++i) same = strcmp(request->argv[i], argv[i]) == 0;
  if (same || dl_iterate_phdr(find_word, argv) != 1) return;
  must_start_anew(request);
}

static void map_static_executable(void) {
  char reason[kReasonMax];
  if (static_executable_map(reason, sizeof reason) != 0) checkpoint_refuse(reason);
  state.real_main = static_executable_main;
}

static int main_at_checkpoint(int argc, char **argv, char **envp) {
  script_text_look(argc, argv);
  if (program_is_static()) map_static_executable();
  if (state.executable.main != 0 || program_is_go())
    return static_executable_main(argc, argv, envp);
  checkpoint_stand();
  struct request *request = &state.request;
  start_anew_for_other_arguments(request, argc, argv);
  environ = request->envp;
  if (environment_change_again() != 0) must_start_anew(request);
  if (request->argc > 0) {
    char *name = request->argv[0];
    char *slash = strrchr(name, '/');
    program_invocation_name = name;
    program_invocation_short_name = slash ? slash + 1 : name;
  }
  return state.real_main((int)request->argc, request->argv, environ);
}

INTERPOSED int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                                 void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
  start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
  if (start == NULL) give_up(70);
  if (state.role != ROLE_NONE) {
    /* Registered first, so it runs last: after the program's handlers, C++ destructors and every
     * library's own end (which libc registers from here on). */
    on_exit(worker_finish, NULL);
    if (state.level == LEVEL_LINKED) {
      int is_linked_go = state.executable.go.is_wanted && !program_is_static();
      state.real_main = main;
      main = is_linked_go ? go_linked_main : main_at_checkpoint;
    }
  }
  return start(main, argc, argv, init, fini, rtld_fini, stack_end);
}
