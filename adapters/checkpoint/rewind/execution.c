/* See execution.h. The strings are in the packet or, if they are too long or too many for one, in a
 * memfd. */
#include "rewind/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "calls/rare_calls.h"
#include "message/wire.h"
#include "raw_call.h"

enum { kPartsMax = 1000, kStringMax = 128 * 1024 };

/* Not on the stack, which may be a small one. */
static struct letter {
  struct message_header header;
  struct message_execute body;
  struct iovec parts[kPartsMax];
  size_t count, bytes, strings_bytes;
  int memfd; /* -1: all is in the packet */
} letter;
static char folder[PATH_MAX];

/* ---- the strings ---- */

/* Writes into the memfd what has gathered. */
static int flush(void) {
  struct iovec *part = letter.parts, *end = part + letter.count;
  while (part < end) {
    long written = raw_call(SYS_writev, letter.memfd, part, end - part);
    if (written == -EINTR) continue;
    if (written <= 0) return -1;
    for (; part < end && (size_t)written >= part->iov_len; ++part) written -= (long)part->iov_len;
    if (part == end) break;
    part->iov_base = (char *)part->iov_base + written;
    part->iov_len -= (size_t)written;
  }
  letter.count = letter.bytes = 0;
  return 0;
}

static int add(const void *part, size_t bytes) {
  if (letter.count == kPartsMax || bytes > MESSAGE_TO_BRIDGE_MAX - letter.bytes) {
    if (letter.memfd < 0 || flush() != 0) return -1;
  }
  letter.parts[letter.count++] = (struct iovec){(void *)(uintptr_t)part, bytes};
  letter.bytes += bytes < MESSAGE_TO_BRIDGE_MAX ? bytes : MESSAGE_TO_BRIDGE_MAX;
  return 0;
}

static int add_string(const char *string) {
  if (!may_be_memory(string)) return -1;
  size_t bytes = strlen(string) + 1;
  letter.strings_bytes += bytes;
  if (bytes > kStringMax || letter.strings_bytes > MESSAGE_EXECUTE_STRINGS_MAX) return -1;
  return add(string, bytes);
}

static int add_strings(char *const *strings, uint32_t *count) {
  for (*count = 0; strings != NULL && *strings != NULL; ++strings, ++*count) {
    if (add_string(*strings) != 0) return -1;
  }
  return 0;
}

static int add_all(const struct execution *execution) {
  letter.strings_bytes = 0;
  return add_string(folder) != 0 || add_string(execution->path) != 0 ||
                 add_strings(execution->argv, &letter.body.argc) != 0 ||
                 add_strings(execution->envp, &letter.body.envc) != 0
             ? -1
             : 0;
}

/* execve(2): a quarter of the stack's limit, pointers included, and at least 128 KiB. */
static int kernel_takes(void) {
  struct rlimit stack;
  uint64_t pointers = (uint64_t)letter.body.argc + letter.body.envc + 2;
  uint64_t wanted = letter.strings_bytes + pointers * sizeof(char *) + 2 * PATH_MAX;
  if (wanted <= kStringMax) return 1;
  return raw_call(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &stack) == 0 &&
         wanted <= stack.rlim_cur / 4;
}

/* ---- the packet ---- */

static int fill_packet(const struct execution *execution) {
  letter.count = letter.bytes = 0;
  letter.memfd = -1;
  return add(&letter.header, sizeof letter.header) != 0 ||
                 add(&letter.body, sizeof letter.body) != 0
             ? -1
             : add_all(execution);
}

static int fill_memfd(const struct execution *execution) {
  letter.count = letter.bytes = 0;
  letter.memfd =
      (int)raw_call(SYS_memfd_create, "cgibridge-execute", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (letter.memfd < 0 || add_all(execution) != 0 || flush() != 0 ||
      raw_call(SYS_fcntl, letter.memfd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK) != 0) {
    return -1;
  }
  letter.parts[0] = (struct iovec){&letter.header, sizeof letter.header};
  letter.parts[1] = (struct iovec){&letter.body, sizeof letter.body};
  letter.count = 2;
  return 0;
}

static long send_packet(int channel) {
  struct msghdr packet = {.msg_iov = letter.parts, .msg_iovlen = letter.count};
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
  if (letter.memfd >= 0) {
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&packet);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &letter.memfd, sizeof(int));
  }
  return raw_call(SYS_sendmsg, channel, &packet, MSG_NOSIGNAL);
}

long execution_send(int channel, uint64_t request_id, const struct execution *execution) {
  long bytes = raw_call(SYS_getcwd, folder, sizeof folder), result = -1;
  /* One that cannot be reached has a path that begins otherwise. */
  if (bytes <= 0 || folder[0] != '/' || execution->argv[0] == NULL) return -1;
  letter.body = (struct message_execute){.request_id = request_id,
                                         .device = execution->file.st_dev,
                                         .inode = execution->file.st_ino,
                                         .ignored = execution->ignored};
  int is_filled = fill_packet(execution) == 0;
  if (is_filled) letter.body.strings_bytes = (uint32_t)letter.strings_bytes;
  if (!is_filled) is_filled = fill_memfd(execution) == 0;
  letter.header = (struct message_header){
      .magic = MESSAGE_MAGIC,
      .version = MESSAGE_VERSION,
      .type = MESSAGE_EXECUTE,
      .body_bytes = (uint32_t)sizeof letter.body + letter.body.strings_bytes,
  };
  if (is_filled && kernel_takes()) result = send_packet(channel);
  if (letter.memfd >= 0) raw_call(SYS_close, letter.memfd);
  return result;
}
