/* Whether a resting worker is at its checkpoint, as seen from the zygote: its memory is compared
 * with the snapshot, code and constants with the zygote's own, and the kernel's view of both
 * processes. Nothing that the worker itself reports is believed. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rewind/findings.h"

enum { kDifferencesMax = 8 };

void find(struct findings *findings, const char *format, ...) {
  if (++findings->count > kDifferencesMax) return;
  char line[160];
  va_list list;
  va_start(list, format);
  int count = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  size_t length = count < (int)sizeof line ? (size_t)count : sizeof line - 1;
  if (findings->length + length + 3 > sizeof findings->text) return;
  if (findings->length > 0) {
    memcpy(findings->text + findings->length, "; ", 2);
    findings->length += 2;
  }
  memcpy(findings->text + findings->length, line, length + 1);
  findings->length += length;
}

int open_of(pid_t pid, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

size_t read_text(pid_t pid, const char *name, char *text) {
  int fd = open_of(pid, name);
  size_t length = 0;
  ssize_t got = 0;
  while (fd >= 0 && length < kTextMax - 1 &&
         (got = read(fd, text + length, kTextMax - 1 - length)) > 0) {
    length += (size_t)got;
  }
  if (fd >= 0) close(fd);
  text[length] = '\0';
  return length;
}

/* Lines of /proc/PID/status that a program can change and that a zygote and its workers share. */
static int is_watched_line(const char *line) {
  static const char *const kLines[] = {"Name:",
                                       "Umask:",
                                       "Uid:",
                                       "Gid:",
                                       "Groups:",
                                       "Threads:",
                                       "SigPnd:",
                                       "ShdPnd:",
                                       "SigIgn:",
                                       "SigCgt:",
                                       "CapInh:",
                                       "CapPrm:",
                                       "CapEff:",
                                       "CapBnd:",
                                       "CapAmb:",
                                       "VmLck:",
                                       "VmPin:",
                                       "NoNewPrivs:",
                                       "Seccomp:",
                                       "Seccomp_filters:",
                                       "CoreDumping:",
                                       "THP_enabled:",
                                       "Cpus_allowed:",
                                       "Mems_allowed:",
                                       "Speculation_Store_Bypass:"};
  for (size_t i = 0; i < sizeof kLines / sizeof *kLines; ++i) {
    if (strncmp(line, kLines[i], strlen(kLines[i])) == 0) return 1;
  }
  return 0;
}

/* A worker handles SIGSYS in addition; see calls/clean.h. */
static int are_same_lines(const char *zygote, const char *worker) {
  static const char kCaught[] = "SigCgt:";
  if (strcmp(zygote, worker) == 0) return 1;
  size_t bytes = sizeof kCaught - 1;
  if (strncmp(zygote, kCaught, bytes) != 0 || strncmp(worker, kCaught, bytes) != 0) return 0;
  unsigned long long by_zygote = strtoull(zygote + bytes, NULL, 16);
  return (by_zygote | 1ull << (SIGSYS - 1)) == strtoull(worker + bytes, NULL, 16);
}

static void compare_lines(struct findings *findings, const char *name, int only_watched) {
  char *ours = findings->scratch->ours, *theirs = findings->scratch->theirs;
  read_text(getpid(), name, ours);
  if (read_text(findings->pid, name, theirs) == 0 && ours[0] != '\0') {
    return find(findings, "its %s cannot be read", name);
  }
  char *a_rest = NULL, *b_rest = NULL;
  char *a = strtok_r(ours, "\n", &a_rest), *b = strtok_r(theirs, "\n", &b_rest);
  while (a != NULL || b != NULL) {
    const char *line = a != NULL ? a : b;
    int moves_on = state.processor.seconds != 0 && a != NULL && strncmp(a, "Max cpu time", 12) == 0;
    if (a == NULL || b == NULL ||
        (!moves_on && (!only_watched || is_watched_line(line)) && !are_same_lines(a, b))) {
      return find(findings, "%s: \"%s\", not \"%s\"", name, b ? b : "", a ? a : "");
    }
    a = strtok_r(NULL, "\n", &a_rest);
    b = strtok_r(NULL, "\n", &b_rest);
  }
}

static void compare_links(struct findings *findings) {
  static const char *const kLinks[] = {"root",    "ns/mnt", "ns/net", "ns/pid",
                                       "ns/user", "ns/uts", "ns/ipc", "ns/cgroup"};
  for (size_t i = 0; i < sizeof kLinks / sizeof *kLinks; ++i) {
    char path[2][64], link[2][256];
    memset(link, 0, sizeof link);
    snprintf(path[0], sizeof path[0], "/proc/%d/%s", (int)getpid(), kLinks[i]);
    snprintf(path[1], sizeof path[1], "/proc/%d/%s", (int)findings->pid, kLinks[i]);
    if (readlink(path[0], link[0], sizeof link[0] - 1) < 0) continue;
    if (readlink(path[1], link[1], sizeof link[1] - 1) < 0 || strcmp(link[0], link[1]) != 0) {
      find(findings, "%s: \"%s\", not \"%s\"", kLinks[i], link[1], link[0]);
    }
  }
}

/* The first fields of stat that a program can change: nice, policy, real-time priority. */
static void compare_schedule(struct findings *findings) {
  char *text[2] = {findings->scratch->ours, findings->scratch->theirs};
  char words[2][3][24];
  for (int who = 0; who < 2; ++who) {
    read_text(who == 0 ? getpid() : findings->pid, "stat", text[who]);
    char *at = strrchr(text[who], ')'), *rest = NULL;
    memset(words[who], 0, sizeof words[who]);
    if (at == NULL) continue;
    int number = 3;
    for (char *word = strtok_r(at + 1, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest), ++number) {
      int slot = number == 19 ? 0 : number == 40 ? 1 : number == 41 ? 2 : -1;
      if (slot >= 0) strncpy(words[who][slot], word, sizeof words[who][slot] - 1);
    }
  }
  static const char *const kNames[] = {"nice", "real-time priority", "policy"};
  for (int i = 0; i < 3; ++i) {
    if (strcmp(words[0][i], words[1][i]) == 0) continue;
    find(findings, "%s: %s, not %s", kNames[i], words[1][i], words[0][i]);
  }
}

static void compare(struct findings *findings, const struct engine *engine) {
  compare_memory(findings, engine);
  compare_lines(findings, "status", 1);
  static const char *const kWhole[] = {"limits", "timers", "personality", "oom_score_adj",
                                       "coredump_filter"};
  for (size_t i = 0; i < sizeof kWhole / sizeof *kWhole; ++i) {
    compare_lines(findings, kWhole[i], 0);
  }
  compare_links(findings);
  compare_descriptors(findings);
  compare_schedule(findings);
}

/* The kernel's flag for a process that is ending (PF_EXITING); the ninth field of stat. */
static int takes_itself_apart(const char *stat) {
  enum { kFlagsAt = 9, kExiting = 4 };
  const char *at = strrchr(stat, ')');
  for (int field = 2; at != NULL && field < kFlagsAt; ++field) at = strchr(at + 1, ' ');
  return at != NULL && (strtoul(at + 1, NULL, 10) & kExiting) != 0;
}

/* Whether somebody killed it while it was compared: then what was found means nothing. SIGKILL is
 * pending until the process begins to end. */
static int is_ending(struct findings *findings) {
  static const char kPending[] = "\nSigPnd:\t";
  const unsigned long long kKilled = 1ull << 8;
  char *text = findings->scratch->theirs;
  if (read_text(findings->pid, "status", text) == 0) return 0;
  const char *pending = strstr(text, kPending);
  if (pending != NULL && (strtoull(pending + sizeof kPending - 1, NULL, 16) & kKilled) != 0)
    return 1;
  read_text(findings->pid, "stat", text);
  return takes_itself_apart(text);
}

void verify_worker(const struct message_verify *verify) {
  struct findings findings = {.pid = verify->pid, .memory = -1};
  findings.scratch = mmap(NULL, sizeof *findings.scratch, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (findings.scratch == MAP_FAILED) {
    find(&findings, "no memory to compare with");
  } else if (state.engine != NULL && state.reset == RESET_REWIND) {
    compare(&findings, state.engine);
    if (findings.count > 0 && is_ending(&findings)) {
      findings.length = 0;
      findings.pages = 0;
    }
  } else {
    find(&findings, "this zygote's workers do not rewind");
  }
  if (findings.scratch != MAP_FAILED) munmap(findings.scratch, sizeof *findings.scratch);
  struct message_verify body = *verify;
  body.pages = findings.pages; /* 0: its memory was not compared */
  channel_send(MESSAGE_VERIFIED, &body, sizeof body, findings.text, findings.length,
               PATIENCE_SECOND);
}
