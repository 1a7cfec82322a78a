/* cgibridge-static: launched in the place of a static executable, with the checkpoint library
 * preloaded, which maps that executable and enters it instead of this main() (checkpoint/static/).
 * main() itself runs only without the library, for a program that executes its own /proc/PID/exe:
 * then the executable is the one that its first word names. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kCannotStart = 71 };

int main(int argc, char **argv) {
  if (argc > 0) execv(argv[0], argv);
  fprintf(stderr, "cgibridge-static: %s: %s\n", argc > 0 ? argv[0] : "no program",
          strerror(argc > 0 ? errno : EINVAL));
  return kCannotStart;
}
