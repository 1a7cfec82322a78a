// Where the answer of a program that speaks FastCGI goes.
#pragma once

#include "base/bytes.h"

namespace upstream {

// Receives an answer as it comes, without pipes in between. Runs on the loop; may not destroy the
// worker.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;

  // Whether it accepts more. While it does not, the program is not read; worker::Worker::resume()
  // tells the worker when it does again. What is left after the program's end is delivered anyway.
  virtual bool has_room() const = 0;
  virtual void on_output(base::ByteView bytes) = 0;
  virtual void on_errors(base::ByteView bytes) = 0;
};

}  // namespace upstream
