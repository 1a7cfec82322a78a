// Prints its whole environment, sorted, one variable per line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static int by_name(const void *left, const void *right) {
  return strcmp(*(char *const *)left, *(char *const *)right);
}

int main(void) {
  size_t count = 0;
  while (environ[count]) count++;
  qsort(environ, count, sizeof *environ, by_name);
  fputs("Content-Type: text/plain\r\n\r\n", stdout);
  for (size_t i = 0; i < count; i++) puts(environ[i]);
  return 0;
}
