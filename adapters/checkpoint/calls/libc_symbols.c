/* Finds a function of libc's in its own table: dlvsym(), which is interposed and has no other name,
 * and without which dlsym() cannot be found either. */
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "calls/passed_calls.h"

struct symbol {
  const char *name;
  void *address;
};

struct table {
  const ElfW(Sym) * symbols;
  const char *names;
  const uint32_t *hash; /* DT_GNU_HASH: buckets, first symbol, words of its filter, shift; ... */
  const char *library;
};

/* The loader has turned the file's offsets into addresses, unless it maps them read-only. */
static const void *in_memory(const struct dl_phdr_info *library, uintptr_t place) {
  return (const void *)(place < library->dlpi_addr ? library->dlpi_addr + place : place);
}

static int read_table(const struct dl_phdr_info *library, struct table *table) {
  const ElfW(Dyn) *entry = NULL;
  uintptr_t name = 0;
  memset(table, 0, sizeof *table);
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &library->dlpi_phdr[i];
    if (part->p_type == PT_DYNAMIC) entry = (const ElfW(Dyn) *)(library->dlpi_addr + part->p_vaddr);
  }
  for (; entry != NULL && entry->d_tag != DT_NULL; ++entry) {
    const void *place = in_memory(library, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) table->symbols = place;
    if (entry->d_tag == DT_STRTAB) table->names = place;
    if (entry->d_tag == DT_GNU_HASH) table->hash = place;
    if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val;
  }
  if (table->symbols == NULL || table->names == NULL || table->hash == NULL || name == 0) return -1;
  table->library = table->names + name;
  return 0;
}

static uint32_t hash_of(const char *name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + (unsigned char)*name;
  return hash;
}

static const ElfW(Sym) * look_up(const struct table *table, const char *name) {
  enum { kWord = sizeof(ElfW(Addr)) / sizeof(uint32_t) };
  uint32_t buckets = table->hash[0], first = table->hash[1], words = table->hash[2];
  const uint32_t *bucket = table->hash + 4 + words * kWord, *chain = bucket + buckets;
  uint32_t wanted = hash_of(name), at = buckets == 0 ? 0 : bucket[wanted % buckets];
  for (; at >= first && at != 0; ++at) {
    uint32_t hash = chain[at - first];
    const ElfW(Sym) *symbol = &table->symbols[at];
    if ((hash | 1) == (wanted | 1) && symbol->st_shndx != SHN_UNDEF &&
        strcmp(table->names + symbol->st_name, name) == 0) {
      return symbol;
    }
    if ((hash & 1) != 0) break;
  }
  return NULL;
}

static int look_in(struct dl_phdr_info *library, size_t bytes, void *wanted) {
  (void)bytes;
  struct symbol *symbol = wanted;
  struct table table;
  if (read_table(library, &table) != 0 || strcmp(table.library, "libc.so.6") != 0) return 0;
  const ElfW(Sym) *found = look_up(&table, symbol->name);
  if (found == NULL) return 0;
  symbol->address = (void *)(library->dlpi_addr + found->st_value);
  return 1;
}

void *libc_symbol(const char *name) {
  struct symbol symbol = {.name = name};
  dl_iterate_phdr(look_in, &symbol);
  return symbol.address;
}
