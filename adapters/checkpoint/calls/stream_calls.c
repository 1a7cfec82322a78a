/* What is done to the descriptors 0, 1 and 2, and to their pipes: see stream_list.h. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

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

void note_fcntl(long fd, long command) {
  threads_see_descriptor(fd);
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

void note_ioctl(long fd, unsigned request) {
  threads_see_descriptor(fd);
  if (is_on_marks(request)) return call_doubt(RETIRED_CALL, "ioctl on what marks written memory");
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
      note_file_of(fd);
  }
}

void *look_at_ioctl(const struct passed_call *call, const long *arguments) {
  (void)call;
  note_ioctl(arguments[0], (unsigned)arguments[1]);
  return NULL;
}

/* As long as the file is open, an instance of the checkpoint's watches it. */
void *look_at_epoll_ctl(const struct passed_call *call, const long *arguments) {
  (void)call;
  threads_see_descriptor(arguments[0]);
  threads_see_descriptor(arguments[2]);
  note_file_of(arguments[2]);
  return NULL;
}

/* Descriptors may be sent along. */
void *look_at_message(const struct passed_call *call, const long *arguments) {
  (void)call;
  const struct msghdr *message = (const struct msghdr *)arguments[1];
  go_threads_see_wait();
  if (!may_be_memory(message) || message->msg_controllen == 0) return NULL;
  threads_needed();
  call_touch(TOUCHED_STREAMS);
  return NULL;
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

void *look_at_lock(const struct passed_call *call, const long *arguments) {
  note_file_of(arguments[0]);
  return look_at_change(call, arguments);
}

/* Other than flock()'s, its locks are the process's. */
void *look_at_lockf(const struct passed_call *call, const long *arguments) {
  inherited_let_go(arguments[0]);
  return look_at_lock(call, arguments);
}
