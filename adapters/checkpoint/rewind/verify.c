/* Whether a resting worker is at its checkpoint, as seen from the zygote: its memory is compared
 * with the snapshot, code and constants with the zygote's own, and the kernel's view of both
 * processes. Nothing that the worker itself reports is believed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rewind/engine.h"

static const uint64_t kPresent = 1ull << 63, kSwapped = 1ull << 62;
enum { kChunkPages = 64, kDifferencesMax = 8, kTextMax = 32 * 1024 };

/* Mapped for one look: memory that was there at the checkpoint would be checked in each reset. */
struct scratch {
  struct mapping mappings[kMappingsMax];
  char maps_text[16 * 1024];
  char page[kPageSize];
  char ours[kTextMax], theirs[kTextMax];
};

struct findings {
  struct scratch *scratch;
  pid_t pid;
  int memory;     /* its memory as a file, where process_vm_readv() is refused; -1: not needed */
  uint64_t there; /* bits of its page map: a page that is there has one of them set */
  uint32_t pages;
  int count;
  size_t length;
  char text[1024];
};

__attribute__((format(printf, 2, 3))) static void find(struct findings *findings,
                                                       const char *format, ...) {
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

/* ---- memory ---- */

/* The kernel's own words in the thread's block belong to the worker. */
static void level_volatile_words(const struct engine *engine, char *theirs, uintptr_t address,
                                 size_t bytes, const char *ours) {
  uintptr_t words = (uintptr_t)engine->volatile_words;
  if (words < address || words >= address + bytes) return;
  memcpy(theirs + (words - address), ours + (words - address), engine->volatile_bytes);
}

static const char *expected_page(const struct engine *engine, uint32_t page) {
  static const char kZeros[kPageSize];
  uint32_t slot = engine->page_slots[page];
  return slot == kZeroSlot ? kZeros : engine->saved + (size_t)slot * kPageSize;
}

static long read_theirs(const struct findings *findings, uintptr_t address, char *buffer,
                        size_t bytes) {
  if (findings->memory >= 0) return pread(findings->memory, buffer, bytes, (off_t)address);
  struct iovec here = {buffer, bytes}, there = {(void *)address, bytes};
  return process_vm_readv(findings->pid, &here, 1, &there, 1, 0);
}

static void compare_page(struct findings *findings, const struct engine *engine, char *theirs,
                         const char *ours, uintptr_t address) {
  char expected[kPageSize];
  memcpy(expected, ours, kPageSize);
  level_volatile_words(engine, expected, address, kPageSize, theirs - 0);
  ++findings->pages;
  if (memcmp(theirs, expected, kPageSize) == 0) return;
  size_t at = 0;
  while (theirs[at] == expected[at]) ++at;
  find(findings, "memory at %#lx differs", (unsigned long)(address + at));
}

/* Of anonymous memory only pages that exist are read: reading the others would create them. */
static void compare_region(struct findings *findings, const struct engine *engine,
                           const struct region *region, int pagemap) {
  char *buffer = findings->scratch->page;
  uint32_t pages = (uint32_t)((region->end - region->start) / kPageSize);
  for (uint32_t first = 0; first < pages; first += kChunkPages) {
    uint32_t count = pages - first < kChunkPages ? pages - first : kChunkPages;
    uintptr_t address = region->start + (uintptr_t)first * kPageSize;
    uint64_t entries[kChunkPages];
    ssize_t bytes = (ssize_t)(count * sizeof *entries);
    if (pread(pagemap, entries, (size_t)bytes, (off_t)(address / kPageSize * 8)) != bytes) {
      return find(findings, "its page map cannot be read");
    }
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t page = region->first_page + first + i;
      uintptr_t at = address + (uintptr_t)i * kPageSize;
      int is_there = (entries[i] & findings->there) != 0;
      if (!is_there && engine->page_slots[page] == kZeroSlot) continue;
      if (read_theirs(findings, at, buffer, kPageSize) != kPageSize) {
        find(findings, "memory at %#lx cannot be read: %s", (unsigned long)at, strerror(errno));
        continue;
      }
      compare_page(findings, engine, buffer, expected_page(engine, page), at);
    }
  }
}

/* What is empty in a forked child. */
static void compare_wiped(struct findings *findings, const struct address_range *range,
                          int pagemap) {
  static const char kZeros[kPageSize];
  char *buffer = findings->scratch->page;
  for (uintptr_t at = range->start; at < range->end; at += kPageSize) {
    uint64_t entry = 0;
    if (pread(pagemap, &entry, sizeof entry, (off_t)(at / kPageSize * 8)) != sizeof entry) return;
    if ((entry & findings->there) == 0 || read_theirs(findings, at, buffer, kPageSize) != kPageSize)
      continue;
    if (memcmp(buffer, kZeros, kPageSize) == 0) continue;
    return find(findings, "memory at %#lx is not empty, as it is in a child", (unsigned long)at);
  }
}

static int is_constant(const struct engine *engine, const struct mapping *mapping) {
  uintptr_t ours[] = {(uintptr_t)engine, (uintptr_t)engine->page_slots, (uintptr_t)engine->saved};
  if (mapping->is_shared || mapping->prot == PROT_NONE || (mapping->prot & PROT_WRITE) != 0 ||
      mapping->kind == MAPPING_KERNEL || (mapping->prot & PROT_READ) == 0) {
    return 0;
  }
  for (size_t i = 0; i < sizeof ours / sizeof *ours; ++i) {
    if (ours[i] >= mapping->start && ours[i] < mapping->end) return 0;
  }
  return 1;
}

/* Code and constants: only pages that became the worker's own can differ from the zygote's. */
static void compare_constants(struct findings *findings, const struct engine *engine,
                              const struct mapping *mapping, int pagemap) {
  char *buffer = findings->scratch->page;
  const uint64_t kFilePage = 1ull << 61;
  for (uintptr_t at = mapping->start; at < mapping->end; at += kPageSize) {
    uint64_t entry = 0;
    if (pread(pagemap, &entry, sizeof entry, (off_t)(at / kPageSize * 8)) != sizeof entry) return;
    if ((entry & kPresent) == 0 || (entry & kFilePage) != 0) continue;
    if (read_theirs(findings, at, buffer, kPageSize) != kPageSize) continue;
    compare_page(findings, engine, buffer, (const char *)at, at);
  }
}

static int open_of(pid_t pid, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

static void compare_memory(struct findings *findings, const struct engine *engine) {
  int pagemap = open_of(findings->pid, "pagemap");
  if (pagemap < 0) return find(findings, "its page map cannot be opened: %s", strerror(errno));
  for (size_t i = 0; i < engine->region_count; ++i) {
    compare_region(findings, engine, &engine->regions[i], pagemap);
  }
  for (size_t i = 0; i < engine->wiped_count; ++i) {
    compare_wiped(findings, &engine->wiped[i], pagemap);
  }
  for (size_t i = 0; i < engine->mapping_count; ++i) {
    const struct mapping *mapping = &engine->mappings[i];
    if (is_constant(engine, mapping)) compare_constants(findings, engine, mapping, pagemap);
  }
  close(pagemap);
}

static void compare_mappings(struct findings *findings, const struct engine *engine) {
  struct mapping *theirs = findings->scratch->mappings;
  int fd = open_of(findings->pid, "maps");
  long count = fd < 0 ? -1
                      : maps_read(fd, findings->scratch->maps_text,
                                  sizeof findings->scratch->maps_text, theirs);
  if (fd >= 0) close(fd);
  if (count < 0) return find(findings, "its mappings cannot be read");
  for (size_t i = 0; i < engine->mapping_count || i < (size_t)count; ++i) {
    if (i < engine->mapping_count && i < (size_t)count) {
      const struct mapping *a = &engine->mappings[i], *b = &theirs[i];
      if (a->start == b->start && a->end == b->end && a->prot == b->prot && a->inode == b->inode &&
          a->is_shared == b->is_shared) {
        continue;
      }
    }
    return find(findings, "mapping %zu differs, at %#lx", i,
                (unsigned long)(i < (size_t)count ? theirs[i].start : engine->mappings[i].start));
  }
}

/* ---- what the kernel says ---- */

static size_t read_text(pid_t pid, const char *name, char *text) {
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
        (!moves_on && (!only_watched || is_watched_line(line)) && strcmp(a, b) != 0)) {
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

static int has_swapped(const struct findings *findings) {
  read_text(findings->pid, "status", findings->scratch->theirs);
  const char *line = strstr(findings->scratch->theirs, "\nVmSwap:");
  return line == NULL || strtoul(line + strlen("\nVmSwap:"), NULL, 10) != 0;
}

/* A page that is protected before it exists has the bit of one that was swapped out: reading all of
 * those would create an allocator's untouched gigabyte. */
static void compare_memory_and_swap(struct findings *findings, const struct engine *engine) {
  findings->there = has_swapped(findings) ? kPresent | kSwapped : kPresent;
  compare_memory(findings, engine);
  if (findings->there != kPresent || !has_swapped(findings)) return;
  findings->there |= kSwapped;
  compare_memory(findings, engine);
}

static int stood_at_checkpoint(int fd) {
  for (size_t i = 0; i < state.file_count; ++i) {
    if (state.files[i].fd == fd) return 1;
  }
  return 0;
}

static void compare_descriptors(struct findings *findings) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd", (int)findings->pid);
  DIR *folder = opendir(path);
  if (folder == NULL)
    return find(findings, "its descriptors cannot be listed: %s", strerror(errno));
  size_t standing = 0, own = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    int fd = atoi(entry->d_name);
    if (entry->d_name[0] == '.') continue;
    if (stood_at_checkpoint(fd)) {
      ++standing;
    } else if (fd >= descriptor_least_own()) {
      ++own;
    } else {
      find(findings, "descriptor %d is open", fd);
    }
  }
  closedir(folder);
  if (standing != state.file_count) find(findings, "a descriptor of the checkpoint is closed");
  if (own > 7 + state.file_count) find(findings, "%zu descriptors are open high up", own);
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

/* A sandbox or a container may forbid process_vm_readv(), but not the file that shows the same. */
static int may_read(struct findings *findings, const struct engine *engine) {
  static int told;
  char byte;
  if (read_theirs(findings, engine->regions[0].start, &byte, 1) == 1) return 1;
  if (errno != EPERM && errno != ENOSYS) return 1;
  findings->memory = open_of(findings->pid, "mem");
  if (findings->memory >= 0) return 1;
  static const char kText[] = "the memory of workers cannot be verified here";
  if (!told) channel_note(NOTE_WARNING, kText, sizeof kText - 1);
  told = 1;
  return 0;
}

static void compare(struct findings *findings, const struct engine *engine) {
  compare_mappings(findings, engine);
  if (may_read(findings, engine)) compare_memory_and_swap(findings, engine);
  if (findings->memory >= 0) close(findings->memory);
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

void verify_worker(const struct message_verify *verify) {
  struct findings findings = {.pid = verify->pid, .memory = -1};
  findings.scratch = mmap(NULL, sizeof *findings.scratch, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (findings.scratch == MAP_FAILED) {
    find(&findings, "no memory to compare with");
  } else if (state.engine != NULL && state.reset == RESET_REWIND) {
    compare(&findings, state.engine);
  } else {
    find(&findings, "this zygote's workers do not rewind");
  }
  if (findings.scratch != MAP_FAILED) munmap(findings.scratch, sizeof *findings.scratch);
  struct message_verify body = *verify;
  body.pages = findings.pages; /* 0: its memory was not compared */
  channel_send(MESSAGE_VERIFIED, &body, sizeof body, findings.text, findings.length,
               PATIENCE_SECOND);
}
