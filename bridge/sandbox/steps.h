/* What cgibridge-step-down (adapters/step_down/) has to do before it executes a program: a list of
 * steps, in a file in memory, which it carries out one by one. In C, because both sides read it.
 *
 * There are two kinds of lists. One makes the namespaces of a program, once, and ends with
 * STEP_READY: the bridge opens what it keeps of them, /proc/PID/ns/..., while the process waits.
 * The other enters them, at every start of a process, and drops what must not be available inside.
 */
#ifndef CGIBRIDGE_SANDBOX_STEPS_H
#define CGIBRIDGE_SANDBOX_STEPS_H

#include <stdint.h>

enum step_kind {
  /* To make namespaces. */
  STEP_UNSHARE = 1, /* a: CLONE_NEW... */
  STEP_MAP_IDS,     /* a, b: the user and group that are the same inside a namespace of users */
  STEP_PRIVATE,     /* later mounts are not seen outside, nor the other way round */
  STEP_TAKE,        /* a: a slot for the mounts at `text`. b: STEP_OPTIONAL */
  STEP_ROOT,        /* a copy of all mounts becomes "/". a: MOUNT_ATTR_... of all of them */
  STEP_TMPFS,       /* a new one at `text`, with the options after it. b: STEP_OPTIONAL */
  STEP_PUT,         /* a: slot, to `text`. b: STEP_MAKE_FOLDER, STEP_READ_ONLY */
  STEP_CLOSE_OFF,   /* nothing at `text` or below can be written to. b: STEP_OPTIONAL */
  STEP_LOOPBACK,    /* brings up lo */
  STEP_READY,       /* reports to the bridge, waits for it, and ends */
  /* To enter them. */
  STEP_JOIN,              /* a: descriptor of a namespace; b: CLONE_NEW... */
  STEP_CHANGE_ROOT,       /* a: descriptor of a folder */
  STEP_DROP_CAPABILITIES, /* a: a bit for each; from the bounding set, for good */
  STEP_LANDLOCK,          /* a: LANDLOCK_ACCESS_FS_... to control; b: LANDLOCK_SCOPE_... */
  STEP_ALLOW,             /* a: what is allowed at `text` if it is a folder; b: if it is not */
  STEP_BECOME,            /* the user that the bridge named */
  STEP_NO_NEW_PRIVILEGES,
  STEP_ENFORCE, /* the rules of STEP_LANDLOCK */
  STEP_FILTER   /* payload: struct sock_filter... */
};

enum { STEP_OPTIONAL = 1, STEP_MAKE_FOLDER = 2, STEP_READ_ONLY = 4 };
enum { STEP_SLOTS = 64, STEP_ALIGN = 8, STEP_MAX_BYTES = 1 << 20 };

/* `size` bytes of payload follow, padded to STEP_ALIGN. Texts end with a zero. */
struct sandbox_step {
  uint32_t kind;
  uint32_t size;
  uint64_t a;
  uint64_t b;
};

#endif
