/* Deeds on memory, files, settings and what libc keeps: see mix.h. */
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <getopt.h>
#include <locale.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mix.h"

void count(void) {
  printf("count: %d %ld\n", counter++, sum);
}

void change_umask(void) {
  printf("umask: %o\n", umask((mode_t)roll(0777)));
}

void change_folder(void) {
  static const char *const kFolders[] = {"/", "/tmp", "/usr", "/usr/lib"};
  char before[200] = "";
  check(getcwd(before, sizeof before) != NULL);
  printf("folder: %s\n", before);
  check(chdir(kFolders[roll(4)]) == 0);
}

void change_environment(void) {
  char value[20];
  printf("environment: %s\n", getenv("MIX") ? getenv("MIX") : "-");
  snprintf(value, sizeof value, "%u", roll(1000));
  setenv("MIX", value, 1);
}

void change_limit(void) {
  struct rlimit limit;
  int which = roll(2) ? RLIMIT_NOFILE : RLIMIT_STACK;
  getrlimit((__rlimit_resource_t)which, &limit);
  printf("limit: %d %d\n", which, (int)limit.rlim_cur);
  limit.rlim_cur = which == RLIMIT_NOFILE ? 700 + roll(100) : (4u << 20) + roll(100) * 4096;
  check(setrlimit((__rlimit_resource_t)which, &limit) == 0);
}

void change_name(void) {
  char name[20] = "";
  prctl(PR_GET_NAME, name);
  printf("name: %s\n", name);
  snprintf(name, sizeof name, "mix %u", roll(100));
  prctl(PR_SET_NAME, name);
}

void be_nice(void) {
  printf("nice: %d\n", nice(1));
}

void set_locale(void) {
  printf("locale: %s\n", setlocale(LC_ALL, NULL));
  setlocale(LC_ALL, roll(2) ? "C.UTF-8" : "POSIX");
}

void set_rounding(void) {
  static const int kWays[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  volatile double third = 3;
  printf("rounding: %d %.20f\n", fegetround(), 1 / third);
  fesetround(kWays[roll(4)]);
}

void draw(void) {
  static int rounds;
  printf("draw: %d %d %ld %ld\n", rounds++, rand(), random(), lrand48());
  if (roll(2)) srand(roll(100)), srandom(roll(100)), srand48(roll(100));
}

void use_hidden_state(void) {
  static char text[] = "a b c d e f", *next;
  char *words[] = {"mix", "-a", "-b", "c", NULL};
  char *word = strtok(next == NULL ? text : NULL, " ");
  next = word;
  printf("hidden: %s %d %d", word ? word : "-", optind, getopt(4, words, "ab"));
  printf(" %d %s\n", optind, l64a(roll(100000)));
}

void take_memory(void) {
  static char *blocks[50];
  int held = 0;
  for (int i = 0; i < 50; ++i) held += blocks[i] != NULL;
  printf("memory: %d\n", held);
  for (int i = 0; i < 50; ++i) {
    if (roll(3) == 0) free(blocks[i]), blocks[i] = NULL;
    if (blocks[i] == NULL && roll(2)) {
      size_t bytes = 1u << roll(19);
      blocks[i] = malloc(bytes);
      memset(blocks[i], 'x', bytes);
    }
  }
}

void map_memory(void) {
  static char *last;
  size_t bytes = (1 + roll(64)) * 4096;
  printf("mapping: %d\n", last != NULL);
  char *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; i < bytes; i += 4096) printf("%d", got[i]), got[i] = 1;
  puts("");
  if (roll(2)) mprotect(got, 4096, PROT_NONE);
  if (roll(2)) munmap(got, bytes);
  last = got;
}

void move_break(void) {
  static void *top;
  printf("break: %d\n", top != NULL);
  top = sbrk((intptr_t)(1 + roll(20)) * 4096);
  if (top != (void *)-1) printf("%d\n", *(char *)top), *(char *)top = 9;
}

void use_file(void) {
  FILE *file = tmpfile();
  char line[80] = "";
  if (file == NULL) return check(0);
  for (unsigned i = roll(2000); i > 0; --i) fprintf(file, "%u\n", i);
  rewind(file);
  check(fgets(line, sizeof line, file) != NULL || feof(file));
  printf("file: %s %ld\n", strtok(line, "\n") ? line : "-", ftell(file));
  if (roll(2)) fclose(file);
}

void move_descriptors(void) {
  int fds[2], fd = 3 + (int)roll(60);
  check(pipe(fds) == 0);
  printf("descriptors: %d %d %d\n", fds[0], fds[1], fcntl(fd, F_GETFD));
  dup2(fds[1], fd == fds[0] ? 90 : fd);
  if (roll(2)) close(fds[0]);
}

void redirect(void) {
  fflush(stdout);
  int kept_stdout = dup(1), null = open("/dev/null", O_WRONLY);
  printf("redirect: %d %d\n", kept_stdout, null);
  fflush(stdout);
  dup2(null, 1);
  puts("nobody sees this"), fflush(stdout);
  dup2(kept_stdout, 1);
  if (roll(2)) close(kept_stdout);
}

void read_input(void) {
  char line[40] = "";
  printf("input: %s\n", fgets(line, sizeof line, stdin) != NULL ? strtok(line, "\n") : "end");
}

void print_much(void) {
  for (unsigned i = roll(3000); i > 0; --i) printf("%u ", i * 7919);
  puts("");
}

void set_buffer(void) {
  static char buffer[4096];
  fflush(stdout);
  printf("buffer: %d\n", buffer[0] != 0);
  fflush(stdout);
  if (roll(2)) setvbuf(stderr, buffer, _IOFBF, sizeof buffer), fputs("on stderr\n", stderr);
}

void lock_file(void) {
  int fd = open("/usr", O_RDONLY);
  printf("lock: %d", flock(fd, LOCK_EX | LOCK_NB));
  printf(" %d\n", fcntl(fd, F_GETFD));
}

void jump(void) {
  static jmp_buf place;
  static int jumps;
  int value = setjmp(place);
  printf("jump: %d %d\n", value, jumps);
  if (value == 0) ++jumps, longjmp(place, 1 + (int)roll(5));
}

void load_library(void) {
  static void *library;
  printf("library: %d", library != NULL);
  library = dlopen("libm.so.6", RTLD_NOW);
  double (*cosine)(double) = library == NULL ? NULL : (double (*)(double))dlsym(library, "cos");
  printf(" %.3f\n", cosine != NULL ? cosine(roll(10)) : -1);
  if (roll(2) && library != NULL) dlclose(library);
}

void keep(void) {
  printf("kept: %s\n", kept != NULL ? kept : "-");
  kept = strdup(getenv("MIX") ? getenv("MIX") : "nothing");
}

void use_socket(void) {
  int ends[2];
  char text[10] = "";
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  check(write(ends[0], "word", 4) == 4);
  check(read(ends[1], text, sizeof text - 1) == 4);
  printf("socket: %d %s\n", ends[0], text);
}

static void at_end(void) {
  printf("at exit: %d\n", counter), fflush(stdout);
}

void register_end(void) {
  static int ends;
  printf("ends: %d\n", ends++);
  atexit(at_end);
}
