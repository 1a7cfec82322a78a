// A warm worker that takes the place of one which executes another program in the middle of its
// request.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "message/channel_message.h"
#include "pool/job.h"
#include "pool/run.h"

namespace pool {

class Turn;
struct Surroundings;
struct Subject;

// What the worker of a turn is about to execute: another worker takes its place if the file can be
// kept warm, and is; the file is made warm for later requests. subject, settings: of the turn's
// pool. False: not this time, and answer_execute() has not been called. Looks at the file,
// blocking.
bool let_stand_in(const Surroundings& surroundings, const Subject& subject,
                  const config::ProgramSettings& settings, Turn& turn,
                  const message::Execution& execution);

// Owned by the turn whose worker executes. That worker waits until the other one has ended the
// request, and the turn goes on until then: its client, limits and time are those of the request.
// Destroying it ends the other program.
class StandIn final : private RunClient {
 public:
  // other: the pool of what is executed; execution: as the worker said it; fixed: how many of its
  // words are other's own. The worker is answered later, by the loop.
  StandIn(Turn& turn, Pool& other, const message::Execution& execution, std::size_t fixed);
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  // The request's end, as its client sees it: the other program's, if that ran; own is that of the
  // worker which waited.
  worker::Ending ending(const worker::Ending& own) const;
  // The process that runs the program: own, that of the worker which waits, until the other one
  // does; -1 once that one has ended the request, which the worker that waits has only to hear.
  pid_t pid_instead_of(pid_t own) const;

 private:
  // RunClient
  base::Result<std::array<int, 3>> descriptors() override;
  int peer() override { return sockets_.second.get(); }
  base::Result<base::UniqueFd> body() override { return base::UniqueFd(); }
  bool has_room() const override { return true; }
  void on_output(base::ByteView) override {}
  void on_errors(base::ByteView) override {}
  void on_started(compare::Arm arm) override;
  worker::Printed on_ended(const worker::Ending& ending) override;
  void on_refused(const cgi::Refusal& refusal) override;

  Turn& turn_;
  const std::vector<std::string> words_;  // after those of the program itself
  const std::string environment_;
  base::FdPair sockets_;  // until it begins: the end of the worker that waits, and the other one's
  std::optional<worker::Ending> ended_;
  std::unique_ptr<Run> run_;
};

}  // namespace pool
