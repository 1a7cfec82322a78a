#include "static/main_place.h"

#include <string.h>
#include <unistd.h>

enum { kSectionsMax = 256, kNamesMax = 8192, kOneFunction = 8 };

static int32_t number_at(const unsigned char *code) {
  int32_t number;
  memcpy(&number, code, sizeof number);
  return number;
}

/* "xor %ebp, %ebp; mov %rdx, %r9; pop %rsi; mov %rsp, %rdx", after which main() is put into rdi,
 * directly before the call of __libc_start_main(). */
uintptr_t main_place(const unsigned char *code, size_t bytes, uintptr_t address) {
  static const unsigned char kBranchTarget[] = {0xf3, 0x0f, 0x1e, 0xfa};
  static const unsigned char kBegin[] = {0x31, 0xed, 0x49, 0x89, 0xd1, 0x5e, 0x48, 0x89, 0xe2};
  static const unsigned char kNumber[] = {0x48, 0xc7, 0xc7}, kAddress[] = {0x48, 0x8d, 0x3d};
  enum { kLength = 7, kLookMax = 64 };
  size_t at = bytes > sizeof kBranchTarget && memcmp(code, kBranchTarget, sizeof kBranchTarget) == 0
                  ? sizeof kBranchTarget
                  : 0;
  if (bytes < at + sizeof kBegin || memcmp(code + at, kBegin, sizeof kBegin) != 0) return 0;
  for (at += sizeof kBegin; at + kLength + 2 <= bytes && at < kLookMax; ++at) {
    const unsigned char *next = code + at + kLength;
    int calls = next[0] == 0xe8 || (next[0] == 0x67 && next[1] == 0xe8) ||
                (next[0] == 0xff && next[1] == 0x15);
    if (!calls) continue;
    if (memcmp(code + at, kNumber, sizeof kNumber) == 0) {
      return (uintptr_t)(intptr_t)number_at(code + at + sizeof kNumber);
    }
    if (memcmp(code + at, kAddress, sizeof kAddress) == 0) {
      return address + at + kLength + (uintptr_t)(intptr_t)number_at(code + at + sizeof kAddress);
    }
  }
  return 0;
}

static int is_harmless(const char *name, const Elf64_Shdr *section) {
  if (strcmp(name, ".init_array") == 0) return section->sh_size <= kOneFunction;
  return strcmp(name, ".preinit_array") != 0 && strcmp(name, ".ctors") != 0;
}

int has_no_constructors(int file, const Elf64_Ehdr *head) {
  Elf64_Shdr sections[kSectionsMax];
  char names[kNamesMax];
  size_t bytes = head->e_shnum * sizeof *sections;
  if (head->e_shnum == 0 || head->e_shnum > kSectionsMax || head->e_shentsize != sizeof *sections ||
      head->e_shstrndx >= head->e_shnum ||
      pread(file, sections, bytes, (off_t)head->e_shoff) != (ssize_t)bytes) {
    return 0;
  }
  const Elf64_Shdr *strings = &sections[head->e_shstrndx];
  if (strings->sh_size == 0 || strings->sh_size > sizeof names ||
      pread(file, names, strings->sh_size, (off_t)strings->sh_offset) !=
          (ssize_t)strings->sh_size) {
    return 0;
  }
  names[strings->sh_size - 1] = '\0';
  int found = 0;
  for (unsigned i = 0; i < head->e_shnum; ++i) {
    if (sections[i].sh_name >= strings->sh_size) return 0;
    const char *name = names + sections[i].sh_name;
    if (!is_harmless(name, &sections[i])) return 0;
    found |= strcmp(name, ".init_array") == 0;
  }
  return found;
}
