// Answers with the request's body, piece by piece as it arrives, whatever its size.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int write_all(const char *bytes, size_t left) {
  while (left) {
    ssize_t written = write(STDOUT_FILENO, bytes, left);
    if (written < 0) return -1;
    bytes += written;
    left -= (size_t)written;
  }
  return 0;
}

int main(void) {
  static char piece[65536];
  const char *type = getenv("CONTENT_TYPE"), *length = getenv("CONTENT_LENGTH");
  unsigned long long left = length ? strtoull(length, NULL, 10) : 0;
  printf("Content-Type: %s\r\n\r\n", type && *type ? type : "application/octet-stream");
  fflush(stdout);
  while (left) {
    ssize_t got = read(STDIN_FILENO, piece, left < sizeof piece ? left : sizeof piece);
    if (got <= 0 || write_all(piece, (size_t)got) != 0) return 1;
    left -= (unsigned long long)got;
  }
  return 0;
}
