/* The one table of messages between the bridge and its zygotes and workers. It is in C, so that the
 * bridge (bridge/message) and the checkpoint library (adapters/checkpoint) compile the same one.
 *
 * A channel is an AF_UNIX SOCK_SEQPACKET socket; a packet is one message: a message_header followed
 * by the body that its type names. Both ends come from the same build, so integers are native; a
 * header with another magic or version ends the channel. */
#ifndef CGIBRIDGE_MESSAGE_WIRE_H
#define CGIBRIDGE_MESSAGE_WIRE_H

#include <stdint.h>

#include "message/kinds.h"

#define MESSAGE_MAGIC 0x43474942u /* "CGIB" */
#define MESSAGE_VERSION 6u

/* The largest packet to a worker (a request's longer strings travel in a memfd), and from one. */
#define MESSAGE_BYTES_MAX (60u * 1024u)
#define MESSAGE_TO_BRIDGE_MAX (60u * 1024u)
#define MESSAGE_NOTE_MAX 8192u /* of them, all but EXECUTE */
#define MESSAGE_REQUEST_FDS 3  /* of a request, if any: its 0, 1, 2; the memfd comes after them */
#define MESSAGE_FDS_MAX 4
#define MESSAGE_CHECKPOINT_VARIABLE "CGIBRIDGE_CHECKPOINT" /* "fd=N ...": adapters/README.md */
#define MESSAGE_STATIC_VARIABLE "CGIBRIDGE_STATIC"         /* the static executable to run */

enum message_type {
  /* bridge -> zygote */
  MESSAGE_FORK = 1,   /* message_fork, with one descriptor: the new worker's channel */
  MESSAGE_VERIFY = 8, /* message_verify: compare this resting worker with yourself */
  /* zygote -> bridge */
  MESSAGE_CHECKPOINT = 2,  /* message_checkpoint, then why, if the reset is weaker than asked */
  MESSAGE_FORK_FAILED = 3, /* message_fork, then the reason as text */
  MESSAGE_VERIFIED = 9,    /* message_verify, then the first differences as text; none: equal */
  /* bridge -> worker */
  MESSAGE_REQUEST = 4, /* message_request, then its strings (or a memfd with them) */
  MESSAGE_REST = 11,   /* no body; asks a worker that rewinds to send READY as soon as it rests */
  MESSAGE_EXECUTED_BY = 13, /* no body; answers EXECUTE. With a descriptor: another worker has taken
                             * its place, and waits at the other end of that socket for the
                             * request's 0, 1 and 2. Without: the worker executes the file itself */
  MESSAGE_EXECUTED = 14,    /* no body: that other worker has ended the request */
  /* worker -> bridge */
  MESSAGE_READY = 5,    /* message_ready: it waits for a request. Sent once after its fork, for each
                         * REST, and after each reset for which REQUEST_SAY_READY asked */
  MESSAGE_DONE = 6,     /* message_done: the program has ended; then why the worker exits, if so */
  MESSAGE_RETIRED = 10, /* message_retired, then why: it exits although its DONE said that it stays.
                         * A request sent to it since that DONE was not begun */
  MESSAGE_EXECUTE = 12, /* message_execute, then its strings: the program is about to execute a file
                         * in the middle of its request. The worker waits for EXECUTED_BY */
  /* zygote or worker -> bridge */
  MESSAGE_NOTE = 7 /* message_note, then text: something learned or noticed */
};

struct message_header {
  uint32_t magic;
  uint16_t version;
  uint16_t type;
  uint32_t body_bytes; /* after the header in this packet */
};

struct message_fork {
  uint64_t worker_id;
};
struct message_verify {
  uint64_t look_id; /* names this comparison: chosen by the bridge, returned in VERIFIED */
  int32_t pid;
  uint32_t pages; /* in VERIFIED: how many were compared */
};

struct message_checkpoint {
  uint32_t level;   /* enum checkpoint_level */
  uint32_t threads; /* in the zygote; it cannot be forked with more than 1 */
  uint32_t reset;   /* enum checkpoint_reset: what its workers will do */
  uint32_t text_bytes;
};

struct message_ready {
  int32_t pid, reserved;
};

#define REQUEST_IN_MEMFD 1u  /* the strings are the last descriptor's content */
#define REQUEST_SAY_READY 2u /* send READY when the reset after this request is done */
#define REQUEST_KEPT 4u      /* its 0, 1 and 2 are those that the last DONE said are kept */
#define REQUEST_BY_PEER 8u   /* its 0, 1 and 2 come from another worker: see below */

/* REQUEST_BY_PEER: the one descriptor is a SOCK_SEQPACKET socket. From there comes one packet: 0,
 * 1, 2 and the numbers of other descriptors, as ints, with all of these. It is answered by one
 * byte: 1, or 0 if they cannot be taken. (The checkpoint library's inherited.h has what may
 * follow.) */

/* strings_bytes of NUL-terminated strings: cwd, then argc words of argv, then envc of environment.
 * argv[0], and the words that the checkpoint needs before those of the query, are the program's
 * own, exactly as execve() would give them. */
struct message_request {
  uint64_t request_id;
  uint32_t argc, envc, strings_bytes, flags;
};

/* stays, if 1: the worker resets itself and takes another request, which may be sent at once. If it
 * dies before reading that one, the channel reports ECONNRESET, otherwise end of file. */
struct message_done {
  uint64_t request_id;
  int32_t exit_code;
  uint32_t stays;
  uint32_t retirement; /* enum retirement, if it exits */
  /* Of the rewind before this request: enum page_tracking (0: there was none), pages, duration. */
  uint32_t tracking, pages, microseconds;
  uint32_t text_bytes;
  uint32_t cpu_microseconds; /* of the program and the children that it waited for */
  uint32_t peak_kib;         /* peak resident memory in the process's life */
  uint32_t unusual;          /* what few requests do: DONE_ bits */
  /* If 1, its 0, 1, 2 stay open for a request with REQUEST_KEPT, or until others come. It only read
   * from 0, which is empty and at its end, and wrote to 1 and 2; nobody else has them. */
  uint32_t keeps_streams, reserved;
};
#define DONE_RARE_CALL 1u /* a call that changes kernel state */
#define DONE_FORKED 2u    /* it had children, and waited for them */
#define DONE_ASKED 4u     /* the kernel was asked what else it changed */
#define DONE_WALKED 8u    /* the rewind before it looked for changed pages: they were not known */

/* strings_bytes of NUL-terminated strings: the current folder, an absolute path; the file's path,
 * as it was given; then argc words of argv, then envc of environment. If the packet has no room for
 * them, strings_bytes is 0, and they are the content of its descriptor, a memfd that is sealed. */
struct message_execute {
  uint64_t request_id;
  uint64_t device, inode; /* of the file, as the worker finds it */
  uint32_t argc, envc, strings_bytes;
  uint32_t ignored; /* signals; bit 0 is signal 1 */
};
#define MESSAGE_EXECUTE_STRINGS_MAX (2u * 1024u * 1024u)
#define MESSAGE_EXECUTES_MAX 8u /* in a request; after that the worker does not ask */

struct message_retired {
  uint32_t retirement, text_bytes; /* enum retirement */
};

struct message_note {
  uint32_t kind, text_bytes; /* enum note_kind */
};

#endif
