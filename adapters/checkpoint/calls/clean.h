/* Whether a request is clean: it made no call whose effect the kernel keeps for the process, apart
 * from memory, signal actions and descriptors, which are checked separately. After a clean request
 * the kernel is not asked for what cannot have changed.
 *
 * That is known only where no call goes unnoticed. libc's functions that leave something are
 * interposed (libc_functions.txt), and make it unclean by call_touch(). All other system calls of
 * the thread, by the program's own instruction, the loader's, or another copy of libc, are handed
 * back by the kernel before they are made (PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11, x86-64): the
 * first one makes it unclean. It is noted by its number, and made, and so are all that follow.
 * Where the kernel does not offer that, no request is clean; static executables have all their
 * calls handed back, and these are classified by number.
 *
 * The kernel reads state.hands_back itself: while it is 0, it hands no call back. The signal by
 * which it does, SIGSYS, must not be blocked meanwhile, nor be seen. So calls pass unseen from the
 * moment when the program blocks it, sets an action for it or looks at its own, makes a child or a
 * thread, or does what costs the worker in any case. */
#ifndef CGIBRIDGE_CLEAN_H
#define CGIBRIDGE_CLEAN_H

#include <signal.h>
#include <stddef.h>

#include "raw_call.h"
#include "rewind/kernel_state.h"
#include "smaps.h"

struct engine;

struct clean_watch {
  struct address_range code; /* libc's */
  uintptr_t restorer;        /* where libc has a handler return to; it is in libc's code */
  int knows_calls, hands_back_calls;
  int has_handlers;            /* of signals, at the checkpoint */
  uint64_t opened_masks;       /* of signals whose handlers do not block ours, as they wanted */
  struct signal_action action; /* for the calls that are handed back */
  unsigned answered;           /* the request's calls that only read something */
};

/* The first in the zygote; then, in a new worker that is put back, without libc. */
void clean_find_libc(struct engine *engine);
void clean_watch(struct engine *engine);
/* Where calls are handed back: also if the program has told the kernel otherwise. 0 or -1 */
int clean_watch_again(const struct engine *engine);
/* At the beginning of a request, when this library has nothing more to do in it. */
void clean_begin(void);
/* At its end, before any signal is blocked. */
void clean_end(void);
/* From here on it is not clean. */
void clean_leave(void);
/* From here on no call is handed back, and the signal's action is the program's. */
void calls_pass(void);
/* The program is about to change its mask in this way; or opens this file, perhaps to see which
 * signals are handled. */
void clean_note_mask(int how, const sigset_t *mask);
/* Whether the program's action for this signal blocks SIGSYS, although the kernel was told not to.
 */
int clean_opened_mask_of(int number);
/* A mask for as long as it waits: the handlers that run then may make calls. */
void clean_note_waiting_mask(const sigset_t *mask);
void clean_note_path(const char *path);

/* Whether a call with this number leaves nothing, or only what is noted elsewhere. */
int call_leaves_nothing(long number, const long *words);
/* Whether a descriptor is the library's own, in a request of a worker that is put back. */
int is_own_descriptor(long fd);

/* A call that this library makes in a request, by libc's instruction, which is not handed back; the
 * kernel's result, and no errno: libc_call(SYS_x, up to six arguments). */
long call_by_libc(long number, long a, long b, long c, long d, long e, long f);
#define libc_call(...) RAW_PICK(__VA_ARGS__)(call_by_libc, __VA_ARGS__)

#endif
