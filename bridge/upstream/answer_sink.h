// Where the answer of a program that speaks FastCGI goes.
#pragma once

#include "base/bytes.h"

namespace upstream {

// Gets an answer as it comes, without pipes between. Runs on the loop; may not destroy the worker.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;

  // Whether it takes more. While it does not, the program is not read; worker::Worker::resume()
  // tells that it does again. What is left behind an answer's end comes all the same.
  virtual bool has_room() const = 0;
  virtual void on_output(base::ByteView bytes) = 0;
  virtual void on_errors(base::ByteView bytes) = 0;
};

}  // namespace upstream
