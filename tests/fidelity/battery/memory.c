/* Kinds of state in a process's own memory and mappings. */
#include "battery.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;
extern int in_library(int more);

KIND(global, "memory")
static int global = 7;
static void look_global(void) {
  say("%d", global);
}
static void leave_global(void) {
  global = 1;
}

KIND(zeroed, "memory")
static char zeroed[100000];
static void look_zeroed(void) {
  say("%d", zeroed[54321]);
}
static void leave_zeroed(void) {
  memset(zeroed, 1, sizeof zeroed);
}

KIND(of_a_function, "memory")
static int counted(int more) {
  static int calls;
  return calls += more;
}
static void look_of_a_function(void) {
  say("%d", counted(0));
}
static void leave_of_a_function(void) {
  counted(1);
}

KIND(of_a_library, "memory")
static void look_of_a_library(void) {
  say("%d", in_library(0));
}
static void leave_of_a_library(void) {
  in_library(1);
}

KIND(of_the_thread, "memory")
static _Thread_local int of_the_thread = 3;
static void look_of_the_thread(void) {
  say("%d", of_the_thread);
}
static void leave_of_the_thread(void) {
  of_the_thread = 1;
}

KIND(heap, "memory")
static int holds_left(const char *text, size_t bytes) {
  return memmem(text, bytes, "LEFT", 4) != NULL;
}
static void look_heap(void) {
  char *blocks[20];
  int found = 0;
  for (int i = 0; i < 20; ++i) blocks[i] = malloc(3000);
  for (int i = 0; i < 20; ++i) {
    found += holds_left(blocks[i] + 16, 2900);
    free(blocks[i]);
  }
  say("%d", found > 0);
}
static void leave_heap(void) {
  volatile char *blocks[50];
  for (int i = 0; i < 50; ++i) {
    blocks[i] = malloc(3000);
    for (int at = 0; at < 3000; ++at) blocks[i][at] = "LEFT"[at % 4];
  }
  for (int i = 0; i < 50; ++i) free((void *)blocks[i]);
}

KIND(heap_held, "memory")
static char **held;
static void look_heap_held(void) {
  say("%s", held ? *held : "none");
}
static void leave_heap_held(void) {
  held = malloc(sizeof *held);
  *held = strdup("held");
}

KIND(heap_of_200_mib, "memory")
static void look_heap_of_200_mib(void) {
  say("%d", mallinfo2().arena > (64u << 20));
}
static void leave_heap_of_200_mib(void) {
  for (int i = 0; i < 1600000; ++i) memset(malloc(112), 'L', 112);
}

KIND(break_moved, "brk")
static unsigned long first_break;
__attribute__((constructor)) static void remember_break(void) {
  free(malloc(10));
  first_break = (unsigned long)sbrk(0);
}
static void look_break_moved(void) {
  say("%d", (unsigned long)syscall(SYS_brk, 0) - first_break > (1u << 20));
}
static void leave_break_moved(void) {
  memset(sbrk(4 << 20), 'L', 4 << 20);
}

KIND(stack, "")
static __attribute__((noinline)) void look_stack(void) {
  volatile char room[65536];
  int found = 0;
  for (size_t i = 0; i + 4 < sizeof room; ++i) {
    found += room[i] == 'L' && room[i + 1] == 'E' && room[i + 2] == 'F' && room[i + 3] == 'T';
  }
  say("%d", found > 100);
}
static __attribute__((noinline)) void leave_stack(void) {
  volatile char room[60000];
  for (size_t i = 0; i < sizeof room; ++i) room[i] = "LEFT"[i % 4];
}

KIND(environment, "")
static void look_environment(void) {
  say("%s", getenv("LEFT") ? getenv("LEFT") : "none");
}
static void leave_environment(void) {
  setenv("LEFT", "left", 1);
}

KIND(environment_written_in_place, "")
static void look_environment_written_in_place(void) {
  say("%s", getenv("SCRIPT_NAME"));
}
static void leave_environment_written_in_place(void) {
  memset(getenv("SCRIPT_NAME"), 'L', 3);
}

KIND(environment_gone, "")
static void look_environment_gone(void) {
  say("%s", getenv("GATEWAY_INTERFACE"));
}
static void leave_environment_gone(void) {
  clearenv();
}

KIND(arguments_written_in_place, "")
static void look_arguments_written_in_place(void) {
  size_t length = strlen(main_argv[0]);
  say("%s", main_argv[0] + (length > 4 ? length - 4 : 0));
}
static void leave_arguments_written_in_place(void) {
  memset(main_argv[0], 'L', strlen(main_argv[0]));
}

KIND(program_name, "")
static void look_program_name(void) {
  say("%s", program_invocation_short_name);
}
static void leave_program_name(void) {
  program_invocation_short_name = "left";
}

/* An address where nothing else is mapped. */
static void *const far_away = (void *)0x200000000000;
static char *mapped_early;
__attribute__((constructor)) static void map_early(void) {
  mapped_early = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(mapped_early, 5, 1 << 16);
}
static int is_mapped(void *address) {
  unsigned char page;
  return mincore(address, 1, &page) == 0;
}

KIND(mapping_new, "mappings")
static void look_mapping_new(void) {
  say("%d", is_mapped(far_away));
}
static void leave_mapping_new(void) {
  mmap(far_away, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

KIND(mapping_shared, "mappings")
static void look_mapping_shared(void) {
  say("%d", is_mapped((char *)far_away + (2 << 20)));
}
static void leave_mapping_shared(void) {
  char *shared = mmap((char *)far_away + (2 << 20), 1 << 20, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  shared[0] = 1;
}

KIND(mapping_of_system_v, "mappings")
static void look_mapping_of_system_v(void) {
  say("%d", is_mapped((char *)far_away + (4 << 20)));
}
static void leave_mapping_of_system_v(void) {
  int id = shmget(IPC_PRIVATE, 1 << 16, 0600);
  shmat(id, (char *)far_away + (4 << 20), 0);
  shmctl(id, IPC_RMID, NULL);
}

KIND(mapping_removed, "")
static void look_mapping_removed(void) {
  say("%d", is_mapped(mapped_early) ? mapped_early[0] : -1);
}
static void leave_mapping_removed(void) {
  munmap(mapped_early, 4096);
}

KIND(mapping_moved, "")
static void look_mapping_moved(void) {
  say("%d", is_mapped(mapped_early + 8192));
}
static void leave_mapping_moved(void) {
  mremap(mapped_early + 8192, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED,
         (char *)far_away + (6 << 20));
}

KIND(mapping_protected, "")
static void look_mapping_protected(void) {
  /* The kernel writes there only if the page is writable. */
  int fd = memfd_create("source", 0);
  write(fd, "x", 1);
  lseek(fd, 0, SEEK_SET);
  say("%zd", read(fd, mapped_early + 16384, 1));
  close(fd);
}
static void leave_mapping_protected(void) {
  mprotect(mapped_early + 16384, 4096, PROT_READ);
}

KIND(mapping_emptied, "memory")
static void look_mapping_emptied(void) {
  say("%d", mapped_early[20480]);
}
static void leave_mapping_emptied(void) {
  madvise(mapped_early + 20480, 4096, MADV_DONTNEED);
}

KIND(memory_locked, "")
static void look_memory_locked(void) {
  say_status("VmLck");
}
static void leave_memory_locked(void) {
  mlock(mapped_early + 32768, 8192);
}
