"""Which stack the frames of a handed-back call, and of a thread's end, are on: not one that the program has
for its own signals, which may be small, or gone, or in use."""

import os
import shutil

import pytest

from driver import REQUEST_ENV, Warm, run_plainly
from harness.compiled import compile_program

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere they run classic")

DEEDS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static volatile int stands;
static char *room;
static void on_signal(int number) { write(1, "handled\n", 8); }
static void use_stack(size_t bytes) {
  room = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack = {.ss_sp = room + 8192, .ss_size = bytes};
  if (sigaltstack(&stack, NULL) != 0) puts("no stack");
}
static void spawn(void) {
  char *words[] = {"/bin/true", NULL}, text[9] = "";
  pid_t child;
  int status;
  posix_spawn(&child, words[0], NULL, NULL, words, environ);
  waitpid(child, &status, 0);
  printf("%d %d\n", status, system("exit 3") >> 8);
  fflush(stdout);
  FILE *stream = popen("echo p", "r");
  fgets(text, 9, stream);
  printf("%d %s", pclose(stream), text);
}
static void handle(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
}
static void stay(void) { stands = 1; for (;;) pause(); }
static void *stay_on_small(void *unused) { use_stack(2048); mprotect(room, 8192, 0); stay(); }
static void *stay_with_none(void *unused) { use_stack(8192); munmap(room, 65536); stay(); }
static void *leave(void *unused) { munmap(room, 65536); exit(4); }
static void *end(void *unused) { return unused; }
static void start(void *(*run)(void *)) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  while (!stands && run != leave) usleep(100);
  if (run == leave) pthread_join(thread, NULL);
}
static void *write_files(void *unused) {
  FILE *file = fopen("/dev/null", "w");
  fprintf(file, "%s", "text");
  printf("%d\n", fclose(file));
  return unused;
}
static void start_small(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  printf("%d\n", pthread_create(&thread, &attributes, write_files, NULL));
  pthread_join(thread, NULL);
}
static void detach(void) {
  pthread_t thread;
  for (int i = 0; i < 20; ++i) {
    pthread_create(&thread, NULL, end, NULL);
    pthread_detach(thread);
  }
  usleep(20000);
}
int main(void) {
  const char *deed = getenv("DEED");
  setvbuf(stdout, NULL, _IONBF, 0);
  if (!strcmp(deed, "children, with a large one")) use_stack(32768), spawn();
  if (!strcmp(deed, "children, with a small one")) use_stack(4096), spawn();
  if (!strcmp(deed, "children, without one")) spawn();
  if (!strcmp(deed, "a handler that writes")) use_stack(8192), handle();
  if (!strcmp(deed, "a thread that stays, on a small one")) start(stay_on_small);
  if (!strcmp(deed, "a thread that stays, whose own is gone")) start(stay_with_none);
  if (!strcmp(deed, "the end by another thread")) use_stack(8192), start(leave);
  if (!strcmp(deed, "the end without it")) use_stack(8192), munmap(room, 65536);
  if (!strcmp(deed, "a thread with a small stack")) start_small();
  if (!strcmp(deed, "detached threads that end")) detach();
  puts("end");
  return 3;
}
"""
NAMES = [line.split('"')[1] for line in DEEDS.splitlines() if "strcmp" in line]
WAYS = {"static": ("gcc", "-static"), "dynamic": ("gcc",), "musl": ("musl-gcc", "-static")}


@pytest.fixture(scope="module", params=WAYS)
def stands(request, tmp_path_factory):
    """The program, linked in this way, and a zygote for each reset."""
    compiler, *flags = WAYS[request.param]
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source = tmp_path_factory.mktemp("stacks") / "deeds.c"
    source.write_text(DEEDS)
    program = str(source.with_suffix(""))
    compile_program(compiler, source, program, ["-O1", "-w", "-pthread", *flags])
    with Warm([program], reset="rewind") as rewind, Warm([program], reset="fork") as fork:
        yield program, (rewind, fork)


@pytest.mark.parametrize("deed", NAMES)
def test_the_program_s_stack_for_signals_is_its_own(stands, deed):
    program, zygotes = stands
    request = {"env": {**REQUEST_ENV, "DEED": deed, "PATH": "/usr/bin:/bin"}}
    plain = run_plainly([program], **request)
    assert plain.stdout.endswith(b"end\n") or plain.code == 4
    for zygote in zygotes:
        for _ in range(4):
            assert zygote.ask(**request).seen() == plain.seen(), zygote.reset
    assert (zygotes[0].workers, zygotes[0].retired) == (1, [])
