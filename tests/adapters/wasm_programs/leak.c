// Looks for what another request may have left, and leaves something of its own everywhere that it
// can: a mark, the same in every request, and QUERY_STRING after it. Prints each
// place where the mark is followed by something else, and how often it has run in this memory.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Not written down as one word, so that the text of the module is never found.
static const char mark_parts[] = "\x4d\x52\x4b";  // each character less one: LQJ
enum { mark_bytes = 6, copies = 64 };

static int runs;
static int initialized = 41;
static char zeroed[copies][64];
static char filled[copies][64] = {"begin"};

static void make_mark(char *mark) {
  for (int i = 0; i < 3; i++)
    mark[i] = (char)(mark_parts[i] - 1), mark[i + 3] = (char)(mark_parts[i] + 7);
}

static int is_mark(const char *at) {
  for (int i = 0; i < 3; i++)
    if (at[i] != (char)(mark_parts[i] - 1) || at[i + 3] != (char)(mark_parts[i] + 7)) return 0;
  return 1;
}

// Every byte of linear memory, also what malloc has given back and what is below the stack.
static int search(const char *own, size_t own_bytes) {
  const char *memory = (const char *)(uintptr_t)1;
  __asm__("" : "+r"(memory));
  size_t bytes = __builtin_wasm_memory_size(0) * 65536 - 1;
  int found = 0;
  for (size_t i = 0; i + mark_bytes + own_bytes <= bytes; i++)
    if (is_mark(memory + i) && memcmp(memory + i + mark_bytes, own, own_bytes) != 0) {
      if (found++ < 10) printf("found at %zu: %.16s\n", i + 1, memory + i + mark_bytes);
    }
  return found;
}

static void leave(const char *secret) {
  runs++;
  initialized = 99;
  for (int i = 0; i < copies; i++) {
    strcpy(zeroed[i], secret);
    strcpy(filled[i], secret);
    char *kept = malloc(1000 + 777 * (size_t)i);
    if (kept) strcpy(kept + 100, secret);
    char *freed = malloc(100000);
    if (freed) strcpy(freed + 50000, secret);
    free(freed);
  }
  setenv("LEFT", secret, 1);
  errno = 77;
  srand(5);
  if (__builtin_wasm_memory_grow(0, 16) != (size_t)-1) {
    char *end = (char *)(uintptr_t)(__builtin_wasm_memory_size(0) * 65536 - 4096);
    __asm__("" : "+r"(end));
    strcpy(end, secret);
  }
}

int main(void) {
  const char *own = getenv("QUERY_STRING");
  if (!own) own = "";
  printf("Content-Type: text/plain\r\n\r\n");
  printf("runs %d, initialized %d, zeroed %d, filled %s, left %s, errno %d, rand %d, pages %zu\n",
         runs, initialized, zeroed[1][0], filled[0], getenv("LEFT") ? getenv("LEFT") : "-", errno,
         rand(), __builtin_wasm_memory_size(0));
  printf("found %d\n", search(own, strlen(own)));
  char secret[64] = "";
  make_mark(secret);
  strncat(secret, own, 40);
  leave(secret);
  return 0;
}
