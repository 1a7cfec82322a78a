/* What the arguments of passed calls mean. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/vfs.h>

#include "calls/clean.h"
#include "calls/named_files.h"
#include "calls/passed_calls.h"
#include "load/load_effects.h"
#include "load/load_watch.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/inherited.h"
#include "rewind/threads_missing.h"

/* ---- libraries ---- */

/* This library's own bounds, set by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

int is_of_this_library(const void *address) {
  return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

/* libc gives the vDSO's own function for some names. */
static int is_of_vdso(const Dl_info *of_found) {
  unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
  return vdso != 0 && (unsigned long)(uintptr_t)of_found->dli_fbase == vdso;
}

/* A program that asks a library for a libc function gets ours, like one that links with it. */
static void *dlsym_by_handle(void *library, const char *name) {
  void *found = passed_dlsym_of_libc(library, name);
  Dl_info of_found, of_libc;
  if (found == NULL) return NULL;
  if (strncmp(name, "__vdso_", 7) == 0)
    load_watch_note(IMPURE_UNSEEN, name, __builtin_return_address(0));
  if (is_of_this_library(found)) return generators_offer(name, found, __builtin_return_address(0));
  void *real = dlsym(RTLD_NEXT, "malloc_info"); /* which nothing interposes */
  if (real == NULL || dladdr(found, &of_found) == 0 || dladdr(real, &of_libc) == 0 ||
      (of_found.dli_fbase != of_libc.dli_fbase && !is_of_vdso(&of_found))) {
    return generators_instead(name, found, __builtin_return_address(0));
  }
  void *ours = dlsym(RTLD_DEFAULT, name);
  return is_of_this_library(ours) ? ours : found;
}

/* This library is the next one after the program itself. */
static int is_programs_own(const void *caller) {
  struct dl_find_object found;
  return _dl_find_object((void *)(uintptr_t)caller, &found) == 0 &&
         found.dlfo_link_map->l_name[0] == '\0';
}

/* A library that wraps a function of libc's asks for the next one after itself, which may be libc's
 * own. It cannot be given ours, which may call the library. */
static void note_next(const char *name, const void *caller) {
  if (name == NULL || is_of_this_library(caller)) return;
  if (!is_of_this_library(passed_dlsym_of_libc(RTLD_DEFAULT, name))) return;
  state.goes_by = 1;
  call_touch(TOUCHED_ASKED);
  if (!is_programs_own(caller) && load_calls_have(name))
    load_watch_note(IMPURE_UNSEEN, name, caller);
}

/* Whoever has its address reads the variables without a call. */
static int names_environment(const char *name) {
  return name != NULL && (strcmp(name, "environ") == 0 || strcmp(name, "__environ") == 0 ||
                          strcmp(name, "_environ") == 0);
}

void *look_at_dlsym(const struct passed_call *call, const long *arguments) {
  (void)call;
  void *library = (void *)arguments[0];
  const char *name = (const char *)arguments[1];
  if (names_environment(name)) load_watch_note(IMPURE_UNSEEN, name, caller_of(arguments));
  if (library == RTLD_NEXT) note_next(name, caller_of(arguments));
  int is_generator = library == RTLD_DEFAULT && generators_have(name);
  if (!is_generator && (library == RTLD_DEFAULT || library == RTLD_NEXT)) return NULL;
  return (void *)(uintptr_t)dlsym_by_handle;
}

/* Likewise: what it finds may be called without our knowing, even long after. */
void *look_at_dlvsym(const struct passed_call *call, const long *arguments) {
  (void)call;
  const void *caller = caller_of(arguments);
  const char *name = (const char *)arguments[1];
  if (!is_of_this_library(caller)) state.goes_by = 1;
  if (load_calls_have(name)) load_watch_note(IMPURE_UNSEEN, name, caller);
  return NULL;
}

/* From then on another libc, or one that is found before this library, is called past our
 * functions. */
static void bypass(const char *call, const void *caller) {
  if (state.role == ROLE_ANSWERING)
    call_doubt(RETIRED_CALL, call);
  else
    strncpy(state.bypass, call, sizeof state.bypass - 1);
  load_watch_note(IMPURE_UNSEEN, call, caller);
}

void *look_at_dlopen(const struct passed_call *call, const long *arguments) {
  (void)call;
  if ((arguments[1] & RTLD_DEEPBIND) != 0)
    bypass("dlopen with RTLD_DEEPBIND", caller_of(arguments));
  if (state.role == ROLE_ANSWERING) go_linked_opens();
  return NULL;
}

void *look_at_dlmopen(const struct passed_call *call, const long *arguments) {
  (void)call;
  if (arguments[0] != LM_ID_BASE || (arguments[2] & RTLD_DEEPBIND) != 0)
    bypass("dlmopen", caller_of(arguments));
  return NULL;
}

/* ---- files ---- */

int is_of_processes(const struct statfs *status) {
  static const unsigned long kMagics[] = {0x9fa0 /* proc */,
                                          0x27e0eb /* cgroup */,
                                          0x63677270 /* cgroup2 */,
                                          0x7655821 /* resctrl */,
                                          0xf97cff8c /* selinux */,
                                          0x43415d53 /* smack */,
                                          0x73636673 /* securityfs */};
  for (size_t i = 0; i < sizeof kMagics / sizeof *kMagics; ++i) {
    if ((unsigned long)status->f_type == kMagics[i]) return 1;
  }
  return 0;
}

/* The check of descriptors knows which devices may be open at the checkpoint. */
static int is_device(int directory, const char *path) {
  struct stat status;
  return libc_call(SYS_newfstatat, directory, path, &status, 0) == 0 && S_ISCHR(status.st_mode);
}

void note_open_of_load(const char *function, int directory, const char *path, int flags,
                       const void *caller) {
  if (!state.load.is_on || !may_be_memory(path)) return;
  load_watch_note_file(directory, path, flags, caller);
  int reads = (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY;
  if (reads || is_device(directory, path) || load_effects_is_cache(path)) return;
  load_watch_note(IMPURE_FILES, function, caller);
}

/* Whether it is put back anyway if there was a child. */
static int is_put_back(long fd) {
  static const char *const kNames[] = {"/comm", "/oom_score_adj", "/oom_adj", "/coredump_filter",
                                       "/timerslack_ns"};
  char path[64];
  if (path_of_open_file(fd, path, sizeof path) < 0) return 0;
  const char *name = strrchr(path, '/');
  for (size_t i = 0; name != NULL && i < sizeof kNames / sizeof *kNames; ++i) {
    if (strcmp(name, kNames[i]) == 0) return 1;
  }
  return 0;
}

/* Who has such a file, a child or who was sent it, sees or marks what later requests have in
 * memory. (A static program's path may be no memory, which is known only as long as it is clean.)
 */
static int shows_memory(const char *path) {
  if ((program_has_traps() && !state.is_clean) || !may_be_memory(path)) return 0;
  const char *name = strrchr(path, '/');
  name = name != NULL ? name + 1 : path;
  return strcmp(name, "mem") == 0 || strcmp(name, "pagemap") == 0;
}

void note_open(int directory, const char *path, int flags) {
  int only_reads = (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) != 0;
  int shows = shows_memory(path);
  clean_note_path(path);
  if (only_reads && !shows) return;
  if (state.role != ROLE_ANSWERING || state.reset == RESET_NONE) return;
  if (!only_reads) named_files_see(directory, path);
  struct statfs status;
  long fd = libc_call(SYS_openat, directory, path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW));
  if (fd < 0) return;
  long known = libc_call(SYS_fstatfs, fd, &status);
  if (known == 0 && status.f_type == PIPEFS_MAGIC) {
    threads_needed();
    call_touch(TOUCHED_STREAMS);
  }
  if (known == 0 && is_of_processes(&status)) {
    if (shows) {
      call_doubt(RETIRED_CALL, "open, to see its memory");
    } else if (is_put_back(fd)) {
      call_touch(TOUCHED_BY_OTHERS | TOUCHED_PRCTL);
    } else {
      call_doubt(RETIRED_CALL, "open, to write to a file of the kernel's");
    }
  }
  libc_call(SYS_close, fd);
}

void *look_at_open(const struct passed_call *call, const long *arguments) {
  note_open_of_load(call->name, AT_FDCWD, (const char *)arguments[0], (int)arguments[1],
                    caller_of(arguments));
  note_open(AT_FDCWD, (const char *)arguments[0], (int)arguments[1]);
  lookups_see_open(AT_FDCWD, (const char *)arguments[0], (int)arguments[1], caller_of(arguments));
  return NULL;
}

void *look_at_openat(const struct passed_call *call, const long *arguments) {
  note_open_of_load(call->name, (int)arguments[0], (const char *)arguments[1], (int)arguments[2],
                    caller_of(arguments));
  note_open((int)arguments[0], (const char *)arguments[1], (int)arguments[2]);
  lookups_see_open((int)arguments[0], (const char *)arguments[1], (int)arguments[2],
                   caller_of(arguments));
  return NULL;
}

void *look_at_path(const struct passed_call *call, const long *arguments) {
  (void)call;
  lookups_see_look(AT_FDCWD, (const char *)arguments[0], caller_of(arguments));
  return NULL;
}

void *look_at_path_in(const struct passed_call *call, const long *arguments) {
  (void)call;
  lookups_see_look((int)arguments[0], (const char *)arguments[1], caller_of(arguments));
  return NULL;
}

/* Its name, in the folder that libc opens it in. */
void *look_at_shared_file(const struct passed_call *call, const long *arguments) {
  char path[300];
  const char *name = (const char *)arguments[0];
  if (!state.load.is_on || !may_be_memory(name)) return NULL;
  snprintf(path, sizeof path, "/dev/shm/%s", name + strspn(name, "/"));
  note_open_of_load(call->name, AT_FDCWD, path, (int)arguments[1], caller_of(arguments));
  lookups_see_open(AT_FDCWD, path, (int)arguments[1], caller_of(arguments));
  return NULL;
}

void *look_at_openat2(const struct passed_call *call, const long *arguments) {
  (void)call;
  const struct open_how *how = (const struct open_how *)arguments[2];
  if (may_be_memory(how)) note_open((int)arguments[0], (const char *)arguments[1], (int)how->flags);
  return NULL;
}

/* A pidfd's attributes last as long as the process (Linux 6.17); they are of this kind. */
void *look_at_attribute(const struct passed_call *call, const long *arguments) {
  static const char kKind[] = "trusted.";
  const char *name = (const char *)arguments[1];
  if (may_be_memory(name) && strncmp(name, kKind, sizeof kKind - 1) == 0)
    call_doubt(RETIRED_CALL, call->name);
  return look_at_change(call, arguments);
}

/* Where it leads is not known beforehand. */
void *look_at_handle(const struct passed_call *call, const long *arguments) {
  if ((arguments[2] & O_ACCMODE) != O_RDONLY) call_doubt(RETIRED_CALL, call->name);
  return NULL;
}

void *look_at_creat(const struct passed_call *call, const long *arguments) {
  note_open_of_load(call->name, AT_FDCWD, (const char *)arguments[0], O_WRONLY,
                    caller_of(arguments));
  note_open(AT_FDCWD, (const char *)arguments[0], O_WRONLY);
  return NULL;
}

void *look_at_fopen(const struct passed_call *call, const long *arguments) {
  const char *mode = (const char *)arguments[1];
  if (arguments[0] == 0 || mode == NULL) return NULL;
  int writes = strpbrk(mode, "wa+") != NULL;
  note_open_of_load(call->name, AT_FDCWD, (const char *)arguments[0], writes ? O_WRONLY : O_RDONLY,
                    caller_of(arguments));
  lookups_see_open(AT_FDCWD, (const char *)arguments[0], writes ? O_WRONLY : O_RDONLY,
                   caller_of(arguments));
  note_open(AT_FDCWD, (const char *)arguments[0], writes ? O_WRONLY : O_RDONLY);
  return NULL;
}

/* The library's own are looked at again only if the program may have closed or replaced one. */
void *look_at_descriptor(const struct passed_call *call, const long *arguments) {
  (void)call;
  if (is_own_descriptor((int)arguments[0])) call_touch(TOUCHED_ASKED);
  threads_see_descriptor(arguments[0]);
  note_number(arguments[0]);
  return NULL;
}

void *look_at_close(const struct passed_call *call, const long *arguments) {
  inherited_let_go(arguments[0]);
  return look_at_descriptor(call, arguments);
}

void *look_at_descriptors(const struct passed_call *call, const long *arguments) {
  (void)call;
  for (int i = 0; i < 2; ++i) {
    if (is_own_descriptor((int)arguments[i])) call_touch(TOUCHED_ASKED);
    threads_see_descriptor(arguments[i]);
  }
  if (arguments[0] != arguments[1]) inherited_let_go(arguments[1]);
  note_number(arguments[1]);
  return NULL;
}

void *look_at_range(const struct passed_call *call, const long *arguments) {
  (void)call;
  (void)arguments;
  inherited_let_all_go();
  return NULL;
}

void note_socket(long level, long option) {
  enum { kRds = 276, kXdp = 283 }; /* <linux/socket.h>: they keep this process's memory */
  if (level == kRds || level == kXdp) call_doubt(RETIRED_CALL, "setsockopt, which shares memory");
  if (level != SOL_SOCKET) return;
  /* With it, data to be sent is read later, from its original place. */
  if (option == SO_ZEROCOPY) call_doubt(RETIRED_CALL, "setsockopt with SO_ZEROCOPY");
  if (option != SO_LINGER) return;
  call_touch(TOUCHED_LINGERS);
  call_doubt(RETIRED_CALL, "setsockopt with SO_LINGER");
}

void *look_at_socket(const struct passed_call *call, const long *arguments) {
  answers_see_socket_option(call->name, arguments, caller_of(arguments));
  note_socket(arguments[1], arguments[2]);
  return NULL;
}

/* ---- signals, memory, the processor ---- */

void *look_at_signal(const struct passed_call *call, const long *arguments) {
  (void)call;
  note_signal((int)arguments[0]);
  return NULL;
}

void *look_at_sigaction(const struct passed_call *call, const long *arguments) {
  (void)call;
  if (arguments[1] == 0) return NULL;
  call_touch(TOUCHED_SIGSYS); /* with a mask */
  note_signal((int)arguments[0]);
  return NULL;
}

void *look_at_madvise(const struct passed_call *call, const long *arguments) {
  (void)call;
  note_madvise((void *)arguments[0], (size_t)arguments[1], (int)arguments[2]);
  return NULL;
}

void *look_at_process_madvise(const struct passed_call *call, const long *arguments) {
  (void)call;
  note_process_madvise((int)arguments[3]);
  return NULL;
}

void *look_at_mprotect(const struct passed_call *call, const long *arguments) {
  (void)call;
  note_mprotect((void *)arguments[0], (size_t)arguments[1], (int)arguments[2]);
  return NULL;
}

static int keep_key(int key) {
  enum { kKeys = 16 };
  return (int)call_result(key > 0 && key < kKeys ? 0 : -EINVAL);
}

/* A protection key of the checkpoint is the next request's as well, so it is freed only as far as
 * the program can see (V8 does so at its end). One of the request's own: pkey_alloc() retires. */
void *look_at_key(const struct passed_call *call, const long *arguments) {
  (void)call;
  (void)arguments;
  int is_put_back = state.role == ROLE_ANSWERING && state.reset == RESET_REWIND;
  return is_put_back && state.doubt == RETIRED_NOT ? (void *)(uintptr_t)keep_key : NULL;
}

/* All except the queries of asm/prctl.h. */
int arch_prctl_only_asks(long code) {
  static const int kQuestions[] = {0x1003, 0x1004, 0x1011, 0x1021, 0x1022,
                                   0x1024, 0x4001, 0x4003, 0x5005};
  for (size_t i = 0; i < sizeof kQuestions / sizeof *kQuestions; ++i) {
    if ((int)code == kQuestions[i]) return 1;
  }
  return 0;
}

void *look_at_arch_prctl(const struct passed_call *call, const long *arguments) {
  if (!arch_prctl_only_asks(arguments[0])) call_doubt(RETIRED_CALL, call->name);
  return NULL;
}
