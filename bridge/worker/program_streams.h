// The descriptors 0, 1 and 2 of a request's program, and our ends of their pipes.
#pragma once

#include <array>

#include "base/result.h"
#include "base/unique_fd.h"

namespace worker {

// Fresh ones for each request, made when they are first asked for. Owned by whoever runs it.
class ProgramStreams {
 public:
  // Standard input is a pipe into which body_end() writes; else it is empty, and closed. Before
  // anything is made.
  void set_has_body() { has_body_ = true; }
  // Standard input is this file, from its start.
  void set_input(base::UniqueFd file) { file_ = std::move(file); }

  // The program's three, which stay the same until close_program_ends(). Borrowed.
  base::Result<std::array<int, 3>> descriptors();
  // For a program that speaks FastCGI: a copy of where the body can be read; none without a body.
  base::Result<base::UniqueFd> body();

  // Our ends, which do not block: each is given once, and is none before it was made.
  base::UniqueFd take_body_end() { return std::move(body_end_); }
  base::FdPair take_outputs() { return std::move(outputs_); }
  bool has_outputs() const { return static_cast<bool>(outputs_.first); }

  // It is sure that the program has begun, so that no other worker has to take them. Held longer,
  // standard input's would hide that the program reads no further, and the others that it is over.
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
