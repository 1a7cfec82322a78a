// Signs a guestbook at a constant rate and prints what it found as one line of JSON.
//
//   constant_rate PORT PATH BODY RATE SECONDS CONNECTIONS
//
// A signing is a POST of the form BODY to PATH, which must answer 303, and then a GET of the same,
// as a browser does, which must answer 200; with an empty BODY it is the GET alone. RATE is in
// signings per second; 0: as many as CONNECTIONS can do, one after another on each. Signing n is
// meant to start at n / RATE, and its latency counts from then, even if every connection is busy
// then: nothing is omitted when the server is slow. It gives up, as `overloaded`, when more than
// two seconds of signings wait. HTTP/1.1, keep-alive, 127.0.0.1.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { connections_max = 1024, buffer_bytes = 256 * 1024, patience_s = 30 };

enum step { idle, posting, getting };

struct connection {
  int fd;  // -1: closed
  enum step step;
  double intended;  // the intended start of this signing
  size_t bytes;     // of the answer so far
  char *answer;
};

static struct connection all[connections_max];
static int connection_count, poll_fd, port;
static char *post_request, *get_request;
static double *latencies;
static size_t done_count, latency_room, wrong;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void open_connection(struct connection *c) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int on = 1;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
    fail("connect");
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, c->fd, &event) != 0) fail("epoll_ctl");
}

static void close_connection(struct connection *c) {
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
}

// Our requests fit into any socket's buffer. If the server has closed the connection meanwhile, it
// is opened again, once.
static void send_request(struct connection *c, const char *request) {
  size_t size = strlen(request);
  c->bytes = 0;
  for (int tries = 0; tries < 2; tries++) {
    if (c->fd < 0) open_connection(c);
    if (send(c->fd, request, size, MSG_NOSIGNAL) == (ssize_t)size) return;
    close_connection(c);
  }
  fail("send");
}

static void start(struct connection *c, double intended) {
  c->intended = intended;
  c->step = post_request ? posting : getting;
  send_request(c, post_request ? post_request : get_request);
}

static void finish(struct connection *c, int fine) {
  if (!fine) {
    wrong++;
    close_connection(c);
  }
  if (done_count == latency_room) {
    latency_room = latency_room ? latency_room * 2 : 4096;
    latencies = realloc(latencies, latency_room * sizeof *latencies);
    if (!latencies) fail("realloc");
  }
  latencies[done_count++] = now() - c->intended;
  c->step = idle;
}

// Whether the chunks from `at` on are complete.
static int chunks_are_complete(const char *at, const char *end) {
  while (at < end) {
    const char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
    if (!line_end) return 0;
    size_t size = strtoul(at, NULL, 16);
    size_t left = (size_t)(end - line_end);
    if (left < size + 4) return 0;
    if (size == 0) return 1;
    at = line_end + 2 + size + 2;
  }
  return 0;
}

enum parse { incomplete, complete, complete_and_closing };

static enum parse parse_answer(struct connection *c) {
  c->answer[c->bytes] = '\0';
  char *head_end = strstr(c->answer, "\r\n\r\n");
  if (!head_end) return incomplete;
  const char *body = head_end + 4, *end = c->answer + c->bytes;
  *head_end = '\0';
  const char *length = strcasestr(c->answer, "\r\nContent-Length:");
  int chunked = strcasestr(c->answer, "\r\nTransfer-Encoding: chunked") != NULL;
  int closing = strcasestr(c->answer, "\r\nConnection: close") != NULL;
  *head_end = '\r';
  size_t size = length ? strtoul(length + 17, NULL, 10) : 0;
  int whole = chunked ? chunks_are_complete(body, end) : (size_t)(end - body) >= size;
  return !whole ? incomplete : closing ? complete_and_closing : complete;
}

static void answered(struct connection *c, enum parse how) {
  int status = atoi(c->answer + strlen("HTTP/1.1 "));
  if (how == complete_and_closing) close_connection(c);
  if (c->step == posting && status == 303) {
    c->step = getting;
    send_request(c, get_request);
  } else {
    finish(c, c->step == getting && status == 200);
  }
}

static void readable(struct connection *c) {
  ssize_t got = recv(c->fd, c->answer + c->bytes, buffer_bytes - 1 - c->bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (c->step == idle) {  // the server has closed this idle connection
    close_connection(c);
    return;
  }
  if (got <= 0) {
    finish(c, 0);
    return;
  }
  c->bytes += (size_t)got;
  enum parse how = parse_answer(c);
  if (how != incomplete)
    answered(c, how);
  else if (c->bytes == buffer_bytes - 1)
    finish(c, 0);
}

static struct connection *idle_connection(void) {
  for (int i = 0; i < connection_count; i++)
    if (all[i].step == idle) return &all[i];
  return NULL;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile_ms(double q) {
  if (!done_count) return 0;
  size_t at = (size_t)(q * (double)done_count);
  return latencies[at < done_count ? at : done_count - 1] * 1000;
}

static void report(size_t started, double took, int overloaded) {
  qsort(latencies, done_count, sizeof *latencies, by_size);
  printf(
      "{\"started\": %zu, \"done\": %zu, \"wrong\": %zu, \"per_second\": %.3f, \"p50_ms\": %.3f, "
      "\"p90_ms\": %.3f, \"p99_ms\": %.3f, \"p999_ms\": %.3f, \"max_ms\": %.3f, \"overloaded\": "
      "%s}\n",
      started, done_count, wrong, (double)done_count / took, quantile_ms(0.5), quantile_ms(0.9),
      quantile_ms(0.99), quantile_ms(0.999), quantile_ms(1), overloaded ? "true" : "false");
}

static void make_requests(const char *path, const char *body) {
  if ((*body && asprintf(&post_request,
                         "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                         "application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n\r\n%s",
                         path, strlen(body), body) < 0) ||
      asprintf(&get_request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path) < 0)
    fail("asprintf");
  for (int i = 0; i < connection_count; i++) {
    all[i].fd = -1;
    all[i].answer = malloc(buffer_bytes);
    if (!all[i].answer) fail("malloc");
  }
}

// Waits for answers, at most until `until`, more precisely than epoll_wait's millisecond.
static void wait_for_answers(double until) {
  struct epoll_event events[64];
  struct pollfd any = {.fd = poll_fd, .events = POLLIN};
  double left = until - now();
  if (left < 0) left = 0;
  struct timespec pause = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (time_t)left) * 1e9)};
  ppoll(&any, 1, &pause, NULL);
  int count = epoll_wait(poll_fd, events, 64, 0);
  for (int i = 0; i < count; i++) readable(events[i].data.ptr);
}

int main(int argc, char **argv) {
  if (argc != 7) return fprintf(stderr, "constant_rate: read its first lines\n"), 2;
  port = atoi(argv[1]);
  double rate = atof(argv[4]), seconds = atof(argv[5]);
  connection_count = atoi(argv[6]);
  if (connection_count < 1 || connection_count > connections_max) return 2;
  make_requests(argv[2], argv[3]);
  poll_fd = epoll_create1(EPOLL_CLOEXEC);

  double begin = now(), end = begin + seconds;
  size_t started = 0;
  int overloaded = 0;
  for (;;) {
    double t = now();
    struct connection *c;
    double next = rate > 0 ? begin + (double)started / rate : t;
    while (next <= t && next < end && (c = idle_connection())) {
      start(c, next);
      started++;
      if (rate > 0) next = begin + (double)started / rate;
    }
    if (rate > 0 && next < end && t - next > 2) overloaded = 1;
    if (overloaded || (next >= end && done_count == started) || t > end + patience_s) break;
    wait_for_answers(next >= end || !idle_connection() ? t + 0.1 : next);
  }
  report(started, now() - begin, overloaded);
  return 0;
}
