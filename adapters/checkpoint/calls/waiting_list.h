/* Functions that wait, and whose wait a signal would end or leave half done, although its handler
 * asks for it to go on (SA_RESTART), in the form of passed_calls.h. Some are watched for other
 * reasons as well: load/load_calls.h, stream_list.h, remembered_list.h. */
#ifndef CGIBRIDGE_WAITING_LIST_H
#define CGIBRIDGE_WAITING_LIST_H

#define CALLS_THAT_WAIT(X)                                \
  X(nanosleep, 0, RETIRED_NOT, look_at_wait)              \
  X(clock_nanosleep, 0, RETIRED_NOT, look_at_wait)        \
  X(usleep, 0, RETIRED_NOT, look_at_wait)                 \
  X(sleep, 0, RETIRED_NOT, look_at_wait)                  \
  X(thrd_sleep, 0, RETIRED_NOT, look_at_wait)             \
  X(pause, 0, RETIRED_NOT, look_at_wait)                  \
  X(poll, 0, RETIRED_NOT, look_at_poll)                   \
  X(__poll, 0, RETIRED_NOT, look_at_poll)                 \
  X(__poll_chk, 0, RETIRED_NOT, look_at_poll)             \
  X(ppoll, 0, RETIRED_NOT, look_at_poll_with_mask)        \
  X(__ppoll_chk, 0, RETIRED_NOT, look_at_poll_with_mask)  \
  X(select, 0, RETIRED_NOT, look_at_select)               \
  X(__select, 0, RETIRED_NOT, look_at_select)             \
  X(pselect, 0, RETIRED_NOT, look_at_select_with_mask)    \
  X(sem_timedwait, 0, RETIRED_NOT, look_at_wait)          \
  X(sem_clockwait, 0, RETIRED_NOT, look_at_wait)          \
  X(sigsuspend, 0, RETIRED_NOT, look_at_wait_with_mask)   \
  X(__sigsuspend, 0, RETIRED_NOT, look_at_wait_with_mask) \
  X(sigwaitinfo, 0, RETIRED_NOT, look_at_awaited_signal)  \
  X(sigtimedwait, 0, RETIRED_NOT, look_at_awaited_signal) \
  X(msgsnd, 0, RETIRED_NOT, look_at_wait)                 \
  X(msgrcv, 0, RETIRED_NOT, look_at_wait)                 \
  X(recv, 0, RETIRED_NOT, look_at_received)               \
  X(__recv_chk, 0, RETIRED_NOT, look_at_received)         \
  X(recvfrom, 0, RETIRED_NOT, look_at_received)           \
  X(__recvfrom_chk, 0, RETIRED_NOT, look_at_received)     \
  X(recvmsg, 0, RETIRED_NOT, look_at_received)            \
  X(recvmmsg, 0, RETIRED_NOT, look_at_received)           \
  X(send, 0, RETIRED_NOT, look_at_wait)                   \
  X(__send, 0, RETIRED_NOT, look_at_wait)                 \
  X(accept, 0, RETIRED_NOT, look_at_wait)                 \
  X(accept4, 0, RETIRED_NOT, look_at_wait)                \
  X(aio_suspend, 0, RETIRED_NOT, look_at_wait)            \
  X(aio_suspend64, 0, RETIRED_NOT, look_at_wait)          \
  X(pwritev2, 0, RETIRED_NOT, look_at_wait_for_all)       \
  X(pwritev64v2, 0, RETIRED_NOT, look_at_wait_for_all)    \
  X(preadv2, 0, RETIRED_NOT, look_at_received)            \
  X(preadv64v2, 0, RETIRED_NOT, look_at_received)         \
  X(sendfile, 0, RETIRED_NOT, look_at_moved)              \
  X(sendfile64, 0, RETIRED_NOT, look_at_moved)            \
  X(splice, 0, RETIRED_NOT, look_at_moved)                \
  X(tee, 0, RETIRED_NOT, look_at_moved)

#endif
