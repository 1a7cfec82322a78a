// Prints clocks, sleeps and draws, as a page would use them.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) return -1;
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(void) {
  unsigned char drawn[16];
  printf("Content-Type: text/plain\r\n\r\n");
  double before = seconds(CLOCK_MONOTONIC);
  usleep(50000);
  printf("slept %.3f\n", seconds(CLOCK_MONOTONIC) - before);
  printf("time %.3f\n", seconds(CLOCK_REALTIME));
  printf("drawn ");
  if (getentropy(drawn, sizeof drawn) != 0) printf("nothing");
  for (size_t i = 0; i < sizeof drawn; i++) printf("%02x", drawn[i]);
  time_t now = time(NULL);
  char text[64];
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", localtime(&now));
  printf("\nlocal %s\n", text);
  return 0;
}
