/* Maps a static executable as the kernel's own loader does (fs/binfmt_elf.c). */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptors.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "static/main_place.h"
#include "static/traps.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

enum { kHeadersMax = 64 };
static const off_t kFileBytesMax = (off_t)1 << 30;

struct elf {
  Elf64_Ehdr head;
  Elf64_Phdr segments[kHeadersMax];
  uintptr_t base; /* what is added to the addresses in the file */
  int copy;       /* a memfd with the file's content */
};

static int refuse(char *reason, size_t reason_bytes, const char *why) {
  snprintf(reason, reason_bytes, "a static executable %s", why);
  return -1;
}

static int refuse_failed(char *reason, size_t reason_bytes, const char *what) {
  snprintf(reason, reason_bytes, "a static executable: %s: %s", what, strerror(errno));
  return -1;
}

static uintptr_t page_of(uintptr_t address) {
  return address & ~(uintptr_t)(kPageSize - 1);
}

static uintptr_t page_after(uintptr_t address) {
  return page_of(address + kPageSize - 1);
}

/* ---- the file ---- */

/* What the kernel shows as /proc/self/exe of a process that has executed the file. */
static void note_file(int file) {
  if (path_of_open_file(file, state.executable.file, sizeof state.executable.file) <= 0) {
    memcpy(state.executable.file, state.executable.path, sizeof state.executable.file);
  }
}

/* The kernel refuses writing to an executable that runs, but not to one that is only mapped.
 * So what is mapped is a copy, which no change of the file can reach. */
static int copy_file(const char *path, int *copy, char *reason, size_t reason_bytes) {
  struct stat status;
  /* As execve() checks, including whether the file system lets anything execute. */
  if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0) {
    return refuse_failed(reason, reason_bytes, "may not be executed");
  }
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &status) != 0) {
    if (file >= 0) close(file);
    return refuse_failed(reason, reason_bytes, "cannot be read");
  }
  note_file(file);
  *copy = memfd_create("executable", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (*copy < 0) *copy = memfd_create("executable", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  off_t done = 0;
  while (*copy >= 0 && status.st_size <= kFileBytesMax && done < status.st_size) {
    if (sendfile(*copy, file, &done, (size_t)(status.st_size - done)) <= 0) break;
  }
  close(file);
  if (*copy >= 0 && done == status.st_size &&
      fcntl(*copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    return 0;
  }
  if (status.st_size > kFileBytesMax) return refuse(reason, reason_bytes, "of more than 1 GiB");
  return refuse_failed(reason, reason_bytes, "cannot be copied");
}

static int read_headers(struct elf *elf, char *reason, size_t reason_bytes) {
  Elf64_Ehdr *head = &elf->head;
  if (pread(elf->copy, head, sizeof *head, 0) != sizeof *head ||
      memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
      (head->e_type != ET_EXEC && head->e_type != ET_DYN) ||
      head->e_phentsize != sizeof *elf->segments || head->e_phnum == 0 ||
      head->e_phnum > kHeadersMax) {
    return refuse(reason, reason_bytes, "of an unknown form");
  }
  size_t bytes = head->e_phnum * sizeof *elf->segments;
  if (pread(elf->copy, elf->segments, bytes, (off_t)head->e_phoff) != (ssize_t)bytes) {
    return refuse(reason, reason_bytes, "whose program headers are not in the file");
  }
  for (unsigned i = 0; i < head->e_phnum; ++i) {
    const Elf64_Phdr *segment = &elf->segments[i];
    if (segment->p_type == PT_INTERP) return refuse(reason, reason_bytes, "that has a loader");
    if (segment->p_type == PT_GNU_STACK && (segment->p_flags & PF_X) != 0) {
      return refuse(reason, reason_bytes, "that wants an executable stack");
    }
    if (segment->p_type == PT_LOAD && (segment->p_filesz > segment->p_memsz ||
                                       segment->p_vaddr + segment->p_memsz < segment->p_vaddr ||
                                       (segment->p_vaddr - segment->p_offset) % kPageSize != 0)) {
      return refuse(reason, reason_bytes, "with a segment that cannot be mapped");
    }
  }
  return 0;
}

/* ---- where ---- */

/* A position-independent one gets the kernel's choice of place. */
static int choose_base(struct elf *elf, char *reason, size_t reason_bytes) {
  uintptr_t low = UINTPTR_MAX, high = 0, align = kPageSize;
  for (unsigned i = 0; i < elf->head.e_phnum; ++i) {
    const Elf64_Phdr *segment = &elf->segments[i];
    if (segment->p_type != PT_LOAD) continue;
    if (segment->p_vaddr < low) low = page_of(segment->p_vaddr);
    if (segment->p_vaddr + segment->p_memsz > high) high = segment->p_vaddr + segment->p_memsz;
    if (segment->p_align > align && (segment->p_align & (segment->p_align - 1)) == 0) {
      align = segment->p_align;
    }
  }
  if (high == 0) return refuse(reason, reason_bytes, "without segments");
  if (elf->head.e_type == ET_EXEC) return 0;
  size_t bytes = page_after(high) - low;
  char *room = mmap(NULL, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return refuse_failed(reason, reason_bytes, "no room for it");
  munmap(room, bytes + align);
  elf->base = (((uintptr_t)room + align - 1) & ~(align - 1)) - low;
  return 0;
}

/* ---- segments ---- */

static int protection_of(const Elf64_Phdr *segment) {
  return ((segment->p_flags & PF_R) != 0 ? PROT_READ : 0) |
         ((segment->p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((segment->p_flags & PF_X) != 0 ? PROT_EXEC : 0);
}

static int map_at(uintptr_t start, uintptr_t end, int protection, int file, off_t offset) {
  if (start == end) return 0;
  int flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE | (file < 0 ? MAP_ANONYMOUS : 0);
  void *there = mmap((void *)start, end - start, protection, flags, file, offset);
  if (there == (void *)start) return 0;
  if (there != MAP_FAILED) { /* Linux before 4.17 takes the address as a wish */
    munmap(there, end - start);
    errno = EEXIST;
  }
  return -1;
}

/* What follows the file's part in its last page is zero, like the pages after it. */
static int map_segment(const struct elf *elf, const Elf64_Phdr *segment) {
  int protection = protection_of(segment);
  uintptr_t start = page_of(elf->base + segment->p_vaddr);
  uintptr_t file_end = elf->base + segment->p_vaddr + segment->p_filesz;
  uintptr_t end = page_after(elf->base + segment->p_vaddr + segment->p_memsz);
  uintptr_t mapped = segment->p_filesz == 0 ? start : page_after(file_end);
  if (map_at(start, mapped, protection, elf->copy, (off_t)page_of(segment->p_offset)) != 0) {
    return -1;
  }
  if (segment->p_filesz != 0 && segment->p_memsz > segment->p_filesz &&
      (protection & PROT_WRITE) != 0) {
    memset((void *)file_end, 0, mapped - file_end);
  }
  return mapped < end ? map_at(mapped, end, protection, -1, 0) : 0;
}

/* PT_PHDR says where the headers are; without it they are in the segment with the file's start. */
static uintptr_t headers_in_memory(const struct elf *elf) {
  for (unsigned i = 0; i < elf->head.e_phnum; ++i) {
    const Elf64_Phdr *segment = &elf->segments[i];
    if (segment->p_type == PT_PHDR) return elf->base + segment->p_vaddr;
  }
  for (unsigned i = 0; i < elf->head.e_phnum; ++i) {
    const Elf64_Phdr *segment = &elf->segments[i];
    if (segment->p_type == PT_LOAD && segment->p_offset <= elf->head.e_phoff &&
        elf->head.e_phoff < segment->p_offset + segment->p_filesz) {
      return elf->base + segment->p_vaddr + elf->head.e_phoff - segment->p_offset;
    }
  }
  return 0;
}

static int map_all(struct elf *elf, char *reason, size_t reason_bytes) {
  if (choose_base(elf, reason, reason_bytes) != 0) return -1;
  for (unsigned i = 0; i < elf->head.e_phnum; ++i) {
    if (elf->segments[i].p_type != PT_LOAD) continue;
    if (map_segment(elf, &elf->segments[i]) != 0) {
      return refuse_failed(reason, reason_bytes, "its place in memory");
    }
  }
  state.executable.entry = elf->base + elf->head.e_entry;
  state.executable.headers = headers_in_memory(elf);
  state.executable.header_count = elf->head.e_phnum;
  return 0;
}

/* main() is in the same segment as the executable's first instruction. */
static void find_main(const struct elf *elf) {
  for (unsigned i = 0; i < elf->head.e_phnum; ++i) {
    const Elf64_Phdr *segment = &elf->segments[i];
    uintptr_t start = elf->base + segment->p_vaddr, entry = state.executable.entry;
    if (segment->p_type != PT_LOAD || protection_of(segment) != (PROT_READ | PROT_EXEC) ||
        entry < start || entry >= start + segment->p_filesz) {
      continue;
    }
    size_t bytes = start + segment->p_filesz - entry;
    uintptr_t main = main_place((const unsigned char *)entry, bytes, entry);
    if (main < start || main + sizeof state.executable.main_code > start + segment->p_filesz ||
        !has_no_constructors(elf->copy, &elf->head)) {
      return;
    }
    state.executable.main = main;
  }
}

static int is_of_go(const struct go_image *image) {
  for (size_t i = 0; i < image->readable_count; ++i) {
    const struct byte_range *range = &image->readable[i];
    const unsigned char *start = (const unsigned char *)range->start;
    if (go_table_is_there(start, start + (range->end - range->start))) return 1;
  }
  return 0;
}

/* The bridge first asks for a stop at main.main(), and then for one at the first instruction. */
static int find_go(const struct elf *elf, const char **reason) {
  struct go_image image;
  go_image_read(&image, elf->segments, elf->head.e_phnum, elf->base);
  state.executable.is_of_go = is_of_go(&image);
  if (!state.executable.go.is_wanted) return 0;
  image.known = GO_KNOWN_BY_ENTRY(state.executable.entry);
  return go_program_find(&image, reason);
}

/* As execve() would name the process. */
static void name_process(void) {
  const char *name = strrchr(state.executable.path, '/');
  if (state.name[0] == '\0' && name != NULL) strncpy(state.name, name + 1, sizeof state.name - 1);
  prctl(PR_SET_NAME, state.name);
}

int program_is_static(void) {
  return state.executable.path[0] != '\0';
}

int program_has_traps(void) {
  return program_is_static() || program_is_go();
}

int program_has_small_stacks(void) {
  return program_is_go() || state.executable.is_of_go;
}

/* The end of the heap is the executable's from its first instruction on. The preloaded libc would
 * not notice that it moves, and hand out, or give back, what the executable's libc has: from here
 * on it gets new memory by mapping it. */
static void leave_heap_to_executable(void) {
  mallopt(M_MMAP_MAX, INT_MAX);
  mallopt(M_MMAP_THRESHOLD, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
}

int static_executable_map(char *reason, size_t reason_bytes) {
  struct elf elf = {.copy = -1};
  if (!traps_are_offered()) {
    return refuse(reason, reason_bytes,
                  "makes its system calls itself, and this kernel does not hand them back (Linux "
                  "5.11 on x86-64 does)");
  }
  int result = copy_file(state.executable.path, &elf.copy, reason, reason_bytes);
  if (result == 0) result = read_headers(&elf, reason, reason_bytes);
  if (result == 0) result = map_all(&elf, reason, reason_bytes);
  const char *why = NULL;
  if (result == 0 && find_go(&elf, &why) != 0) {
    char text[kReasonMax / 2];
    snprintf(text, sizeof text, "of Go's: %s", why);
    result = refuse(reason, reason_bytes, text);
  }
  if (result == 0 && !program_is_go()) find_main(&elf);
  if (result == 0 && state.executable.main != 0 && static_executable_mark_main() != 0) {
    result = refuse_failed(reason, reason_bytes, "its main() cannot be marked");
  }
  if (elf.copy >= 0) close(elf.copy);
  if (result == 0) name_process();
  leave_heap_to_executable();
  return result;
}
