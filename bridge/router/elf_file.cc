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

}  // namespace router
