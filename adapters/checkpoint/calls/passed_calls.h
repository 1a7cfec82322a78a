/* Functions of libc that are noted and passed on as they came, whatever their arguments are. */
#ifndef CGIBRIDGE_PASSED_CALLS_H
#define CGIBRIDGE_PASSED_CALLS_H

#include "calls/passed_list.h"
#include "calls/rare_calls.h"

struct passed_call;
/* Looks at the first six arguments. Returns the function to call instead, or NULL. */
typedef void *look_function(const struct passed_call *call, const long *arguments);

struct passed_call {
  void *real;
  const char *name;
  unsigned touched;      /* enum touched */
  enum retirement doubt; /* RETIRED_NOT: none */
  look_function *look;
};

look_function look_at_dlsym, look_at_dlvsym, look_at_dlopen, look_at_dlmopen, look_at_signal,
    look_at_sigaction, look_at_socket;
look_function look_at_handle, look_at_open, look_at_openat, look_at_creat, look_at_fopen;
look_function look_at_path, look_at_path_in, look_at_shared_file, look_at_attribute;
look_function look_at_descriptor, look_at_descriptors, look_at_close, look_at_range;
/* stream_calls.c */
look_function look_at_stream, look_at_freopen, look_at_fdopen, look_at_ioctl, look_at_epoll_ctl,
    look_at_message, look_at_messages, look_at_lock, look_at_lockf;
/* children.c */
look_function look_at_clone;
extern struct passed_call passed_clone;

look_function look_at_wait; /* go/threads.c */
/* waking_calls.c */
look_function look_at_condition, look_at_semaphore, look_at_rwlock, look_at_thread, look_at_threads,
    look_at_awaited, look_at_wait_for_all, look_at_wait_with_mask;
/* go/linked.c */
look_function look_at_thrd_create, look_at_unseen_thread;
extern struct passed_call passed_thrd_create;
look_function look_at_key, look_at_madvise, look_at_process_madvise, look_at_mprotect,
    look_at_arch_prctl, look_at_openat2;

/* processor_time.c */
look_function look_at_getrusage, look_at_processor_time, look_at_times;

/* load_watch.c */
look_function look_at_random, look_at_time, look_at_pid, look_at_child, look_at_connection;
look_function look_at_change, look_at_link, look_at_clock, look_at_input, look_at_output,
    look_at_fcntl;
look_function look_at_machine, look_at_auxiliary;
look_function look_at_maker; /* named_files.c */
look_function look_at_seed;  /* seeds.c */
extern struct passed_call passed_time;
extern struct passed_call passed_writev;

/* answers_of_files.c, answers_of_others.c */
look_function look_at_status, look_at_status_in, look_at_status_of, look_at_old_status,
    look_at_old_status_in, look_at_old_status_of, look_at_place, look_at_working_folder,
    look_at_room, look_at_room_of, look_at_setting;
look_function look_at_folder, look_at_folder_in, look_at_opened_folder, look_at_listing,
    look_at_listed, look_at_trees;
look_function look_at_poll, look_at_poll_with_mask, look_at_select, look_at_select_with_mask,
    look_at_moved, look_at_received, look_at_option, look_at_address;
look_function look_at_sent, look_at_sent_to_thread, look_at_sender, look_at_awaited_signal,
    look_at_thread_clock, look_at_processor;
extern struct passed_call passed_raise, passed_killpg, passed_tgkill, passed_pidfd_send_signal;
look_function look_at_schedule, look_at_priority;

/* Where the address that the function returns to is found after its arguments. */
#if defined(__x86_64__)
enum { kReturnAddressAt = 7 };
#else
enum { kReturnAddressAt = 9 };
#endif

static inline const void *caller_of(const long *arguments) {
  return (const void *)arguments[kReturnAddressAt];
}

/* Finds all of them now, so that no request that is put back has to: this library's own code calls
 * them, too. */
void passed_calls_find(void);
/* The function that this caller would find instead of ours; or NULL. */
void *passed_call_find(struct passed_call *call, const void *caller);
/* libc_symbols.c: an address in this process's libc, found without the loader's help; NULL: it has
 * none. */
void *libc_symbol(const char *name);
/* The same in the caller's library and those it needs; in any library. (dlsym() would keep a
 * message for the program's own dlerror() in its heap, if none has it.) */
void *symbol_for(const char *name, const void *caller);
void *any_symbol(const char *name);
int is_of_this_library(const void *address);
void *passed_dlsym_of_libc(void *library, const char *name);

#endif
