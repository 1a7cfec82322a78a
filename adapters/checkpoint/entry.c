/* What an executable begins with. */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "checkpoint.h"

#if defined(__x86_64__) || defined(__aarch64__)

/* From its dynamic section. libc may or may not have added the base to the addresses there. */
struct dynamic {
  uintptr_t base;
  const char *strings;
  const Elf64_Sym *symbols;
  const Elf64_Rela *relocations[2];
  size_t bytes[2];
};

static const void *address_of(const struct dynamic *dynamic, const Elf64_Dyn *entry) {
  uintptr_t address = entry->d_un.d_ptr;
  return (const void *)(address < dynamic->base ? address + dynamic->base : address);
}

static void read_dynamic(struct dynamic *dynamic, const Elf64_Dyn *entry) {
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_STRTAB:
        dynamic->strings = address_of(dynamic, entry);
        break;
      case DT_SYMTAB:
        dynamic->symbols = address_of(dynamic, entry);
        break;
      case DT_RELA:
        dynamic->relocations[0] = address_of(dynamic, entry);
        break;
      case DT_RELASZ:
        dynamic->bytes[0] = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        dynamic->relocations[1] = address_of(dynamic, entry);
        break;
      case DT_PLTRELSZ:
        dynamic->bytes[1] = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
}

static int refers_to(const struct dynamic *dynamic, const char *name) {
  if (dynamic->strings == NULL || dynamic->symbols == NULL) return 0;
  for (int part = 0; part < 2; ++part) {
    const Elf64_Rela *relocation = dynamic->relocations[part];
    size_t count = relocation == NULL ? 0 : dynamic->bytes[part] / sizeof *relocation;
    for (size_t i = 0; i < count; ++i, ++relocation) {
      const Elf64_Sym *symbol = &dynamic->symbols[ELF64_R_SYM(relocation->r_info)];
      if (strcmp(dynamic->strings + symbol->st_name, name) == 0) return 1;
    }
  }
  return 0;
}

/* The executable is the first of the list. */
static int look(struct dl_phdr_info *info, size_t bytes, void *found) {
  (void)bytes;
  struct dynamic dynamic = {.base = info->dlpi_addr};
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const Elf64_Phdr *segment = &info->dlpi_phdr[i];
    if (segment->p_type == PT_DYNAMIC)
      read_dynamic(&dynamic, (const Elf64_Dyn *)(info->dlpi_addr + segment->p_vaddr));
  }
  *(int *)found = refers_to(&dynamic, "__libc_start_main");
  return 1;
}

int calls_start_of_libc(void) {
  int found = 0;
  dl_iterate_phdr(look, &found);
  return found;
}

#else

int calls_start_of_libc(void) {
  return 1;
}

#endif
