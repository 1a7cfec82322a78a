// A component only: reads /data/there and writes /data/made through streams, asking each time
// whether they are ready, as an asynchronous program does; waits for input and the time together.
#include <stdio.h>
#include <stdlib.h>

#include "command.h"

typedef wasi_filesystem_types_own_descriptor_t file_t;

static void check(bool done, const char *what) {
  if (done) return;
  printf("%s failed\n", what);
  exit(1);
}

static file_t open_file(wasi_filesystem_types_borrow_descriptor_t folder, const char *name, int how,
                        int flags) {
  file_t file;
  command_string_t path;
  wasi_filesystem_types_error_code_t error;
  command_string_set(&path, name);
  check(
      wasi_filesystem_types_method_descriptor_open_at(folder, 0, &path, how, flags, &file, &error),
      name);
  return file;
}

static void wait_for(wasi_io_poll_own_pollable_t what) {
  wasi_io_poll_method_pollable_block(wasi_io_poll_borrow_pollable(what));
  wasi_io_poll_pollable_drop_own(what);
}

static void read_all(wasi_io_streams_own_input_stream_t stream) {
  wasi_io_streams_borrow_input_stream_t from = wasi_io_streams_borrow_input_stream(stream);
  wasi_io_streams_stream_error_t error;
  command_list_u8_t piece;
  for (int turns = 0;; turns++) {
    check(turns < 1000, "the end");
    if (!wasi_io_streams_method_input_stream_read(from, 3, &piece, &error)) break;
    if (piece.len == 0) wait_for(wasi_io_streams_method_input_stream_subscribe(from));
    printf("%.*s", (int)piece.len, piece.ptr);
  }
  check(error.tag == WASI_IO_STREAMS_STREAM_ERROR_CLOSED, "reading");
  printf("\n");
  wasi_io_streams_input_stream_drop_own(stream);
}

static void write_all(wasi_io_streams_own_output_stream_t stream, const char *text) {
  wasi_io_streams_borrow_output_stream_t to = wasi_io_streams_borrow_output_stream(stream);
  wasi_io_streams_stream_error_t error;
  command_string_t string;
  for (command_string_set(&string, text); string.len > 0; string.ptr++, string.len--) {
    command_list_u8_t byte = {string.ptr, 1};
    uint64_t room;
    do {
      wait_for(wasi_io_streams_method_output_stream_subscribe(to));
      check(wasi_io_streams_method_output_stream_check_write(to, &room, &error), "asking for room");
    } while (room == 0);
    check(wasi_io_streams_method_output_stream_write(to, &byte, &error), "writing");
  }
  check(wasi_io_streams_method_output_stream_blocking_flush(to, &error), "flushing");
  wasi_io_streams_output_stream_drop_own(stream);
}

bool exports_wasi_cli_run_run(void) {
  wasi_filesystem_preopens_list_tuple2_own_descriptor_string_t folders;
  wasi_filesystem_types_error_code_t error;
  wasi_io_streams_own_input_stream_t in;
  wasi_io_streams_own_output_stream_t out;
  wasi_filesystem_preopens_get_directories(&folders);
  check(folders.len == 1, "the folder");
  wasi_filesystem_types_borrow_descriptor_t folder =
      wasi_filesystem_types_borrow_descriptor(folders.ptr[0].f0);
  file_t there = open_file(folder, "there", 0, WASI_FILESYSTEM_TYPES_DESCRIPTOR_FLAGS_READ);
  file_t made =
      open_file(folder, "made",
                WASI_FILESYSTEM_TYPES_OPEN_FLAGS_CREATE | WASI_FILESYSTEM_TYPES_OPEN_FLAGS_TRUNCATE,
                WASI_FILESYSTEM_TYPES_DESCRIPTOR_FLAGS_WRITE);
  check(wasi_filesystem_types_method_descriptor_read_via_stream(
            wasi_filesystem_types_borrow_descriptor(there), 0, &in, &error),
        "a stream to read");
  read_all(in);
  check(wasi_filesystem_types_method_descriptor_write_via_stream(
            wasi_filesystem_types_borrow_descriptor(made), 0, &out, &error),
        "a stream to write");
  write_all(out, "written");
  check(wasi_filesystem_types_method_descriptor_append_via_stream(
            wasi_filesystem_types_borrow_descriptor(made), &out, &error),
        "a stream to append");
  write_all(out, "appended");
  fflush(stdout);
  return true;
}
