#include "router/elf_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace router {

namespace {

constexpr unsigned kSegmentsMax = 64;
constexpr std::size_t kContentMax = 4096;

// The content of all segments of this type, each at most kContentMax bytes.
std::vector<std::string> contents_of(int fd, const Elf64_Ehdr& header, Elf64_Word type) {
  std::vector<std::string> contents;
  for (unsigned i = 0; i < header.e_phnum && i < kSegmentsMax; ++i) {
    Elf64_Phdr segment;
    const off_t at = static_cast<off_t>(header.e_phoff + i * sizeof segment);
    if (::pread(fd, &segment, sizeof segment, at) != sizeof segment) break;
    if (segment.p_type != type || segment.p_filesz > kContentMax) continue;
    std::string content(segment.p_filesz, '\0');
    const ssize_t got =
        ::pread(fd, content.data(), content.size(), static_cast<off_t>(segment.p_offset));
    if (got == static_cast<ssize_t>(content.size())) contents.push_back(std::move(content));
  }
  return contents;
}

// Notes follow one another, each padded to four bytes.
bool has_note_of(std::string_view notes, std::string_view owner) {
  constexpr std::size_t kAlign = 4;
  const auto padded = [](std::size_t bytes) { return (bytes + kAlign - 1) & ~(kAlign - 1); };
  Elf64_Nhdr head;
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    notes.remove_prefix(sizeof head);
    if (notes.substr(0, head.n_namesz) == owner) return true;
    notes.remove_prefix(std::min(notes.size(), padded(head.n_namesz) + padded(head.n_descsz)));
  }
  return false;
}

}  // namespace

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "64-bit ARM (aarch64)";
    case EM_386:
      return "32-bit x86 (i386)";
    case EM_ARM:
      return "32-bit ARM";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "PowerPC 64";
    case EM_S390:
      return "s390";
    default:
      return fmt::format("machine number {}", machine);
  }
}

std::string elf_loader(int fd, const Elf64_Ehdr& header) {
  const auto loaders = contents_of(fd, header, PT_INTERP);
  return loaders.empty() ? std::string() : loaders.front().c_str();  // without its NUL
}

bool elf_is_go(int fd, const Elf64_Ehdr& header) {
  constexpr std::string_view kOwner("Go\0\0", 4);
  const auto notes = contents_of(fd, header, PT_NOTE);
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& content) { return has_note_of(content, kOwner); });
}

}  // namespace router
