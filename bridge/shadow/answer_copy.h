// A copy of what a program answered, for comparison.
#pragma once

#include <string>

#include "base/bytes.h"
#include "cgi/response_head.h"
#include "compare/answer.h"
#include "worker/worker.h"

namespace shadow {

// Collects an answer while it passes, up to a limit.
class AnswerCopy {
 public:
  // body_max: the most bytes of a body that is compared (Shadow::answer_max).
  explicit AnswerCopy(std::size_t body_max) : body_max_(body_max) {}

  // Takes its lines as "Name: value\n", without Status, which is a separate number.
  void take_head(const cgi::ResponseHead& head);
  void add_body(base::ByteView piece);

  // More than body_max came; one byte more than that is kept, so that the copy differs from any
  // that fits.
  bool too_large() const { return answer_.body.size() > body_max_; }

  // The program has ended in this way. The copy is empty afterwards.
  compare::Answer finish(const worker::Ending& ending);

 private:
  const std::size_t body_max_;
  compare::Answer answer_;
};

}  // namespace shadow
