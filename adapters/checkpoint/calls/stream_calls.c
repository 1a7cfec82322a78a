/* What is done to the descriptors 0, 1 and 2, and to their pipes: see stream_list.h. And what is
 * done to any file that others can hold, and aims at this process. */
#include <fcntl.h>
#include <linux/kd.h>
#include <linux/vt.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "calls/clean.h"
#include "calls/passed_calls.h"
#include "load/load_watch.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/inherited.h"
#include "rewind/pagemap_scan.h"
#include "rewind/threads_missing.h"

static int is_stream(long fd) {
  return fd >= 0 && fd <= 2;
}

void note_number(long fd) {
  if (is_stream((int)fd)) call_touch(TOUCHED_STREAMS);
}

/* Any pipe counts, because a copy of a stream is one, too. */
void note_file_of(long fd) {
  struct stat status;
  if (state.role != ROLE_ANSWERING || state.reset != RESET_REWIND) return;
  if ((state.touched & TOUCHED_STREAMS) != 0) return;
  if (is_stream((int)fd) ||
      (libc_call(SYS_fstat, (int)fd, &status) == 0 && S_ISFIFO(status.st_mode)))
    call_touch(TOUCHED_STREAMS);
}

/* Who has the file, a child for example, can then have the kernel send signals to this process, in
 * a later request. So can a command that nobody knows yet. */
static int sends_signals(int command, long argument) {
  enum { kLockOfFile = 36, kOwnerEx = 16, kOwnerUsers = 17 }; /* <linux/fcntl.h> */
  enum { kFirstOfLinux = 1027, kLastOfLinux = 1038 };         /* F_DUPFD_QUERY to file hints */
  if (command == F_SETFL) return (argument & O_ASYNC) != 0;
  if (command >= F_DUPFD && command <= F_SETLKW) return 0;
  if (command >= kLockOfFile && command <= kLockOfFile + 2) return 0;
  if (command >= kFirstOfLinux && command <= kLastOfLinux) return 0;
  return command != F_GETOWN && command != kOwnerEx && command != kOwnerUsers &&
         command != F_GETSIG && command != F_GETLEASE;
}

void note_fcntl(long fd, long command, long argument) {
  threads_see_descriptor(fd);
  if (sends_signals((int)command, argument))
    return call_doubt(RETIRED_CALL, "fcntl, which has signals sent");
  switch ((int)command) {
    case F_GETFD:
    case F_GETFL:
    case F_GETLK:
    case F_GETOWN:
    case F_GETSIG:
    case F_GETLEASE:
    case F_GETPIPE_SZ:
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return;
    case F_SETFD:
      return note_number(fd);
    default:
      return note_file_of(fd);
  }
}

/* Of a userfaultfd (linux/userfaultfd.h), or a scan of a pagemap: they can make a written page look
 * unwritten. */
static int is_on_marks(unsigned request) {
  enum { kUserfaults = 0xaa };
  return _IOC_TYPE(request) == kUserfaults || (_IOC_TYPE(request) == _IOC_TYPE(PAGEMAP_SCAN_CALL) &&
                                               _IOC_NR(request) == _IOC_NR(PAGEMAP_SCAN_CALL));
}

/* Likewise; or of a terminal, whose signals go to a group of processes. */
static int has_signals_sent(unsigned request) {
  static const unsigned kRequests[] = {FIOASYNC,  FIOSETOWN, SIOCSPGRP,  TIOCSPGRP,
                                       TIOCNOTTY, TIOCSCTTY, VT_SETMODE, KDSIGACCEPT};
  for (size_t i = 0; i < sizeof kRequests / sizeof *kRequests; ++i) {
    if (request == kRequests[i]) return 1;
  }
  return 0;
}

/* A driver may keep the process, or its memory; those of memory (random numbers) and terminals do
 * not. */
static int may_keep_process(long fd) {
  enum { kMemory = 1, kTerminal = 4, kTerminals = 5, kPseudoFirst = 136, kPseudoLast = 143 };
  struct stat status;
  if (state.role != ROLE_ANSWERING || libc_call(SYS_fstat, (int)fd, &status) != 0) return 0;
  unsigned kind = major(status.st_rdev);
  if (S_ISBLK(status.st_mode)) return 1;
  return S_ISCHR(status.st_mode) && kind != kMemory && kind != kTerminal && kind != kTerminals &&
         (kind < kPseudoFirst || kind > kPseudoLast);
}

void note_ioctl(long fd, unsigned request) {
  threads_see_descriptor(fd);
  if (is_on_marks(request)) return call_doubt(RETIRED_CALL, "ioctl on what marks written memory");
  if (has_signals_sent(request)) return call_doubt(RETIRED_CALL, "ioctl, which has signals sent");
  switch (request) {
    case TCGETS:
    case TIOCGWINSZ:
    case TIOCGPGRP:
    case FIONREAD:
      break;
    case FIOCLEX:
    case FIONCLEX:
      note_number(fd);
      break;
    default:
      if (may_keep_process(fd)) call_doubt(RETIRED_CALL, "ioctl on a device");
      note_file_of(fd);
  }
}

void *look_at_ioctl(const struct passed_call *call, const long *arguments) {
  answers_see_ioctl(call->name, arguments, caller_of(arguments));
  note_ioctl(arguments[0], (unsigned)arguments[1]);
  return NULL;
}

/* As long as the file is open, an instance of the checkpoint's watches it. */
void *look_at_epoll_ctl(const struct passed_call *call, const long *arguments) {
  if ((int)arguments[1] != EPOLL_CTL_DEL)
    answers_see_input(call->name, arguments[2], caller_of(arguments));
  threads_see_descriptor(arguments[0]);
  threads_see_descriptor(arguments[2]);
  note_file_of(arguments[2]);
  return NULL;
}

/* Descriptors may be sent along. */
void *look_at_message(const struct passed_call *call, const long *arguments) {
  load_watch_note(IMPURE_SOCKETS, call->name, caller_of(arguments));
  const struct msghdr *message = (const struct msghdr *)arguments[1];
  go_threads_see_wait();
  if (!may_be_memory(message) || message->msg_controllen == 0) return NULL;
  threads_needed();
  call_touch(TOUCHED_STREAMS);
  return NULL;
}

void *look_at_messages(const struct passed_call *call, const long *arguments) {
  load_watch_note(IMPURE_SOCKETS, call->name, caller_of(arguments));
  return look_at_wait_for_all(call, arguments);
}

void *look_at_stream(const struct passed_call *call, const long *arguments) {
  (void)call;
  const FILE *stream = (const FILE *)arguments[0];
  if (stream == NULL) return NULL;
  note_number(stream->_fileno);
  inherited_let_go(stream->_fileno);
  return NULL;
}

void *look_at_freopen(const struct passed_call *call, const long *arguments) {
  look_at_stream(call, arguments + 2);
  return look_at_fopen(call, arguments);
}

/* With "a", the open file is written to at its end, from then on. */
void *look_at_fdopen(const struct passed_call *call, const long *arguments) {
  threads_note_stream((int)arguments[0]);
  note_file_of(arguments[0]);
  return look_at_descriptor(call, arguments);
}

static void *note_lock(const struct passed_call *call, const long *arguments) {
  note_file_of(arguments[0]);
  return look_at_change(call, arguments);
}

/* flock(fd, 0) does nothing, and fails: DBD::File finds out by it whether the call is there. */
void *look_at_lock(const struct passed_call *call, const long *arguments) {
  return (arguments[1] & ~LOCK_NB) == 0 ? NULL : note_lock(call, arguments);
}

/* Other than flock()'s, its locks are the process's. */
void *look_at_lockf(const struct passed_call *call, const long *arguments) {
  inherited_let_go(arguments[0]);
  return note_lock(call, arguments);
}
