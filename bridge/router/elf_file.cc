#include "router/elf_file.h"

#include <unistd.h>

#include <array>

namespace router {

std::string elf_loader(int fd, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_phnum && i < 64; ++i) {
    Elf64_Phdr segment;
    const off_t at = static_cast<off_t>(header.e_phoff + i * sizeof segment);
    if (::pread(fd, &segment, sizeof segment, at) != sizeof segment) return {};
    if (segment.p_type != PT_INTERP || segment.p_filesz > 4096) continue;
    std::string loader(segment.p_filesz, '\0');
    const ssize_t got =
        ::pread(fd, loader.data(), loader.size(), static_cast<off_t>(segment.p_offset));
    if (got != static_cast<ssize_t>(loader.size())) return {};
    return loader.c_str();  // without its NUL
  }
  return {};
}

bool is_of_go(int fd, const Elf64_Ehdr& header) {
  constexpr std::array<char, 4> kOwner = {'G', 'o', '\0', '\0'};  // of a note of 4 bytes' name
  for (unsigned i = 0; i < header.e_phnum && i < 64; ++i) {
    Elf64_Phdr segment;
    const off_t at = static_cast<off_t>(header.e_phoff + i * sizeof segment);
    if (::pread(fd, &segment, sizeof segment, at) != sizeof segment) return false;
    if (segment.p_type != PT_NOTE) continue;
    Elf64_Nhdr note;
    std::array<char, 4> owner;
    const auto place = static_cast<off_t>(segment.p_offset);
    if (::pread(fd, &note, sizeof note, place) != sizeof note || note.n_namesz != owner.size() ||
        ::pread(fd, owner.data(), owner.size(), place + static_cast<off_t>(sizeof note)) !=
            static_cast<ssize_t>(owner.size())) {
      continue;
    }
    if (owner == kOwner) return true;
  }
  return false;
}

}  // namespace router
