/* A worker that is put back to its checkpoint after each request; see engine.h for how. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls/clean.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/take_request.h"
#include "rewind/threads.h"
#include "usage.h"

enum {
  kBadRequest = 70,
  kSendTimeoutMs = 1000,
  kLearnedMost = 1000000000 /* ns: the duration of a longer rewind is not recorded exactly */
};

static const uint64_t kAllSignals = ~0ull;

static void set_signal_mask(uint64_t mask) {
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

/* ---- messages, without libc ---- */

static long send_packet(struct engine *engine, uint16_t type, const void *body, size_t body_bytes,
                        const char *text, size_t text_bytes) {
  struct message_header header = {.magic = MESSAGE_MAGIC,
                                  .version = MESSAGE_VERSION,
                                  .type = type,
                                  .body_bytes = (uint32_t)(body_bytes + text_bytes)};
  struct iovec parts[3] = {{&header, sizeof header},
                           {(void *)(uintptr_t)body, body_bytes},
                           {(void *)(uintptr_t)text, text_bytes}};
  struct msghdr packet = {.msg_iov = parts, .msg_iovlen = 3};
  for (int waited = 0;; waited = 1) {
    long sent = raw_call(SYS_sendmsg, engine->channel, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != -EAGAIN || waited) return sent;
    struct pollfd writable = {.fd = engine->channel, .events = POLLOUT};
    struct timespec patience = {kSendTimeoutMs / 1000, 0};
    raw_call(SYS_ppoll, &writable, 1, &patience, NULL, 8);
  }
}

static long say_ready(struct engine *engine) {
  struct message_ready body = {.pid = engine->pid};
  return send_packet(engine, MESSAGE_READY, &body, sizeof body, NULL, 0);
}

static _Noreturn void retire(struct engine *engine, enum retirement why) {
  struct message_retired body = {.retirement = why, .text_bytes = (uint32_t)strlen(engine->reason)};
  send_packet(engine, MESSAGE_RETIRED, &body, sizeof body, engine->reason, body.text_bytes);
  give_up(engine->exit_code);
}

static long say_done(struct engine *engine, enum retirement why) {
  struct message_done body = {.request_id = engine->request_id,
                              .exit_code = engine->exit_code & 0xff,
                              .stays = why == RETIRED_NOT,
                              .retirement = why,
                              .tracking = engine->last_tracking,
                              .pages = engine->last_pages,
                              .microseconds = engine->last_microseconds,
                              .keeps_streams = (uint32_t)engine->keeps_streams};
  const char *text = why == RETIRED_NOT ? NULL : engine->reason;
  body.text_bytes = text == NULL ? 0 : (uint32_t)strlen(text);
  engine->usage_at_end = usage_now(engine->was_clean ? &engine->usage_at_start.children : NULL);
  usage_fill(&body, &engine->usage_at_start, &engine->usage_at_end);
  if ((engine->touched & ~(unsigned)(TOUCHED_ASKED | TOUCHED_SIGSYS | TOUCHED_STREAMS)) != 0 ||
      engine->touched_signals != 0)
    body.unusual |= DONE_RARE_CALL;
  if (!engine->was_clean) body.unusual |= DONE_ASKED;
  if (!engine->hot.sufficed) body.unusual |= DONE_WALKED;
  return send_packet(engine, MESSAGE_DONE, &body, sizeof body, text, body.text_bytes);
}

/* ---- the request ---- */

static _Noreturn void rest(void) {
  struct engine *engine = state.engine;
  if (!engine->was_silent) set_signal_mask(engine->signal_mask);
  if (take_request(engine, say_ready) != 0) give_up(kBadRequest);
  engine->request_id = engine->packet.head.request_id;
  engine->wants_ready = (engine->packet.head.flags & REQUEST_SAY_READY) != 0;
  engine->usage_at_start = usage_now(engine->was_clean ? &engine->usage_at_end.children : NULL);
  cpu_limit_renew();
  context_resume(&engine->context);
}

/* ---- the reset ---- */

/* Nothing of a request may be found by the next, not even where the engine keeps it. */
static void wipe_request(struct engine *engine) {
  if (engine->big_text != NULL) {
    raw_call(SYS_munmap, engine->big_text, engine->big_text_bytes);
    engine->big_text = NULL;
  } else {
    /* Including what the program may have written after them, as some do to be listed by another
     name.
     */
    size_t used = engine->packet.head.strings_bytes;
    size_t end = (used + 2 * kPageSize - 1) & ~(size_t)(kPageSize - 1);
    memset(engine->packet.text, 0,
           end < sizeof engine->packet.text ? end : sizeof engine->packet.text);
  }
  memset(&engine->packet.head, 0, sizeof engine->packet.head);
  memset(&engine->inherited, 0, sizeof engine->inherited);
}

/* Done before the kernel is asked how much is mapped. */
static enum retirement heap_end_put_back(struct engine *engine) {
  if ((engine->left_out & PART_BRK) != 0) return RETIRED_NOT;
  if ((uintptr_t)raw_call(SYS_brk, engine->brk) == engine->brk) return RETIRED_NOT;
  strcpy(engine->reason, "the heap's end cannot be put back");
  return RETIRED_MAPPINGS;
}

static uint64_t now_ns(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static _Noreturn void reset(void) {
  struct engine *engine = state.engine;
  uint64_t begin = now_ns();
  wipe_request(engine);
  enum retirement why = heap_end_put_back(engine);
  if (why == RETIRED_NOT) why = kernel_state_put_back(engine);
  if (why == RETIRED_NOT) why = memory_put_back(engine);
  if (why != RETIRED_NOT) retire(engine, why);
  ++engine->rewinds;
  uint64_t nanoseconds = now_ns() - begin;
  engine->last_microseconds = (uint32_t)((nanoseconds + 999) / 1000);
  tracking_learn(engine, nanoseconds < kLearnedMost ? (uint32_t)nanoseconds : kLearnedMost);
  if (engine->wants_ready) say_ready(engine);
  rest();
}

/* A file, or shared memory, that stays mapped keeps its locks and is visible to others. */
static enum retirement mapped_files_let_go(struct engine *engine) {
  uint64_t dropped;
  if ((engine->touched & TOUCHED_FILES) == 0 || (engine->left_out & PART_MAPPINGS) != 0) {
    return RETIRED_NOT;
  }
  enum retirement why = heap_end_put_back(engine);
  if (why == RETIRED_NOT && (engine->touched & TOUCHED_RESERVED) != 0) {
    why = reservations_put_back(engine);
  }
  if (why != RETIRED_NOT || mappings_drop_new(engine, &dropped) == 0) return why;
  return mappings_put_back(engine, &engine->mappings_changed);
}

/* Whatever another process can see of the request ends before DONE is sent: the next request, in
 * any worker, may ask for the same lock at once. */
static enum retirement let_go(struct engine *engine, enum retirement why) {
  int goes = why != RETIRED_NOT;
  char reason[kReasonMax];
  memcpy(reason, engine->reason, sizeof reason);
  /* Another thread may use what is mapped until the process is gone. */
  enum retirement fault = why == RETIRED_THREADS ? why : mapped_files_let_go(engine);
  if (!goes && fault == RETIRED_NOT) fault = descriptors_check(engine);
  engine->keeps_streams = !goes && fault == RETIRED_NOT && streams_can_stay(engine);
  if (!goes && fault == RETIRED_NOT) fault = descriptors_put_back(engine);
  if (goes) memcpy(engine->reason, reason, sizeof reason);
  if (!goes) why = fault;
  if (why != RETIRED_NOT) let_go_for_good(engine->channel);
  return why;
}

/* On the engine's stack: the program's may be in memory that is released. */
static _Noreturn void end(void) {
  struct engine *engine = state.engine;
  engine->touched = 0;
  engine->mappings_changed = 0;
  if (static_executable_holds_robust_mutex() || clone_robust_list_has_mutex(engine->robust_list))
    give_up(engine->exit_code); /* which tells the bridge everything, too */
  static_executable_left();
  enum retirement why = first_look(engine);
  int can_say = engine->was_clean || channel_is_ours();
  if (can_say) {
    why = let_go(engine, why);
    say_done(engine, why);
  }
  if (!can_say || why != RETIRED_NOT) give_up(engine->exit_code);
  reset();
}

void rewind_end(int exit_code, enum leaver leaver) {
  if (!state.engine->was_silent) set_signal_mask(kAllSignals);
  threads_claim_end(leaver, exit_code, end);
  context_call_on(state.engine->stack + kEngineStackBytes, end);
}

/* ---- the beginning ---- */

static int open_own(struct engine *engine, const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0) return -1;
  int high = descriptor_move_high(fd);
  if (high > engine->last_own_fd) engine->last_own_fd = high;
  return high;
}

static int open_own_all(struct engine *engine, int channel) {
  engine->channel = descriptor_move_high(channel);
  channel_adopt(engine->channel);
  engine->channel_dev = state.channel_dev;
  engine->channel_ino = state.channel_ino;
  engine->first_own_fd = engine->last_own_fd = engine->channel;
  engine->maps_fd = open_own(engine, "/proc/self/maps", O_RDONLY);
  engine->pagemap_fd = open_own(engine, "/proc/self/pagemap", O_RDONLY);
  engine->stat_fd = open_own(engine, "/proc/self/stat", O_RDONLY);
  engine->size_fd = open_own(engine, "/proc/self/statm", O_RDONLY);
  for (size_t i = 0; i < state.file_count; ++i) {
    if (descriptor_is_made_anew(&state.files[i])) continue;
    char path[kFilePathBytes];
    path_to_open_file(state.files[i].fd, path);
    engine->pristine_fds[i] = open_own(engine, path, O_PATH);
    if (engine->pristine_fds[i] < 0) return -1;
  }
  engine->fds_fd = open_own(engine, "/proc/self/fd", O_RDONLY | O_DIRECTORY);
  engine->tracking_fd = open_own(engine, "/proc/self/pagemap", O_RDONLY);
  return engine->channel < 0 || engine->maps_fd < 0 || engine->pagemap_fd < 0 ||
                 engine->stat_fd < 0 || engine->size_fd < 0 || engine->fds_fd < 0 ||
                 engine->tracking_fd < 0
             ? -1
             : 0;
}

/* On the engine's stack: from here on no libc. The memory is a copy of the zygote's, which has
 * continued after its checkpoint. */
static _Noreturn void begin(void) {
  struct engine *engine = state.engine;
  if (kernel_state_read(engine->stat_fd, &engine->kernel) != 0) give_up(kBadRequest);
  unseen_read(&engine->kernel.unseen, engine->pid, engine->zygote_pid);
  enum retirement why = heap_end_put_back(engine);
  if (why == RETIRED_NOT) why = descriptors_put_back(engine);
  if (why == RETIRED_NOT) why = kernel_state_put_back(engine);
  engine->tracking = TRACKING_COMPARE;
  if (why == RETIRED_NOT) why = memory_put_back(engine);
  if (why != RETIRED_NOT) retire(engine, why);
  tracking_begin(engine, (enum page_tracking)engine->wanted_tracking);
  if (address_space_read(engine) != 0) give_up(kBadRequest);
  engine->address_space = engine->address_space_now;
  descriptors_count(engine);
  clean_watch(engine);
  engine->last_tracking = TRACKING_AUTO;
  if (say_ready(engine) < 0) give_up(0);
  rest();
}

static _Noreturn void worker_main(int channel) {
  struct engine *engine = state.engine;
  engine->pid = getpid();
  raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (getppid() != state.bridge_pid) give_up(0);
  setpgid(0, 0);
  /* Where a tracer has to be an ancestor, this lets the zygote look at this worker all the same. */
  raw_call(SYS_prctl, PR_SET_PTRACER, engine->zygote_pid, 0, 0, 0);
  close(state.channel);
  if (open_own_all(engine, channel) != 0) give_up(kBadRequest);
  context_call_on(engine->stack + kEngineStackBytes, begin);
}

pid_t rewind_fork_worker(int channel) {
  sigset_t before;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  pid_t pid = clone_bare();
  if (pid == 0) worker_main(channel);
  int failure = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = failure;
  return pid;
}

/* Back in the program, as the child of a fork that has just happened. */
static void become_child(void) {
  struct engine *engine = state.engine;
  struct packet *packet = &engine->packet;
  *engine->tid_address = engine->pid;
  if (!engine->was_clean) clone_restore_robust_list(engine->robust_list, engine->robust_list_bytes);
  state.role = ROLE_ANSWERING;
  state.pid = engine->pid;
  state.channel = engine->channel;
  state.channel_dev = engine->channel_dev;
  state.channel_ino = engine->channel_ino;
  fork_handlers_child();
  char *text = engine->big_text != NULL ? engine->big_text : packet->text;
  if (request_parse(&state.request, &packet->head, text, engine->pointers,
                    sizeof engine->pointers / sizeof *engine->pointers) != 0) {
    give_up(kBadRequest);
  }
  worker_enter_directory();
  /* Another worker has held its 0, 1 and 2. */
  state.touched = (packet->head.flags & REQUEST_BY_PEER) != 0 ? TOUCHED_STREAMS : 0;
  state.touched_signals = 0;
  state.sets_mask = 0;
  state.doubt = RETIRED_NOT;
  readable_page = 0;
  clean_begin();
  threads_begin_request();
}

int rewind_prepare(char *reason, size_t reason_bytes) {
  tracking_warn(state.tracking);
  if (sysconf(_SC_PAGESIZE) != kPageSize) {
    snprintf(reason, reason_bytes, "this kernel's pages are not of 4 KiB");
    return -1;
  }
  if (state.bypass[0] != '\0') {
    snprintf(reason, reason_bytes, "the program called %s before its checkpoint", state.bypass);
    return -1;
  }
  if (snapshot_prepare(reason, reason_bytes) != 0) return -1;
  struct engine *engine = state.engine;
  const char *hindrance = context_prepare(&engine->context);
  if (hindrance != NULL) {
    snprintf(reason, reason_bytes, "%s", hindrance);
    return -1;
  }
  clone_robust_list(&engine->robust_list, &engine->robust_list_bytes);
  clean_find_libc(engine);
  engine->wanted_tracking = (unsigned)state.tracking;
  fork_handlers_prepare();
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &kAllSignals, &engine->signal_mask, 8);
  int result = threads_park(reason, reason_bytes);
  if (result == 0 && context_save(&engine->context) != 0) {
    become_child();
    return 1;
  }
  if (result == 0) result = snapshot_take(reason, reason_bytes);
  if (result != 0) {
    threads_let_run();
  } else if (threads_end_parked() != 0) {
    checkpoint_refuse("one of its threads does not end");
  }
  set_signal_mask(state.engine->signal_mask);
  fork_handlers_parent();
  return result;
}
