/* What a Go executable knows about its own functions, even when it is stripped: its runtime walks
 * stacks by this table (runtime/symtab.go, internal/abi/symtab.go; Go 1.18 and newer). */
#ifndef CGIBRIDGE_GO_TABLE_H
#define CGIBRIDGE_GO_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Its parts are in the executable's memory, which must stay mapped. */
struct go_table {
  const unsigned char *start, *end; /* the end of what may be read from start on */
  const unsigned char *functions;   /* pairs of words: where it begins, where its entry is */
  size_t count;
  const char *names;
  uintptr_t base; /* what is added to a function's place in the table */
};

struct go_function {
  const char *name; /* "main.main", "net/http.(*conn).serve"; NUL-terminated */
  uintptr_t start, end;
};

/* Looks for a table in these bytes: 0, or -1. The base is not known then. */
int go_table_find(struct go_table *table, const unsigned char *from, const unsigned char *to);
/* Whether one begins there that any Go since 1.2 has made, also those that are not read here. */
int go_table_is_there(const unsigned char *from, const unsigned char *to);

/* The function of this number, below table->count, in the order of their places: 0, or -1 if the
 * table is damaged there. */
int go_table_function(const struct go_table *table, size_t number, struct go_function *function);

/* The function that has this address: 0, or -1. */
int go_table_function_at(const struct go_table *table, uintptr_t address,
                         struct go_function *function);

#endif
