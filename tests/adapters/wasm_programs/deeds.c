// One deed a request, named by QUERY_STRING: ends, traps, and what fills memory or the stack.
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int zero, seven = 7;
static volatile int calls;
static char *volatile kept;

static void unreachable(void) {
  __builtin_trap();
}

static void read_outside(void) {
  calls += *(volatile int *)0xFFFFFFF0u;
}
static void write_outside(void) {
  *(volatile int *)0xFFFFFFF0u = 1;
}
static void write_null(void) {
  *(volatile int *)(intptr_t)zero = 1;
}  // WebAssembly has address 0

static void divide_by_zero(void) {
  calls = seven / zero;
}
static void divide_too_far(void) {
  calls = (INT_MIN + zero) / (zero - 1);
}

static double halve(double x) {
  return x / 2;
}
static void call_of_another_type(void) {
  void (*volatile other)(const char *) = (void (*)(const char *))(void *)halve;
  other("x");
}
static void call_of_nothing(void) {
  void (*volatile nothing)(void) = NULL;
  nothing();
}
static void call_outside_the_table(void) {
  void (*volatile outside)(void) = (void (*)(void))(intptr_t)0x7FFFFFFF;
  outside();
}

// Fills the machine's stack, and hardly that of C, which is in linear memory.
__attribute__((noinline)) static int descend(int n) {
  calls = n;
  return n < 0 ? n : descend(n + 1) + zero + 1;
}
static void recurse(void) {
  descend(0);
}
static void recurse_a_little(void) {
  descend(-1);
}

// Fills the stack of C.
__attribute__((noinline)) static int fill(int n) {
  volatile char room[16384];
  memset((char *)room, n, sizeof room);
  return n < 0 ? n : fill(n + 1) + room[n % 16384];
}
static void fill_stack(void) {
  fill(0);
}

static void loop(void) {
  for (;;) calls++;
}
static void print_forever(void) {
  for (;;) puts("a line");
}
static void complain_forever(void) {
  for (;;) fputs("a line of complaint\n", stderr);
}
static void sleep_forever(void) {
  for (;;) sleep(1000);
}

// Until it is refused; each page is really used.
static void take_all_memory(void) {
  size_t pages = 0;
  while ((kept = malloc(65536))) {
    memset(kept, 1, 65536);
    pages++;
  }
  printf("refused after %zu pages of 64 KiB: %s\n", pages, strerror(errno));
}
static void grow_all_at_once(void) {
  printf("%d\n", (int)__builtin_wasm_memory_grow(0, 65535) == -1 ? -1 : 0);
}

static void complain(void) {
  fputs("first line\nsecond line\n", stderr);
  fputs("no end of line", stderr);
}
static void complain_long(void) {
  for (int i = 0; i < 100000; i++) putc('x', stderr);
  putc('\n', stderr);
}
static void complain_in_bytes(void) {
  for (int i = 0; i < 256; i++) putc(i, stderr);
}
static void close_output(void) {
  printf("before\n");
  fflush(stdout);
  close(STDOUT_FILENO);
  printf("after\n");
}
static void abort_at_once(void) {
  abort();
}
static void end_in_a_handler(void) {
  exit(7);
}
static void exit_with_handlers(void) {
  atexit(end_in_a_handler);
  exit(3);
}
static void exit_without_flush(void) {
  printf("this is lost\n");
  _exit(4);
}

static const struct {
  const char *name;
  void (*deed)(void);
} deeds[] = {
    {"unreachable", unreachable},
    {"read-outside", read_outside},
    {"write-outside", write_outside},
    {"write-null", write_null},
    {"divide-by-zero", divide_by_zero},
    {"divide-too-far", divide_too_far},
    {"call-of-another-type", call_of_another_type},
    {"call-of-nothing", call_of_nothing},
    {"call-outside-the-table", call_outside_the_table},
    {"recurse", recurse},
    {"recurse-a-little", recurse_a_little},
    {"fill-stack", fill_stack},
    {"loop", loop},
    {"print-forever", print_forever},
    {"complain-forever", complain_forever},
    {"sleep-forever", sleep_forever},
    {"take-all-memory", take_all_memory},
    {"grow-all-at-once", grow_all_at_once},
    {"complain", complain},
    {"complain-long", complain_long},
    {"complain-in-bytes", complain_in_bytes},
    {"close-output", close_output},
    {"abort", abort_at_once},
    {"exit-with-handlers", exit_with_handlers},
    {"exit-without-flush", exit_without_flush},
};

int main(void) {
  const char *name = getenv("QUERY_STRING");
  if (!name) name = "";
  // LATE: the head is sent before the deed.
  const char *late = getenv("LATE");
  printf("Content-Type: text/plain\r\n\r\n");
  if (late) fflush(stdout);
  if (strncmp(name, "exit=", 5) == 0) return atoi(name + 5);
  for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
    if (strcmp(name, deeds[i].name) == 0) {
      deeds[i].deed();
      printf("done\n");
      return 0;
    }
  for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) puts(deeds[i].name);
  return 0;
}
