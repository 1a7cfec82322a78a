// Workers for a program that cannot be forked at its checkpoint: they keep fork's promise without
// fork.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "loop/loop.h"
#include "worker/starter.h"

namespace worker {

// Each worker is a separate process. It is launched on demand, goes to its checkpoint like a
// zygote, and is told there to become that worker. start() launches the first one: it proves that
// the program reaches its checkpoint, and waits there until a worker is asked for.
class AheadStarter : public Starter {
 public:
  // Makes a process that is not started yet and reports to that owner.
  using Make = std::function<std::unique_ptr<Forerunner>(StarterOwner&)>;

  // reset: what workers are asked to do, until one at its checkpoint says what they really will do.
  AheadStarter(loop::Loop& loop, config::Reset reset, Make make, StarterOwner& owner,
               StarterClient& client);

  base::Status start(const WarmProgram& program) override;
  base::Status fork_worker(std::uint64_t worker_id, base::UniqueFd channel_end) override;
  base::Status verify_worker(std::uint64_t look_id, pid_t worker_pid) override;

  pid_t pid() const override;
  config::Level level() const override { return level_; }
  base::Duration start_time() const override { return start_time_; }
  config::Reset reset() const override { return reset_; }
  const std::string& reset_reason() const override { return reset_reason_; }

 private:
  // A process on its way to its checkpoint, or waiting there with no worker to become yet.
  struct Ahead final : StarterOwner {
    struct Worker {
      std::uint64_t id;
      base::UniqueFd channel_end;
    };

    explicit Ahead(AheadStarter& starter) : starter(starter) {}
    void on_ready() override { starter.on_standing(*this); }
    void on_gone(const std::string& why) override { starter.on_gone(*this, why); }
    void on_note(std::uint32_t kind, const std::string& text) override {
      starter.owner_.on_note(kind, text);
    }

    AheadStarter& starter;
    std::unique_ptr<Forerunner> process;
    std::optional<Worker> worker;  // what it is to become
    bool stands = false;           // waits at its checkpoint
    bool over = false;             // it became a worker, or is gone; removed at the end of the turn
  };

  base::Status launch(std::optional<Ahead::Worker> worker);
  void on_standing(Ahead& ahead);
  void become(Ahead& ahead);
  void on_gone(Ahead& ahead, const std::string& why);
  void sweep();

  const Make make_;
  StarterOwner& owner_;
  StarterClient& client_;
  WarmProgram program_;
  bool ready_ = false;
  config::Level level_ = config::Level::linked;
  config::Reset reset_;
  std::string reset_reason_;
  base::Duration start_time_{0};
  std::vector<std::unique_ptr<Ahead>> ahead_;
  loop::Deferred sweep_;
};

}  // namespace worker
