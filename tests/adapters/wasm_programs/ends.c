// QUERY_STRING says what it does before it ends: sleep for a minute, read all of its body, or print
// half a megabyte. Then it writes DATA/ended.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  const char *deed = getenv("QUERY_STRING"), *data = getenv("DATA");
  static char piece[65536], path[256];
  printf("Content-Type: text/plain\r\n\r\nbegun\n");
  fflush(stdout);
  if (!strcmp(deed, "sleep")) sleep(60);
  if (!strcmp(deed, "read"))
    while (read(STDIN_FILENO, piece, sizeof piece) > 0) continue;
  if (!strcmp(deed, "print"))
    for (int i = 0; i < 8; i++) write(STDOUT_FILENO, piece, sizeof piece);
  snprintf(path, sizeof path, "%s/ended", data);
  FILE *file = fopen(path, "w");
  if (!file) return 1;
  fputs("whole\n", file);
  return fclose(file) ? 1 : 3;
}
