// What a request brings to its program, and who is told what becomes of it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "cgi/refusal.h"
#include "compare/arm.h"
#include "upstream/answer_sink.h"
#include "worker/worker.h"

namespace pool {

// Whether somebody waits for the answer. shadow: it is only compared; such a request is counted
// nowhere, takes no place of workers.max, is served after all clients', and is refused where a
// client's would run classic instead.
enum class ForWhom { client, shadow };

// Everything is borrowed and lives as long as the Run.
struct Job {
  const std::vector<std::string>& query_words;  // after the program's own argv
  base::ByteView environment;                   // "K=V\0..."
  std::uint32_t environment_count;
  // Which side it is given. A client's runs classic all the same while the program is not warm.
  compare::Side side = compare::Side::persistent;
  ForWhom for_whom = ForWhom::client;
};

// The request's side. All run on the loop, and none before Run's constructor has returned; all
// but descriptors(), body() and the functions of AnswerSink may destroy the Run.
//
// A program that speaks FastCGI has no descriptors of its own for a request: it is given body(),
// and its answer comes by the AnswerSink.
class RunClient : public upstream::AnswerSink {
 public:
  // The program is about to start: makes the three descriptors that become its 0, 1 and 2. They
  // are borrowed, and asked for again if a worker that had been given them was gone before it
  // began: then the same ones have to be there still. That it has begun shows in its output or
  // its end.
  virtual base::Result<std::array<int, 3>> descriptors() = 0;

  // The same for one that speaks FastCGI: where the request's body can be read, a copy of the
  // descriptor; none if there is no body.
  virtual base::Result<base::UniqueFd> body() = 0;

  // The program has them, for the first time. arm: how it really runs.
  virtual void on_started(compare::Arm arm) = 0;

  // The program came to its end. Its output may still be in the pipes, and is read now, as far as
  // the client takes it. Returns whether there was, or will be, any.
  virtual worker::Printed on_ended(const worker::Ending& ending) = 0;

  // It does not run: no room in time (503), or it could not be started (502). After on_started()
  // only if a worker was gone before it began.
  virtual void on_refused(const cgi::Refusal& refusal) = 0;
};

}  // namespace pool
