// What an ELF file says about itself: which machine it is for, and which loader it wants.
#pragma once

#include <elf.h>

#include <string>

namespace router {

#if defined(__x86_64__)
inline constexpr Elf64_Half kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr Elf64_Half kOwnMachine = EM_AARCH64;
#elif defined(__i386__)
inline constexpr Elf64_Half kOwnMachine = EM_386;
#elif defined(__arm__)
inline constexpr Elf64_Half kOwnMachine = EM_ARM;
#elif defined(__riscv)
inline constexpr Elf64_Half kOwnMachine = EM_RISCV;
#elif defined(__powerpc64__)
inline constexpr Elf64_Half kOwnMachine = EM_PPC64;
#elif defined(__s390x__)
inline constexpr Elf64_Half kOwnMachine = EM_S390;
#else
#error "the number of this machine in ELF files is not known"
#endif

// The machines that adapters/checkpoint is built for; on others programs run classic.
inline constexpr bool kHasCheckpoint =
    sizeof(void*) == 8 && (kOwnMachine == EM_X86_64 || kOwnMachine == EM_AARCH64);

// As messages name a machine: "x86-64".
std::string machine_name(unsigned machine);

// The dynamic loader that a 64-bit ELF file asks for; empty if it is static.
std::string elf_loader(int fd, const Elf64_Ehdr& header);

// Whether Go's linker has left its note in a 64-bit ELF file (".note.go.buildid", which stripping
// leaves).
bool elf_is_go(int fd, const Elf64_Ehdr& header);

}  // namespace router
