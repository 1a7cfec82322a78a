/* One packet is one message. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "checkpoint.h"

enum { kSendTimeoutMs = 1000 };

void channel_adopt(int fd) {
  struct stat status;
  state.channel = fd;
  if (fstat(fd, &status) != 0) return;
  state.channel_dev = status.st_dev;
  state.channel_ino = status.st_ino;
}

int channel_is_ours(void) {
  struct stat status;
  return fstat(state.channel, &status) == 0 && status.st_dev == state.channel_dev &&
         status.st_ino == state.channel_ino;
}

int channel_send(enum message_type type, const void *body, size_t body_bytes, const void *text,
                 size_t text_bytes, enum patience patience) {
  struct message_header header = {.magic = MESSAGE_MAGIC,
                                  .version = MESSAGE_VERSION,
                                  .type = (uint16_t)type,
                                  .body_bytes = (uint32_t)(body_bytes + text_bytes)};
  struct iovec parts[3] = {{&header, sizeof header},
                           {(void *)(uintptr_t)body, body_bytes},
                           {(void *)(uintptr_t)text, text_bytes}};
  struct msghdr packet = {.msg_iov = parts, .msg_iovlen = 3};
  if (!channel_is_ours()) return -1;
  for (int waited = 0;;) {
    if (sendmsg(state.channel, &packet, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || patience == PATIENCE_NONE || waited) return -1;
    struct pollfd writable = {.fd = state.channel, .events = POLLOUT};
    poll(&writable, 1, kSendTimeoutMs);
    waited = 1;
  }
}

void channel_note(enum note_kind kind, const char *text, size_t text_bytes) {
  const size_t most =
      MESSAGE_NOTE_MAX - sizeof(struct message_header) - sizeof(struct message_note);
  const int is_list = kind == NOTE_FILE || kind == NOTE_READ || kind == NOTE_FOLDERS;
  size_t piece = 0;
  do {
    text += piece;
    piece = text_bytes < most ? text_bytes : most;
    /* A list continues in another note, after the end of a line. */
    const char *end = is_list && piece < text_bytes ? memrchr(text, '\n', piece) : NULL;
    if (end != NULL) piece = (size_t)(end - text) + 1;
    struct message_note body = {.kind = (uint32_t)kind, .text_bytes = (uint32_t)piece};
    /* A zygote may wait for its bridge, a request may not. */
    channel_send(MESSAGE_NOTE, &body, sizeof body, text, piece,
                 state.role == ROLE_ZYGOTE ? PATIENCE_SECOND : PATIENCE_NONE);
    text_bytes -= piece;
  } while (is_list && text_bytes > 0);
}

static void take_fds(struct msghdr *packet, int *fds, int *fd_count) {
  *fd_count = 0;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(packet); part; part = CMSG_NXTHDR(packet, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count && *fd_count < MESSAGE_FDS_MAX; ++i) {
      memcpy(&fds[(*fd_count)++], CMSG_DATA(part) + i * sizeof(int), sizeof(int));
    }
  }
}

ssize_t channel_receive(uint16_t *type, void *body, size_t body_max, int *fds, int *fd_count) {
  struct message_header header;
  struct iovec parts[2] = {{&header, sizeof header}, {body, body_max}};
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
  struct msghdr packet = {
      .msg_iov = parts, .msg_iovlen = 2, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t count;
  do {
    count = recvmsg(state.channel, &packet, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < (ssize_t)sizeof header || (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return -1;
  take_fds(&packet, fds, fd_count);
  if (header.magic != MESSAGE_MAGIC || header.version != MESSAGE_VERSION) return -1;
  if (header.body_bytes != (size_t)count - sizeof header) return -1;
  *type = header.type;
  return (ssize_t)header.body_bytes;
}
