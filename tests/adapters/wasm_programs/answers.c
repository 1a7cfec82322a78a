// Answers of each kind that CGI has, named by QUERY_STRING.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
  const char *name, *text;
} fixed[] = {
    {"plain", "Content-Type: text/plain\r\n\r\nplain\n"},
    {"line-ends", "Content-Type: text/plain\n\nplain\n"},
    {"status", "Status: 418 I'm a teapot\r\nContent-Type: text/plain\r\n\r\nshort and stout\n"},
    {"no-content", "Status: 204 No Content\r\n\r\n"},
    {"redirect", "Location: https://example.org/elsewhere\r\n\r\n"},
    {"local-redirect", "Location: /cgi-bin/other?x=y\r\n\r\n"},
    {"nph", "HTTP/1.1 203 Perhaps\r\nContent-Type: text/plain\r\n\r\nnph\n"},
    {"two-cookies",
     "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Type: text/plain\r\n\r\ncookies\n"},
    {"no-head", "this is no header\n"},
    {"head-only", "Content-Type: text/plain\r\n"},
    {"nothing", ""},
    {"bad-status", "Status: many\r\n\r\n"},
};

// As server-sent events are: a line, a pause, a line.
static void stream(void) {
  fputs("Content-Type: text/event-stream\r\n\r\n", stdout);
  for (int i = 0; i < 10; i++) {
    printf("data: %d\n\n", i);
    fflush(stdout);
    usleep(100000);
  }
}

int main(void) {
  const char *name = getenv("QUERY_STRING");
  if (!name) name = "plain";
  if (strcmp(name, "stream") == 0) stream();
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    if (strcmp(name, fixed[i].name) == 0) fputs(fixed[i].text, stdout);
  return 0;
}
