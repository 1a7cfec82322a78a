/* The messages between the bridge and its zygotes and workers: the one table of them, in C, so that
 * the bridge (bridge/message) and the checkpoint library (adapters/checkpoint) compile the same.
 *
 * A channel is an AF_UNIX SOCK_SEQPACKET socket; a packet is one message: a message_header followed
 * by the body that its type names. Both ends run on one machine, from one build: integers are
 * native, and a header whose magic or version differs ends the channel.
 */
#ifndef CGIBRIDGE_MESSAGE_WIRE_H
#define CGIBRIDGE_MESSAGE_WIRE_H

#include <stdint.h>

#define MESSAGE_MAGIC 0x43474942u /* "CGIB" */
#define MESSAGE_VERSION 1u

/* The largest packet on a channel. A request whose strings do not fit travels in a memfd. */
#define MESSAGE_BYTES_MAX (60u * 1024u)

/* Descriptors that a request carries, in this order; the strings' memfd is the fourth, if any. */
#define MESSAGE_REQUEST_FDS 3
#define MESSAGE_FDS_MAX 4

/* The environment variable that names a zygote's control channel and how it is to stop:
 * "fd=N" with further " key=value" words (see adapters/README.md). */
#define MESSAGE_CHECKPOINT_VARIABLE "CGIBRIDGE_CHECKPOINT"

enum message_type {
  /* bridge -> zygote */
  MESSAGE_FORK = 1, /* message_fork, with one descriptor: the new worker's channel */
  /* zygote -> bridge */
  MESSAGE_CHECKPOINT = 2,  /* message_checkpoint: the zygote stands at its checkpoint */
  MESSAGE_FORK_FAILED = 3, /* message_fork, then the reason as text */
  /* bridge -> worker */
  MESSAGE_REQUEST = 4, /* message_request, then its strings (or a memfd with them) */
  /* worker -> bridge */
  MESSAGE_READY = 5, /* message_ready: this worker waits for a request */
  MESSAGE_DONE = 6,  /* message_done: the program came to its own end */
  /* zygote or worker -> bridge */
  MESSAGE_NOTE = 7 /* message_note, then text: something learned or noticed */
};

enum checkpoint_level { LEVEL_LINKED = 1, LEVEL_BOOTED = 2, LEVEL_COMPILED = 3 };

enum note_kind {
  NOTE_LOADED = 1,    /* a module that the program loaded after the checkpoint; text: its name */
  NOTE_SHALLOWER = 2, /* the program does not bear this level; text: why (then the zygote exits) */
  NOTE_WARNING = 3,   /* worth a line in the log; text */
  NOTE_FILE = 4 /* files whose content is part of the checkpoint, one path a line; a change of one
                 * of them starts a new generation */
};

struct message_header {
  uint32_t magic;
  uint16_t version;
  uint16_t type;
  uint32_t body_bytes; /* what follows the header in this packet */
};

struct message_fork {
  uint64_t worker_id;
};

struct message_checkpoint {
  uint32_t level;   /* enum checkpoint_level */
  uint32_t threads; /* of the zygote; more than 1 cannot be forked */
};

struct message_ready {
  int32_t pid;
  uint32_t reserved;
};

/* strings_bytes of NUL-terminated strings: cwd, then argc words of argv, then envc of environment.
 * argv[0] and the words that the checkpoint needs before the query's are the program's own, exactly
 * as execve() would give them. in_memfd: the strings are the fourth descriptor's content. */
struct message_request {
  uint64_t request_id;
  uint32_t argc;
  uint32_t envc;
  uint32_t strings_bytes;
  uint32_t in_memfd;
};

struct message_done {
  uint64_t request_id;
  int32_t exit_code;
  uint32_t reserved;
};

struct message_note {
  uint32_t kind; /* enum note_kind */
  uint32_t text_bytes;
};

#endif
