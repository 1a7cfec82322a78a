/* Requests one page again and again over one kept FastCGI connection, and compares every byte of
 * every answer: soak_client SOCKET SCRIPT REQUESTS EXPECTED [REQUEST_METHOD]
 *
 * EXPECTED is a file with the program's output. Exit code 0: all answers were equal, the
 * program's exit code was 0 each time, and nothing was written to standard error. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { kBegin = 1, kEnd = 3, kParams = 4, kStdin = 5, kStdout = 6, kStderr = 7 };

static unsigned char request[8192];
static size_t request_bytes;
static unsigned char *expected, *got;
static size_t expected_bytes, got_bytes;
static unsigned char input[1 << 16];
static size_t input_at, input_end;
static int connection;
static unsigned long asked;

static _Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *format, ...) {
  va_list words;
  va_start(words, format);
  fprintf(stderr, "request %lu: ", asked);
  vfprintf(stderr, format, words);
  fprintf(stderr, "\n");
  va_end(words);
  exit(1);
}

static void put(const void *bytes, size_t count) {
  if (request_bytes + count > sizeof request) fail("the request is too long");
  memcpy(request + request_bytes, bytes, count);
  request_bytes += count;
}

static void put_record(int type, const void *content, size_t count) {
  unsigned char head[8] = {1, (unsigned char)type,         0,
                           1, (unsigned char)(count >> 8), (unsigned char)count};
  put(head, sizeof head);
  put(content, count);
}

static size_t add_pair(unsigned char *to, const char *name, const char *value) {
  size_t name_bytes = strlen(name), value_bytes = strlen(value), at = 0;
  to[at++] = (unsigned char)name_bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    to[at++] = (unsigned char)((value_bytes >> shift) | (shift == 24 ? 0x80 : 0));
  }
  memcpy(to + at, name, name_bytes);
  memcpy(to + at + name_bytes, value, value_bytes);
  return at + name_bytes + value_bytes;
}

/* Variables that are constant for a program have the values of harness/fastcgi.py. */
static void make_request(const char *script, const char *method) {
  char name[512];
  snprintf(name, sizeof name, "/cgi-bin/%s", strrchr(script, '/') + 1);
  const char *pairs[][2] = {{"GATEWAY_INTERFACE", "CGI/1.1"},
                            {"SERVER_PROTOCOL", "HTTP/1.1"},
                            {"SERVER_SOFTWARE", "scripted"},
                            {"SERVER_NAME", "localhost"},
                            {"SERVER_PORT", "80"},
                            {"SERVER_ADDR", "127.0.0.1"},
                            {"DOCUMENT_ROOT", "/nowhere"},
                            {"REQUEST_SCHEME", "http"},
                            {"REMOTE_ADDR", "127.0.0.1"},
                            {"REQUEST_METHOD", method},
                            {"QUERY_STRING", ""},
                            {"SCRIPT_NAME", name},
                            {"SCRIPT_FILENAME", script},
                            {"REQUEST_URI", name}};
  unsigned char params[4096];
  size_t bytes = 0;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
    bytes += add_pair(params + bytes, pairs[i][0], pairs[i][1]);
  }
  const unsigned char begin[8] = {0, 1, 1}; /* a responder, on a connection that is kept */
  put_record(kBegin, begin, sizeof begin);
  put_record(kParams, params, bytes);
  put_record(kParams, NULL, 0);
  put_record(kStdin, NULL, 0);
}

static void receive(void *to, size_t count) {
  unsigned char *out = to;
  while (count > 0) {
    if (input_at == input_end) {
      ssize_t bytes = read(connection, input, sizeof input);
      if (bytes <= 0) fail("the connection ended: %s", bytes < 0 ? strerror(errno) : "closed");
      input_at = 0;
      input_end = (size_t)bytes;
    }
    size_t part = input_end - input_at < count ? input_end - input_at : count;
    memcpy(out, input + input_at, part);
    input_at += part;
    out += part;
    count -= part;
  }
}

static void check_end(const unsigned char *content) {
  unsigned status = (unsigned)content[0] << 24 | content[1] << 16 | content[2] << 8 | content[3];
  if (status != 0 || content[4] != 0) fail("ended with %u, protocol status %u", status, content[4]);
  if (got_bytes != expected_bytes || memcmp(got, expected, got_bytes) != 0) {
    fail("%zu bytes instead of %zu: %.*s", got_bytes, expected_bytes, (int)got_bytes, (char *)got);
  }
}

static void ask(void) {
  if (write(connection, request, request_bytes) != (ssize_t)request_bytes) fail("not sent");
  got_bytes = 0;
  for (;;) {
    unsigned char head[8];
    static unsigned char content[65536 + 256];
    receive(head, sizeof head);
    size_t bytes = (size_t)head[4] << 8 | head[5];
    receive(content, bytes + head[6]);
    if (head[1] == kStderr && bytes > 0) fail("stderr: %.*s", (int)bytes, (char *)content);
    if (head[1] == kStdout) {
      if (got_bytes + bytes > expected_bytes + 4096) fail("a longer answer");
      memcpy(got + got_bytes, content, bytes);
      got_bytes += bytes;
    }
    if (head[1] == kEnd) {
      check_end(content);
      return;
    }
  }
}

static void read_expected(const char *path) {
  int fd = open(path, O_RDONLY);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) fail("%s: %s", path, strerror(errno));
  expected = malloc((size_t)status.st_size + 1);
  got = malloc((size_t)status.st_size + 1 + 4096);
  ssize_t bytes = read(fd, expected, (size_t)status.st_size);
  if (bytes != status.st_size) fail("%s: not read", path);
  expected_bytes = (size_t)bytes;
  close(fd);
}

int main(int argc, char **argv) {
  if (argc < 5) fail("usage: soak_client SOCKET SCRIPT REQUESTS EXPECTED [REQUEST_METHOD]");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
  connection = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0)
    fail("%s", strerror(errno));
  read_expected(argv[4]);
  make_request(argv[2], argc > 5 ? argv[5] : "GET");
  for (unsigned long count = strtoul(argv[3], NULL, 10); asked < count;) {
    ++asked;
    ask();
  }
  return 0;
}
