/* Finds functions in the libraries' own tables, without the loader's help, its locks and its
 * memory. Of libc's: dlvsym(), which is interposed and has no other name, and without which dlsym()
 * cannot be found either. Of other libraries': those that are visible only to some callers. */
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
  const char *library;  /* its own name, or "" */
  const ElfW(Dyn) * entries;
};

/* The loader has turned the file's offsets into addresses, unless it maps them read-only. */
static const void *in_memory(const struct dl_phdr_info *library, uintptr_t place) {
  return (const void *)(place < library->dlpi_addr ? library->dlpi_addr + place : place);
}

static int read_table(const struct dl_phdr_info *library, struct table *table) {
  const ElfW(Dyn) *entry = NULL;
  uintptr_t name = 0;
  memset(table, 0, sizeof *table);
  table->library = "";
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &library->dlpi_phdr[i];
    if (part->p_type == PT_DYNAMIC) entry = (const ElfW(Dyn) *)(library->dlpi_addr + part->p_vaddr);
  }
  table->entries = entry;
  for (; entry != NULL && entry->d_tag != DT_NULL; ++entry) {
    const void *place = in_memory(library, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) table->symbols = place;
    if (entry->d_tag == DT_STRTAB) table->names = place;
    if (entry->d_tag == DT_GNU_HASH) table->hash = place;
    if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val;
  }
  if (table->symbols == NULL || table->names == NULL || table->hash == NULL) return -1;
  if (name != 0) table->library = table->names + name;
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

/* ---- a library that is not in everybody's scope ---- */

enum { kLibrariesMax = 128 };

/* The libraries in which a caller's functions are searched: its own, those it needs, and so on. */
struct scope {
  const char *name; /* of the function */
  const void *caller;
  const char *libraries[kLibrariesMax]; /* by their names, in this order */
  size_t count, at;                     /* the one to look at next */
  void *found, *anywhere;
};

static void add(struct scope *scope, const char *library) {
  for (size_t i = 0; i < scope->count; ++i) {
    if (strcmp(scope->libraries[i], library) == 0) return;
  }
  if (scope->count < kLibrariesMax) scope->libraries[scope->count++] = library;
}

static void add_needed(struct scope *scope, const struct table *table) {
  for (const ElfW(Dyn) *entry = table->entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED) add(scope, table->names + entry->d_un.d_val);
  }
}

static int has_code(const struct dl_phdr_info *library, const void *code) {
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &library->dlpi_phdr[i];
    uintptr_t at = (uintptr_t)code - library->dlpi_addr - part->p_vaddr;
    if (part->p_type == PT_LOAD && at < part->p_memsz) return 1;
  }
  return 0;
}

static void *symbol_of(const struct dl_phdr_info *library, const struct table *table,
                       const char *name) {
  const ElfW(Sym) *found = look_up(table, name);
  void *address = found == NULL ? NULL : (void *)(library->dlpi_addr + found->st_value);
  return is_of_this_library(address) ? NULL : address;
}

static int look_in_callers(struct dl_phdr_info *library, size_t bytes, void *context) {
  (void)bytes;
  struct scope *scope = context;
  struct table table;
  if (read_table(library, &table) != 0) return 0;
  void *address = symbol_of(library, &table, scope->name);
  if (scope->anywhere == NULL) scope->anywhere = address;
  if (!has_code(library, scope->caller)) return 0;
  add_needed(scope, &table);
  scope->found = address;
  return 0;
}

static int look_in_next(struct dl_phdr_info *library, size_t bytes, void *context) {
  (void)bytes;
  struct scope *scope = context;
  struct table table;
  if (read_table(library, &table) != 0) return 0;
  if (strcmp(table.library, scope->libraries[scope->at]) != 0) return 0;
  add_needed(scope, &table);
  scope->found = symbol_of(library, &table, scope->name);
  return 1;
}

void *symbol_for(const char *name, const void *caller) {
  struct scope scope = {.name = name, .caller = caller};
  dl_iterate_phdr(look_in_callers, &scope);
  for (; scope.found == NULL && scope.at < scope.count; ++scope.at) {
    dl_iterate_phdr(look_in_next, &scope);
  }
  return scope.found;
}

void *any_symbol(const char *name) {
  struct scope scope = {.name = name};
  dl_iterate_phdr(look_in_callers, &scope);
  return scope.anywhere;
}
