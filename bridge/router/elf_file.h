// What an ELF file says about itself: which machine it is for, and which loader it wants.
#pragma once

#include <elf.h>

#include <string>

namespace router {

#if defined(__x86_64__)
inline constexpr Elf64_Half kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr Elf64_Half kOwnMachine = EM_AARCH64;
#else
#error "the checkpoint library knows x86-64 and aarch64"
#endif

// The dynamic loader that a 64-bit ELF file asks for; empty if it is static.
std::string elf_loader(int fd, const Elf64_Ehdr& header);

// Whether Go's linker has left its note in a 64-bit ELF file (".note.go.buildid", which stripping
// leaves).
bool elf_is_go(int fd, const Elf64_Ehdr& header);

}  // namespace router
