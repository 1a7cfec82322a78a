// Prints what the request gave it: words, environment in the order that it came, and body.
#include <stdio.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
  printf("Content-Type: application/octet-stream\r\n\r\n");
  for (int i = 0; i < argc; i++) printf("word %d: %s\n", i, argv[i]);
  for (char **variable = environ; *variable; variable++) printf("variable: %s\n", *variable);
  printf("body:\n");
  static char piece[4096];
  size_t got;
  while ((got = fread(piece, 1, sizeof piece, stdin)) > 0) fwrite(piece, 1, got, stdout);
  return 0;
}
