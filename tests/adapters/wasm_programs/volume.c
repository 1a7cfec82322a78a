// QUERY_STRING=N: answers with N bytes, of which the one at place i is i % 251. Without it, reads
// the whole body and says how many bytes it had and their sum modulo 2^32.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { period = 251, piece_bytes = period * 256 };
static unsigned char piece[piece_bytes];

static int send(uint64_t left) {
  for (int i = 0; i < piece_bytes; i++) piece[i] = (unsigned char)(i % period);
  while (left) {
    size_t bytes = left < piece_bytes ? (size_t)left : piece_bytes;
    if (fwrite(piece, 1, bytes, stdout) != bytes) return 1;
    left -= bytes;
  }
  return 0;
}

int main(void) {
  const char *wanted = getenv("QUERY_STRING");
  printf("Content-Type: application/octet-stream\r\n\r\n");
  if (wanted && *wanted) return send(strtoull(wanted, NULL, 10));
  uint64_t bytes = 0;
  uint32_t sum = 0;
  for (ssize_t got; (got = read(STDIN_FILENO, piece, sizeof piece)) > 0; bytes += (uint64_t)got)
    for (ssize_t i = 0; i < got; i++) sum += piece[i];
  printf("%llu %lu\n", (unsigned long long)bytes, (unsigned long)sum);
  return 0;
}
