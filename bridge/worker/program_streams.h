// The descriptors 0, 1 and 2 of a request's program, and our ends of their pipes.
#pragma once

#include <array>

#include "base/result.h"
#include "base/unique_fd.h"

namespace worker {

// New ones for each request, made when first asked for. Owned by whatever runs the request.
class ProgramStreams {
 public:
  // Makes standard input a pipe into which body_end() writes; otherwise it is empty and closed. To
  // be called before anything is made.
  void set_has_body() { has_body_ = true; }
  // Makes standard input this file, read from its start.
  void set_input(base::UniqueFd file) { file_ = std::move(file); }

  // The program's three descriptors, which stay the same until close_program_ends(). Borrowed.
  base::Result<std::array<int, 3>> descriptors();
  // Takes the pipes that a worker has kept from its last request, instead of making new ones.
  // outputs: our ends. False, and they are left alone, if there is a body, or new ones were made.
  bool reuse(base::FdPair& outputs);
  // For a program that speaks FastCGI: a copy of the descriptor from which the body is read; none
  // without a body.
  base::Result<base::UniqueFd> body();

  // Our ends, which do not block. Each is handed out once; before it is made, it is none.
  base::UniqueFd take_body_end() { return std::move(body_end_); }
  base::FdPair take_outputs() { return std::move(outputs_); }
  bool has_outputs() const { return static_cast<bool>(outputs_.first); }

  // To be called when the program has certainly begun, so that no other worker has to take its
  // ends. If we held them longer, standard input's would hide that the program reads no further,
  // and the others that it is over.
  void close_program_ends() { in_ = {}, out_ = {}, err_ = {}; }

 private:
  base::Status make_body_pipe();
  base::Status make();

  bool has_body_ = false;
  base::UniqueFd in_, out_, err_;  // the program's
  base::UniqueFd file_;
  base::UniqueFd body_end_;
  base::FdPair outputs_;  // standard output and standard error
};

}  // namespace worker
