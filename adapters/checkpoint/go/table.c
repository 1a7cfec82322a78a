#include "go/table.h"

#include <string.h>

/* Go 1.18; 1.20 and newer; then those whose tables have another form: 1.16; 1.2. */
static const uint32_t kMarks[] = {0xfffffff0u, 0xfffffff1u, 0xfffffffau, 0xfffffffbu};
enum { kMarksRead = 2, kMarksKnown = sizeof kMarks / sizeof *kMarks };

/* runtime.pcHeader: mark, two zeros, the least size of an instruction, the size of a pointer; then
 * words, of which these are needed. */
enum { kHeadBytes = 8, kWordBytes = 8, kPointerBytes = 8 };
enum { kFunctionCount = 0, kNamesAt = 3, kFunctionsAt = 7, kHeadWords = 8 };
enum { kPairBytes = 8, kFunctionsMax = 10000000, kNameMax = 4096 };

static uint32_t half_at(const unsigned char *at) {
  uint32_t half;
  memcpy(&half, at, sizeof half);
  return half;
}

static uint64_t word_at(const unsigned char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static int begins_table(const unsigned char *at, size_t marks) {
  uint32_t mark = half_at(at);
  int is_known = 0;
  for (size_t i = 0; i < marks; ++i) is_known |= mark == kMarks[i];
  return is_known && at[4] == 0 && at[5] == 0 && at[6] == 1 && at[7] == kPointerBytes;
}

static int read_head(struct go_table *table, const unsigned char *at, const unsigned char *end) {
  const unsigned char *words = at + kHeadBytes;
  uint64_t count = word_at(words + kFunctionCount * kWordBytes);
  uint64_t names = word_at(words + kNamesAt * kWordBytes);
  uint64_t functions = word_at(words + kFunctionsAt * kWordBytes);
  uint64_t bytes = (uint64_t)(end - at);
  if (count == 0 || count > kFunctionsMax || names >= bytes || functions >= bytes) return -1;
  if ((count + 1) * kPairBytes > bytes - functions) return -1;
  *table = (struct go_table){.start = at,
                             .end = end,
                             .functions = at + functions,
                             .count = (size_t)count,
                             .names = (const char *)at + names};
  return 0;
}

/* From there on; NULL: none. */
static const unsigned char *next_table(const unsigned char *from, const unsigned char *to,
                                       size_t marks) {
  enum { kAlignment = 8, kHead = kHeadBytes + kHeadWords * kWordBytes };
  uintptr_t first = ((uintptr_t)from + kAlignment - 1) & ~(uintptr_t)(kAlignment - 1);
  for (const unsigned char *at = (const unsigned char *)first; at + kHead <= to; at += kAlignment) {
    if (begins_table(at, marks)) return at;
  }
  return NULL;
}

int go_table_find(struct go_table *table, const unsigned char *from, const unsigned char *to) {
  const unsigned char *at = next_table(from, to, kMarksRead);
  while (at != NULL && read_head(table, at, to) != 0) at = next_table(at + 1, to, kMarksRead);
  return at != NULL ? 0 : -1;
}

int go_table_is_there(const unsigned char *from, const unsigned char *to) {
  return next_table(from, to, kMarksKnown) != NULL;
}

static uintptr_t place_of(const struct go_table *table, size_t number) {
  return table->base + half_at(table->functions + number * kPairBytes);
}

/* The name is where the function's own entry says, which begins with its place. */
int go_table_function(const struct go_table *table, size_t number, struct go_function *function) {
  enum { kNameAt = 4, kLeast = 8 };
  if (number >= table->count) return -1;
  uint64_t entry = half_at(table->functions + number * kPairBytes + 4);
  uint64_t left = (uint64_t)(table->end - table->functions);
  if (entry > left || left - entry < kLeast) return -1;
  uint64_t name = half_at(table->functions + entry + kNameAt);
  uint64_t names_left = (uint64_t)((const char *)table->end - table->names);
  if (name >= names_left) return -1;
  size_t most = names_left - name < kNameMax ? (size_t)(names_left - name) : kNameMax;
  if (memchr(table->names + name, '\0', most) == NULL) return -1;
  *function = (struct go_function){.name = table->names + name,
                                   .start = place_of(table, number),
                                   .end = place_of(table, number + 1)};
  return function->end > function->start ? 0 : -1;
}

int go_table_function_at(const struct go_table *table, uintptr_t address,
                         struct go_function *function) {
  size_t low = 0, high = table->count;
  if (address < place_of(table, 0) || address >= place_of(table, table->count)) return -1;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (place_of(table, middle) <= address) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return go_table_function(table, low, function);
}
