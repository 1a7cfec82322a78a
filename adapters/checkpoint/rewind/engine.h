/* The rewind engine: what its files share.
 *
 * A zygote takes the snapshot at its checkpoint, in the middle of a fork that never happens: after
 * the fork handlers' prepare, before their child part. Each worker puts its memory back to exactly
 * that state, waits there for a request, and continues from there as the child of a fork. So a
 * rewound worker is the same as one that was just forked, and no adapter can tell them apart.
 *
 * All that the engine knows is in one mapping of its own, which is not part of the snapshot, and it
 * runs on a stack there. Between rewind_end() and context_resume() only raw system calls and the
 * string functions of libc are used. */
#ifndef CGIBRIDGE_ENGINE_H
#define CGIBRIDGE_ENGINE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "calls/clean.h"
#include "calls/rare_calls.h"
#include "checkpoint.h"
#include "rewind/context.h"
#include "rewind/hot_pages.h"
#include "rewind/inherited.h"
#include "rewind/kernel_state.h"
#include "rewind/memory.h"
#include "rewind/take_request.h"
#include "usage.h"

enum { kEngineStackBytes = 64 * 1024, kFixedFiles = 5, kOwnFiles = kFixedFiles + kOpenFilesMax };
/* Parts of the reset that tests may leave out, to see what leaks without them. */
enum reset_part {
  PART_MEMORY = 1 << 0,
  PART_BRK = 1 << 1,
  PART_MAPPINGS = 1 << 2,
  PART_DESCRIPTORS = 1 << 3,
  PART_CWD = 1 << 4,
  PART_UMASK = 1 << 5,
  PART_SIGNALS = 1 << 6,
  PART_TIMERS = 1 << 7,
  PART_LIMITS = 1 << 8,
  PART_NAME = 1 << 9,
  PART_LIBRARIES = 1 << 10, /* memory has three parts: the program's own data, that of its */
  PART_HEAP = 1 << 11       /* libraries, and what was allocated; the stack is always put back */
};

struct engine {
  /* The snapshot: belongs to the zygote, the same in all its workers. */
  struct context context;
  struct mapping mappings[kMappingsMax];
  size_t mapping_count;
  struct region regions[kRegionsMax];
  size_t region_count;
  int has_blanks;                        /* some regions are blank */
  struct address_range wiped[kWipedMax]; /* memory that is empty in a child, so not in regions */
  size_t wiped_count;
  int has_data_files; /* files other than libraries are mapped for reading */
  uint32_t page_count;
  uint32_t *page_slots; /* of each page: its place in saved, or kZeroSlot */
  const char *saved;    /* a sealed memfd, read-only, shared by all workers */
  size_t saved_bytes;
  uintptr_t brk;
  int *tid_address;
  void *robust_list;
  size_t robust_list_bytes;
  char *volatile_words; /* what the kernel itself writes into the program's memory (rseq) */
  size_t volatile_bytes;
  uint64_t signal_mask;
  pthread_t main_thread; /* 0: its stack is not known */
  void *main_stack;
  size_t main_stack_bytes, main_stack_guard;
  unsigned left_out;            /* enum reset_part */
  uintptr_t data_from, data_to; /* the program's own .data and .bss */
  unsigned wanted_tracking;
  pid_t zygote_pid;

  /* The worker's own. */
  int channel, maps_fd, pagemap_fd, stat_fd, size_fd; /* size: /proc/self/statm */
  int tracking_fd; /* the number is kept; what it refers to depends on the tracking */
  int fds_fd;      /* /proc/self/fd */
  int first_own_fd, last_own_fd;
  long open_at_rest; /* descriptors; 0: not known */
  dev_t own_devices[kOwnFiles];
  ino_t own_inodes[kOwnFiles]; /* of maps, pagemap, stat, fd, statm, then of pristine_fds */
  dev_t channel_dev;
  ino_t channel_ino;
  int pristine_fds[kOpenFilesMax];
  pid_t pid;
  struct kernel_state kernel;
  uint64_t address_space, address_space_now; /* bytes mapped: at rest; at the last look */
  enum page_tracking tracking;
  struct {
    int is_offered;
    uint32_t nanoseconds;      /* recent duration of a rewind; 0: not known */
  } ways[4];                   /* by enum page_tracking */
  unsigned trial;              /* rewinds that are left of a trial; 0: none is under way */
  uint32_t suspects;           /* pages that the last walk over all pages had to compare */
  const struct region *opened; /* is writable while its pages are put back; NULL: none */
  int opening_failed;
  uint32_t faults;  /* soft-dirty: about how many pages the last request found protected */
  int is_protected; /* soft-dirty: no page was written since all were protected */
  uint8_t *page_heat;
  struct hot_pages hot; /* scan */
  struct mapping now[kMappingsMax];
  struct page_run runs[kScanMax];
  uint64_t entries[kEntriesMax]; /* of /proc/self/pagemap */
  struct clean_watch clean;
  /* Of the request that is running or ending. */
  int was_clean, was_silent; /* silent: clean, and no signal is blocked, pending or handled */
  uint64_t request_id;
  struct usage usage_at_start, usage_at_end;
  unsigned touched;
  uint64_t touched_signals;
  struct inherited_files inherited;
  int keeps_streams, exit_code, wants_ready;
  int mappings_changed; /* by releasing files, before the reset */
  char *big_text;       /* the strings of a request that came by memfd */
  size_t big_text_bytes;
  uint64_t rewinds; /* figures */
  uint32_t last_pages, last_microseconds;
  enum page_tracking last_tracking;
  char reason[kReasonMax];
  char maps_text[16 * 1024];
  struct packet packet;
  char *pointers[512];
  _Alignas(64) char stack[kEngineStackBytes];
};

/* snapshot.c: in the zygote. 0, or -1 with the reason why the program cannot be rewound. Nothing
 * that the zygote wrote before the copy matters to a worker. */
int snapshot_prepare(char *reason, size_t reason_bytes);
int snapshot_take(char *reason, size_t reason_bytes);
void main_stack_remember(struct engine *engine); /* main_stack.c */
/* Called before a zygote forks or takes its snapshot: leaves no free pieces in the heap. */
void heap_take_free_pieces(void);

/* rewind.c, in the zygote: takes the snapshot. 0, or -1 with the reason why the program cannot be
 * rewound. Returns once more, with 1, in a worker for each of its requests. */
int rewind_prepare(char *reason, size_t reason_bytes);
/* In the zygote: a worker on this channel; its pid, or -1 with errno. */
pid_t rewind_fork_worker(int channel);

/* first_look.c: what retires the worker and can be seen at once. */
enum retirement first_look(struct engine *engine);
int group_is_ours_alone(const struct kernel_state *kernel);

/* verify.c: in the zygote. */
void verify_worker(const struct message_verify *verify);

#endif
