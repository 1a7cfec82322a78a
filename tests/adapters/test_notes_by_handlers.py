"""A signal's handler may call open() where the library notes what is opened before the checkpoint."""

from driver import Warm

SOURCE = r"""
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int is_over;
static pthread_t first;
static void look(void) { open("/nowhere/at/all", O_RDONLY); getenv("NOWHERE"); }
static void on_signal(int number) { look(); }
static void *interrupt(void *unused) {
  for (int i = 0; i < 20000; ++i) pthread_kill(first, SIGUSR1);
  is_over = 1;
  return unused;
}
__attribute__((constructor)) static void setup(void) {
  pthread_t other;
  first = pthread_self();
  signal(SIGUSR1, on_signal);
  pthread_create(&other, 0, interrupt, 0);
  while (!is_over) look();
  pthread_join(other, 0);
  signal(SIGUSR1, SIG_DFL);
}
int main(void) { puts("here"); return 3; }
"""


def test_a_handler_may_note_what_it_interrupts(folder):
    argv = [folder.compile("interrupted.c", SOURCE, "-pthread", "-w")]
    with Warm(argv, reset="fork") as warm:
        answer = warm.ask()
        assert (answer.text, answer.code) == ("here\n", 3)
