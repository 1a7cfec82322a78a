/* What numbers in the messages of wire.h mean. */
#ifndef CGIBRIDGE_MESSAGE_KINDS_H
#define CGIBRIDGE_MESSAGE_KINDS_H

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
  RETIRED_CHILDREN = 2,    /* a child that runs on */
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

#endif
