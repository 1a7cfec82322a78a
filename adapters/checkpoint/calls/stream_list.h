/* Functions that can change what the descriptors 0, 1 and 2 are, or what their pipes remember, in
 * the form of passed_calls.h; after a request that did, they are not kept for the next. Others that
 * can are watched for other reasons as well: passed_list.h, remembered_list.h, load/load_calls.h.
 */
#ifndef CGIBRIDGE_STREAM_LIST_H
#define CGIBRIDGE_STREAM_LIST_H

#define CALLS_ON_STREAMS(X)                                     \
  X(fclose, 0, RETIRED_NOT, look_at_stream)                     \
  X(_IO_fclose, 0, RETIRED_NOT, look_at_stream)                 \
  X(_IO_file_close, 0, RETIRED_NOT, look_at_stream)             \
  X(_IO_file_close_it, 0, RETIRED_NOT, look_at_stream)          \
  X(_IO_file_finish, 0, RETIRED_NOT, look_at_stream)            \
  X(fcloseall, TOUCHED_STREAMS, RETIRED_NOT, NULL)              \
  X(__fcntl, 0, RETIRED_NOT, look_at_fcntl)                     \
  X(ioctl, 0, RETIRED_NOT, look_at_ioctl)                       \
  X(epoll_ctl, 0, RETIRED_NOT, look_at_epoll_ctl)               \
  X(sendmsg, 0, RETIRED_NOT, look_at_message)                   \
  X(sendmmsg, TOUCHED_STREAMS, RETIRED_NOT, look_at_messages)   \
  X(futimes, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)      \
  X(futimesat, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)    \
  X(lutimes, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)      \
  X(setxattr, TOUCHED_STREAMS, RETIRED_NOT, look_at_attribute)  \
  X(lsetxattr, TOUCHED_STREAMS, RETIRED_NOT, look_at_attribute) \
  X(fsetxattr, TOUCHED_STREAMS, RETIRED_NOT, look_at_attribute) \
  X(removexattr, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)  \
  X(lremovexattr, TOUCHED_STREAMS, RETIRED_NOT, look_at_change) \
  X(fremovexattr, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)

#endif
