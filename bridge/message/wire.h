/* The one table of messages between the bridge and its zygotes and workers. It is in C, so that the
 * bridge (bridge/message) and the checkpoint library (adapters/checkpoint) compile the same one.
 *
 * A channel is an AF_UNIX SOCK_SEQPACKET socket; a packet is one message: a message_header followed
 * by the body that its type names. Both ends come from the same build, so integers are native; a
 * header with another magic or version ends the channel. */
#ifndef CGIBRIDGE_MESSAGE_WIRE_H
#define CGIBRIDGE_MESSAGE_WIRE_H

#include <stdint.h>

#define MESSAGE_MAGIC 0x43474942u /* "CGIB" */
#define MESSAGE_VERSION 5u

/* The largest packet to a worker (a request's longer strings travel in a memfd), and from one. */
#define MESSAGE_BYTES_MAX (60u * 1024u)
#define MESSAGE_TO_BRIDGE_MAX 8192u
#define MESSAGE_REQUEST_FDS 3 /* of a request, if any: its 0, 1, 2; the memfd comes after them */
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
  /* worker -> bridge */
  MESSAGE_READY = 5,    /* message_ready: it waits for a request. Sent once after its fork, for each
                         * REST, and after each reset for which REQUEST_SAY_READY asked */
  MESSAGE_DONE = 6,     /* message_done: the program has ended; then why the worker exits, if so */
  MESSAGE_RETIRED = 10, /* message_retired, then why: it exits although its DONE said that it stays.
                         * A request sent to it since that DONE was not begun */
  /* zygote or worker -> bridge */
  MESSAGE_NOTE = 7 /* message_note, then text: something learned or noticed */
};

enum checkpoint_level { LEVEL_LINKED = 1, LEVEL_BOOTED = 2, LEVEL_COMPILED = 3 };
enum checkpoint_reset { RESET_FORK = 1, RESET_REWIND = 2, RESET_NONE = 3 };

/* How a rewinding worker finds the pages that changed. */
enum page_tracking {
  TRACKING_AUTO = 0,
  TRACKING_COMPARE = 1,    /* compares every page with the snapshot */
  TRACKING_SCAN = 2,       /* userfaultfd write-protection and PAGEMAP_SCAN (Linux 6.7) */
  TRACKING_SOFT_DIRTY = 3, /* clear_refs and pagemap (CONFIG_MEM_SOFT_DIRTY) */
};

/* Why a worker exits instead of serving another request. */
enum retirement {
  RETIRED_NOT = 0,
  RETIRED_THREADS = 1,     /* a thread cannot be ended, or another process shares this memory */
  RETIRED_CHILDREN = 2,    /* a child that was not waited for */
  RETIRED_IDENTITY = 3,    /* user, group, capability, seccomp, namespace, root */
  RETIRED_SESSION = 4,     /* a new session, or another process group */
  RETIRED_LIMITS = 5,      /* a limit, priority or schedule that cannot be restored */
  RETIRED_DESCRIPTORS = 6, /* one that was open at the checkpoint is lost */
  RETIRED_MAPPINGS = 7,    /* a mapping of the checkpoint cannot be restored */
  RETIRED_CALL = 8,        /* made a call whose effect cannot be undone */
  RETIRED_VERIFY = 9,      /* differed from its zygote */
  RETIRED_FAULT = 10,      /* the reset itself failed */
  RETIREMENTS
};

enum note_kind {
  NOTE_LOADED = 1,    /* a module that a request loaded; text: its name, '\n', its file's path */
  NOTE_SHALLOWER = 2, /* the program does not support this level; text: why; the zygote exits */
  NOTE_WARNING = 3,   /* worth a line in the log; text */
  NOTE_FILE = 4,      /* files the checkpoint is made of, one per line; a change renews it */
  NOTE_FOLDERS = 5,   /* from a zygote: where its interpreter looks for modules, one per line */
  NOTE_READ = 6,      /* variables that were read before the checkpoint, one name per line */
  NOTE_LEVEL = 7      /* from a zygote: why its level will be shallower than asked for */
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

struct message_retired {
  uint32_t retirement, text_bytes; /* enum retirement */
};

struct message_note {
  uint32_t kind, text_bytes; /* enum note_kind */
};

#endif
