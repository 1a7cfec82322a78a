// The smallest CGI program.
#include <stdio.h>

int main(void) {
  fputs("Content-Type: text/plain\r\n\r\nHello, world!\n", stdout);
  return 0;
}
