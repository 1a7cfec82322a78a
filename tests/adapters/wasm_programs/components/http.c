// A component of the world wasi:http/proxy: one deed a request, named by its query.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings.h"

#define SECOND 1000000000ull

typedef wasi_http_types_own_response_outparam_t answer_t;

static int runs;
static char text[1 << 16];
static size_t length;

static struct {
  wasi_http_types_own_outgoing_body_t body;
  wasi_io_streams_own_output_stream_t stream;
} out;

// ---- the answer ----

static void begin(answer_t answer, wasi_http_types_own_fields_t headers, int status) {
  wasi_http_types_result_own_outgoing_response_error_code_t response = {.is_err = false};
  response.val.ok = wasi_http_types_constructor_outgoing_response(headers);
  wasi_http_types_borrow_outgoing_response_t borrowed =
      wasi_http_types_borrow_outgoing_response(response.val.ok);
  if (!wasi_http_types_method_outgoing_response_set_status_code(borrowed, status)) abort();
  if (!wasi_http_types_method_outgoing_response_body(borrowed, &out.body)) abort();
  wasi_http_types_static_response_outparam_set(answer, &response);
  if (!wasi_http_types_method_outgoing_body_write(wasi_http_types_borrow_outgoing_body(out.body),
                                                  &out.stream))
    abort();
}

static bool send(const void *bytes, size_t size) {
  wasi_io_streams_stream_error_t error;
  for (size_t done = 0; done < size;) {
    size_t piece = size - done < 4096 ? size - done : 4096;
    bindings_list_u8_t list = {(uint8_t *)bytes + done, piece};
    if (!wasi_io_streams_method_output_stream_blocking_write_and_flush(
            wasi_io_streams_borrow_output_stream(out.stream), &list, &error))
      return false;
    done += piece;
  }
  return true;
}

static void finish(void) {
  wasi_http_types_error_code_t error;
  wasi_io_streams_output_stream_drop_own(out.stream);
  if (!wasi_http_types_static_outgoing_body_finish(out.body, NULL, &error))
    printf("not finished: %d\n", error.tag);
}

static bool add(wasi_http_types_own_fields_t headers, const char *name, const char *value,
                size_t size) {
  wasi_http_types_header_error_t error;
  bindings_string_t header = {(uint8_t *)name, strlen(name)};
  wasi_http_types_field_value_t field = {(uint8_t *)value, size};
  if (wasi_http_types_method_fields_append(wasi_http_types_borrow_fields(headers), &header, &field,
                                           &error))
    return true;
  length += sprintf(text + length, "refused with %d\n", error.tag);
  return false;
}

static wasi_http_types_own_fields_t plain_text(void) {
  wasi_http_types_own_fields_t headers = wasi_http_types_constructor_fields();
  add(headers, "Content-Type", "text/plain", 10);
  return headers;
}

static void answer_with_text(answer_t answer, int status) {
  begin(answer, plain_text(), status);
  send(text, length);
  finish();
}

// ---- the request ----

static wasi_io_streams_own_input_stream_t body_of(wasi_http_types_own_incoming_request_t request) {
  wasi_http_types_own_incoming_body_t body;
  wasi_io_streams_own_input_stream_t stream;
  if (!wasi_http_types_method_incoming_request_consume(
          wasi_http_types_borrow_incoming_request(request), &body))
    abort();
  if (!wasi_http_types_method_incoming_body_stream(wasi_http_types_borrow_incoming_body(body),
                                                   &stream))
    abort();
  return stream;
}

// False at the end. The piece is to be freed.
static bool receive(wasi_io_streams_own_input_stream_t stream, bindings_list_u8_t *piece) {
  wasi_io_streams_stream_error_t error;
  if (wasi_io_streams_method_input_stream_blocking_read(wasi_io_streams_borrow_input_stream(stream),
                                                        65536, piece, &error))
    return true;
  if (error.tag != WASI_IO_STREAMS_STREAM_ERROR_CLOSED)
    length += sprintf(text + length, "input: an error\n");
  return false;
}

static void say(const char *name, const void *bytes, size_t size) {
  length += sprintf(text + length, "%s: %.*s\n", name, (int)size, (const char *)bytes);
}

static void show(wasi_http_types_own_incoming_request_t request, answer_t answer) {
  wasi_http_types_borrow_incoming_request_t borrowed =
      wasi_http_types_borrow_incoming_request(request);
  wasi_http_types_method_t method;
  wasi_http_types_scheme_t scheme;
  bindings_string_t string;
  wasi_http_types_list_tuple2_field_name_field_value_t fields;
  wasi_http_types_method_incoming_request_method(borrowed, &method);
  length += sprintf(text + length, "method: %d\n", method.tag);
  if (method.tag == WASI_HTTP_TYPES_METHOD_OTHER)
    say("method", method.val.other.ptr, method.val.other.len);
  if (wasi_http_types_method_incoming_request_scheme(borrowed, &scheme))
    length += sprintf(text + length, "scheme: %d\n", scheme.tag);
  if (wasi_http_types_method_incoming_request_authority(borrowed, &string))
    say("authority", string.ptr, string.len);
  if (wasi_http_types_method_incoming_request_path_with_query(borrowed, &string))
    say("path", string.ptr, string.len);
  wasi_http_types_own_headers_t headers = wasi_http_types_method_incoming_request_headers(borrowed);
  wasi_http_types_method_fields_entries(wasi_http_types_borrow_fields(headers), &fields);
  for (size_t n = 0; n < fields.len; n++) {
    length +=
        sprintf(text + length, "header %.*s", (int)fields.ptr[n].f0.len, fields.ptr[n].f0.ptr);
    say("", fields.ptr[n].f1.ptr, fields.ptr[n].f1.len);
  }
  wasi_io_streams_own_input_stream_t stream = body_of(request);
  for (bindings_list_u8_t piece; receive(stream, &piece); free(piece.ptr))
    say("body", piece.ptr, piece.len);
  const char *script = getenv("SCRIPT_NAME");
  length += sprintf(text + length, "SCRIPT_NAME: %s\nruns: %d\n", script ? script : "", runs);
  answer_with_text(answer, 200);
}

// ---- deeds ----

static void echo(wasi_http_types_own_incoming_request_t request, answer_t answer) {
  begin(answer, plain_text(), 200);
  wasi_io_streams_own_input_stream_t stream = body_of(request);
  for (bindings_list_u8_t piece; receive(stream, &piece); free(piece.ptr))
    send(piece.ptr, piece.len);
  finish();
}

static void drain(wasi_http_types_own_incoming_request_t request, answer_t answer) {
  unsigned long long all = 0;
  wasi_io_streams_own_input_stream_t stream = body_of(request);
  for (bindings_list_u8_t piece; receive(stream, &piece); free(piece.ptr)) all += piece.len;
  length += sprintf(text + length, "%llu bytes\n", all);
  answer_with_text(answer, 200);
}

static void volume(answer_t answer, unsigned long long size) {
  static char bytes[65536];
  memset(bytes, 'x', sizeof bytes);
  begin(answer, plain_text(), 200);
  for (; size > sizeof bytes; size -= sizeof bytes)
    if (!send(bytes, sizeof bytes)) return;
  send(bytes, size);
  finish();
}

static void stream_slowly(answer_t answer) {
  begin(answer, plain_text(), 200);
  for (int n = 0; n < 5; n++) {
    length = sprintf(text, "piece %d\n", n);
    send(text, length);
    wasi_io_poll_own_pollable_t alarm = wasi_clocks_monotonic_clock_subscribe_duration(SECOND / 5);
    wasi_io_poll_method_pollable_block(wasi_io_poll_borrow_pollable(alarm));
    wasi_io_poll_pollable_drop_own(alarm);
  }
  finish();
}

static void try_headers(answer_t answer) {
  static const char *const fields[][2] = {
      {"Connection", "close"},
      {"Transfer-Encoding", "chunked"},
      {"Keep-Alive", "1"},
      {"Upgrade", "x"},
      {"TE", "trailers"},
      {"Trailer", "X"},
      {"Status", "404"},
      {"X-A", "a\r\nX-B: b"},
      {"X-C", "a\nb"},
      {"X-D", "a\rb"},
      {"X-E: e\r\nX-F", "f"},
      {"", "empty"},
      {"X G", "g"},
      {"Content-Length", "+5"},
  };
  wasi_http_types_own_fields_t headers = plain_text();
  for (size_t n = 0; n < sizeof fields / sizeof *fields; n++)
    if (add(headers, fields[n][0], fields[n][1], strlen(fields[n][1])))
      say("accepted", fields[n][0], strlen(fields[n][0]));
  if (add(headers, "X-NUL", "a\0b", 3)) say("accepted", "NUL", 3);
  add(headers, "X-Good", "gr\xc3\xbc\xc3\x9f dich", 11);
  begin(answer, headers, 201);
  send(text, length);
  finish();
}

static void ask_others(answer_t answer) {
  wasi_http_outgoing_handler_own_future_incoming_response_t future;
  wasi_http_types_error_code_t error;
  bindings_string_t authority = {(uint8_t *)"localhost:80", 12};
  wasi_http_types_own_outgoing_request_t request =
      wasi_http_types_constructor_outgoing_request(wasi_http_types_constructor_fields());
  wasi_http_types_method_outgoing_request_set_authority(
      wasi_http_types_borrow_outgoing_request(request), &authority);
  bool sent = wasi_http_outgoing_handler_handle(request, NULL, &future, &error);
  length = sprintf(text, sent ? "sent\n" : "refused with %d, denied is %d\n", error.tag,
                   WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_DENIED);
  answer_with_text(answer, 200);
}

static void read_a_file(answer_t answer) {
  FILE *file = fopen("/data/there", "r");
  length = file ? fread(text, 1, 100, file) : (size_t)sprintf(text, "no file\n");
  answer_with_text(answer, 200);
}

static void set_error(answer_t answer) {
  wasi_http_types_result_own_outgoing_response_error_code_t response = {.is_err = true};
  response.val.err.tag = WASI_HTTP_TYPES_ERROR_CODE_LOOP_DETECTED;
  wasi_http_types_static_response_outparam_set(answer, &response);
}

static void be_short(answer_t answer) {
  wasi_http_types_own_fields_t headers = plain_text();
  add(headers, "Content-Length", "10", 2);
  begin(answer, headers, 200);
  send("12345", 5);
  finish();
}

static void trap_late(answer_t answer) {
  begin(answer, plain_text(), 200);
  send("begun\n", 6);
  __builtin_trap();
}

static void fill(answer_t answer) {
  static void *volatile kept;
  int pieces = 0;
  while ((kept = malloc(1 << 20))) pieces++;
  length = sprintf(text, "refused after %d MiB\n", pieces);
  answer_with_text(answer, 200);
}

static void draw(answer_t answer) {
  bindings_list_u8_t bytes;
  wasi_random_random_get_random_bytes(16, &bytes);
  length = sprintf(text, "drawn ");
  for (size_t n = 0; n < bytes.len; n++) length += sprintf(text + length, "%02x", bytes.ptr[n]);
  length += sprintf(text + length, "\n");
  answer_with_text(answer, 200);
}

void exports_wasi_http_incoming_handler_handle(
    exports_wasi_http_incoming_handler_own_incoming_request_t request,
    exports_wasi_http_incoming_handler_own_response_outparam_t answer) {
  bindings_string_t path;
  static char deed[1024];
  runs++;
  if (wasi_http_types_method_incoming_request_path_with_query(
          wasi_http_types_borrow_incoming_request(request), &path)) {
    char *query = memchr(path.ptr, '?', path.len);
    if (query)
      snprintf(deed, sizeof deed, "%.*s", (int)((char *)path.ptr + path.len - query - 1),
               query + 1);
  }
  if (strcmp(deed, "echo") == 0) return echo(request, answer);
  if (strcmp(deed, "drain") == 0) return drain(request, answer);
  if (strncmp(deed, "volume=", 7) == 0) return volume(answer, strtoull(deed + 7, NULL, 10));
  if (strncmp(deed, "status=", 7) == 0) return answer_with_text(answer, atoi(deed + 7));
  if (strcmp(deed, "slowly") == 0) return stream_slowly(answer);
  if (strcmp(deed, "headers") == 0) return try_headers(answer);
  if (strcmp(deed, "outgoing") == 0) return ask_others(answer);
  if (strcmp(deed, "file") == 0) return read_a_file(answer);
  if (strcmp(deed, "draw") == 0) return draw(answer);
  if (strcmp(deed, "error") == 0) return set_error(answer);
  if (strcmp(deed, "short") == 0) return be_short(answer);
  if (strcmp(deed, "trap") == 0) __builtin_trap();
  if (strcmp(deed, "trap-late") == 0) return trap_late(answer);
  if (strcmp(deed, "silence") == 0) return wasi_http_types_response_outparam_drop_own(answer);
  if (strcmp(deed, "exit") == 0) exit(3);
  if (strcmp(deed, "print") == 0) printf("printed\n"), fflush(stdout);
  if (strcmp(deed, "fill") == 0) return fill(answer);
  show(request, answer);
}
