/* See take_request.h. */
#include "rewind/take_request.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/inherited.h"

/* How many descriptors came; -1: something else did. */
static int fds_of(const struct msghdr *packet, int fds[MESSAGE_FDS_MAX]) {
  const struct cmsghdr *part = CMSG_FIRSTHDR(packet);
  if (part == NULL) return 0;
  size_t bytes = part->cmsg_len - CMSG_LEN(0);
  if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
      bytes > MESSAGE_FDS_MAX * sizeof(int)) {
    return -1;
  }
  memcpy(fds, CMSG_DATA(part), bytes);
  return (int)(bytes / sizeof(int));
}

/* Descriptors get the lowest free numbers: with nothing open below ours they become 0, 1 and 2. If
 * those of the last request were kept, they are replaced. */
static int take_streams(const struct engine *engine, const int *fds) {
  if (!engine->keeps_streams) return fds[0] == 0 && fds[1] == 1 && fds[2] == 2 ? 0 : -1;
  for (int i = 0; i < MESSAGE_REQUEST_FDS; ++i) {
    if (fds[i] < MESSAGE_REQUEST_FDS || raw_call(SYS_dup3, fds[i], i, 0) != i) return -1;
    raw_call(SYS_close, fds[i]);
  }
  return 0;
}

/* memfd: with the request's strings, if it has one. */
static int take_descriptors(const struct engine *engine, const struct msghdr *packet, int *memfd) {
  int fds[MESSAGE_FDS_MAX] = {-1, -1, -1, -1};
  unsigned flags = engine->packet.head.flags;
  int with_memfd = (flags & REQUEST_IN_MEMFD) != 0;
  int are_kept = (flags & REQUEST_KEPT) != 0, by_peer = (flags & REQUEST_BY_PEER) != 0;
  int streams = are_kept ? 0 : by_peer ? 1 : MESSAGE_REQUEST_FDS;
  if (fds_of(packet, fds) != streams + with_memfd) return -1;
  if (with_memfd) *memfd = fds[streams];
  if (are_kept) return engine->keeps_streams ? 0 : -1;
  if (by_peer) {
    if (with_memfd) *memfd = descriptor_move_aside(*memfd);
    return inherited_take(fds[0]);
  }
  return take_streams(engine, fds);
}

static char *map_strings(struct engine *engine, int memfd, size_t bytes) {
  long text = raw_call(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, memfd, 0);
  raw_call(SYS_close, memfd);
  if (text < 0 && text > -4096) return NULL;
  engine->big_text = (char *)text;
  engine->big_text_bytes = bytes;
  return engine->big_text;
}

int take_request(struct engine *engine, long (*say_ready)(struct engine *)) {
  struct message_header header;
  struct packet *packet = &engine->packet;
  struct iovec parts[2] = {{&header, sizeof header}, {packet, sizeof *packet}};
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
  struct msghdr call = {
      .msg_iov = parts, .msg_iovlen = 2, .msg_control = control, .msg_controllen = sizeof control};
  long got;
  for (;;) {
    got = raw_call(SYS_recvmsg, engine->channel, &call, 0);
    if (got == -EINTR) continue;
    if (got != (long)sizeof header || header.type != MESSAGE_REST) break;
    if (say_ready(engine) < 0) give_up(0);
    call.msg_controllen = sizeof control;
  }
  if (got <= 0) give_up(0);
  size_t strings = (size_t)got - sizeof header - sizeof packet->head;
  int with_memfd = (packet->head.flags & REQUEST_IN_MEMFD) != 0, memfd = -1;
  if (got < (long)(sizeof header + sizeof packet->head) || header.type != MESSAGE_REQUEST ||
      header.magic != MESSAGE_MAGIC || header.version != MESSAGE_VERSION ||
      (call.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
      take_descriptors(engine, &call, &memfd) != 0) {
    return -1;
  }
  if (with_memfd) return map_strings(engine, memfd, packet->head.strings_bytes) ? 0 : -1;
  return strings == packet->head.strings_bytes ? 0 : -1;
}
