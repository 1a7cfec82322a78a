// Prints whatever could tell it which process it is in, and what happened there before. Then it
// leaves what QUERY_STRING says. What is each time another begins with "own".
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/api.h>

enum { descriptors = 12, clocks = 5 };

static uint32_t sum_of_memory(void) {
  const unsigned char *memory = (const unsigned char *)(uintptr_t)1;
  __asm__("" : "+r"(memory));
  size_t bytes = __builtin_wasm_memory_size(0) * 65536 - 1;
  uint32_t sum = 1;
  for (size_t i = 0; i < bytes; i++) sum = sum * 31 + memory[i];
  return sum;
}

static void tell_descriptor(__wasi_fd_t fd) {
  __wasi_fdstat_t state = {0};
  __wasi_filestat_t file = {0};
  __wasi_prestat_t given = {0};
  __wasi_filesize_t at = 0;
  int state_error = __wasi_fd_fdstat_get(fd, &state),
      file_error = __wasi_fd_filestat_get(fd, &file);
  int given_error = __wasi_fd_prestat_get(fd, &given), at_error = __wasi_fd_tell(fd, &at);
  printf("%u: %d %d %d %llx %llx, ", (unsigned)fd, state_error, state.fs_filetype, state.fs_flags,
         state.fs_rights_base, state.fs_rights_inheriting);
  printf("%d %llu %llu %d %llu %llu %llu %llu, ", file_error, file.dev, file.ino, file.filetype,
         file.nlink, file.size, file.mtim, file.ctim);
  printf("%d %u, %d %llu\n", given_error, (unsigned)given.u.dir.pr_name_len, at_error, at);
}

static void tell(uint32_t sum) {
  char here;
  void *allocated = malloc(1000);
  printf("memory %lu %08x, stack %p, heap %p\n", (unsigned long)__builtin_wasm_memory_size(0),
         (unsigned)sum, (void *)&here, allocated);
  for (__wasi_fd_t fd = 0; fd < descriptors; fd++) tell_descriptor(fd);
  for (uint32_t clock = 0; clock < clocks; clock++) {
    __wasi_timestamp_t step = 0;
    int error = __wasi_clock_res_get(clock, &step);
    printf("clock %u: %d %llu\n", (unsigned)clock, error, step);
  }
  uint64_t drawn = 0;
  int error = __wasi_random_get((uint8_t *)&drawn, sizeof drawn);
  printf("own drawn %d %016llx\n", error, (unsigned long long)drawn);
  __wasi_timestamp_t monotonic = 0, processor = 0;
  __wasi_clock_time_get(__WASI_CLOCKID_MONOTONIC, 1, &monotonic);
  __wasi_clock_time_get(__WASI_CLOCKID_PROCESS_CPUTIME_ID, 1, &processor);
  printf("own age %llu %llu\n", monotonic, processor);
}

static void fill_stack(int depth) {
  volatile char room[5000];
  memset((char *)room, depth, sizeof room);
  if (depth > 0) fill_stack(depth - 1);
}

static void late(void) {
  printf("late\n");
}

static void leave(const char *what) {
  fflush(stdout);
  if (strcmp(what, "closed") == 0) {
    for (__wasi_fd_t fd = 0; fd < descriptors; fd++) __wasi_fd_close(fd);
  } else if (strcmp(what, "moved") == 0) {
    __wasi_fd_renumber(3, 0);
    __wasi_fd_renumber(1, 2);
  } else if (strcmp(what, "open") == 0) {
    for (int i = 0; i < 20; i++) fopen("/data/file", "r");
  } else if (strcmp(what, "flags") == 0) {
    for (__wasi_fd_t fd = 0; fd < 3; fd++)
      __wasi_fd_fdstat_set_flags(fd, __WASI_FDFLAGS_NONBLOCK | __WASI_FDFLAGS_APPEND);
    __wasi_fd_fdstat_set_rights(3, 0, 0);
  } else if (strcmp(what, "memory") == 0) {
    size_t pages = 100;
    size_t before = __builtin_wasm_memory_grow(0, pages);
    char *grown = (char *)(uintptr_t)(before * 65536);
    if (before != (size_t)-1) memset(grown, 'x', pages * 65536);
    memset(malloc(1 << 20), 'y', 1 << 20);
    fill_stack(8);
  } else if (strcmp(what, "read") == 0) {
    char bytes[10];
    read(0, bytes, sizeof bytes);
    lseek(0, 5, SEEK_SET);
  } else if (strcmp(what, "late") == 0) {
    atexit(late);
    setenv("LEFT", "here", 1);
    exit(7);
  } else if (strcmp(what, "exit") == 0) {
    __wasi_proc_exit(9);
  } else if (strcmp(what, "trap") == 0) {
    __builtin_trap();
  }
}

int main(void) {
  uint32_t sum = sum_of_memory();
  const char *what = getenv("QUERY_STRING");
  printf("Content-Type: text/plain\r\n\r\n");
  tell(sum);
  leave(what ? what : "");
  return 0;
}
