// What a request brings to its program, and who learns what becomes of the request.
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

// Whether somebody waits for the answer. shadow: the answer is only compared. Such a request is
// counted nowhere, takes no place of workers.max, is served after all clients' requests, and is
// refused where a client's would run classic instead.
enum class ForWhom { client, shadow };

// Everything is borrowed and must live as long as the Run.
struct Job {
  const std::vector<std::string>& query_words;  // after the program's own argv
  base::ByteView environment;                   // "K=V\0..."
  std::uint32_t environment_count;
  // Which side is to answer it. A client's request runs classic all the same while the program is
  // not warm.
  compare::Side side = compare::Side::persistent;
  ForWhom for_whom = ForWhom::client;
  // It is what another worker executes in the middle of its request, whose descriptors come from
  // there: it is answered warm, or refused.
  bool executed = false;
};

// The request's side. All functions run on the loop, and none before Run's constructor has
// returned; all except descriptors(), body() and those of AnswerSink may destroy the Run.
//
// A program that speaks FastCGI gets no descriptors for a request: it is given body(), and its
// answer comes through the AnswerSink.
class RunClient : public upstream::AnswerSink {
 public:
  // The program is about to start: makes the three descriptors that become its 0, 1 and 2. They are
  // borrowed. They are asked for again if a worker that had got them was gone before it began; the
  // same ones must still exist then. The request's output, or its end, shows that the program has
  // begun.
  virtual base::Result<std::array<int, 3>> descriptors() = 0;

  // The worker that is to take the request has kept the pipes of its last one: whether they are
  // used for this one, which then must be without a body. If so, outputs, our ends, are taken.
  virtual bool reuse_streams(base::FdPair& /*outputs*/) { return false; }

  // Of a job that is executed: the socket by which they come (message/wire.h, REQUEST_BY_PEER),
  // borrowed.
  virtual int peer() { return -1; }

  // The same for a program that speaks FastCGI: a copy of the descriptor from which the request's
  // body can be read; none if there is no body.
  virtual base::Result<base::UniqueFd> body() = 0;

  // The program has got them, for the first time. arm: how it really runs.
  virtual void on_started(compare::Arm arm) = 0;

  // The program ended. Its output may still be in the pipes; it is read now, as far as the client
  // takes it. Returns whether there was, or will be, any.
  virtual worker::Printed on_ended(const worker::Ending& ending) = 0;

  // The request does not run: there was no room in time (503), or the program could not be started
  // (502). After on_started() only if a worker was gone before it began.
  virtual void on_refused(const cgi::Refusal& refusal) = 0;
};

}  // namespace pool
