// A machine's processes for a test: programs, zygotes and workers that speak the real messages on
// real channels. They take as long as the test says by its own clock, and die when it says so.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fakes/process.h"
#include "worker/processes.h"

namespace fakes {

// A broken promise of the bridge is recorded in faults(), which must be empty when a test ends.
class Processes final : public worker::Processes, public ProcessHost {
 public:
  // loop outlives this; this outlives the bridge's objects.
  explicit Processes(loop::Loop& loop)
      : loop_(loop),
        deaths_(loop, [this] { tell_deaths(); }),
        late_(loop, [this] { tell_deaths(); }) {}

  // How processes that are made from now on behave.
  Nature nature{};
  // How long after a death the kernel reports it; the process's descriptors are closed earlier.
  base::Duration death_is_told_after{0};
  // If not empty: launches fail with this error.
  std::string launch_error{};

  const std::vector<std::unique_ptr<Process>>& all() const { return all_; }
  const std::vector<std::string>& faults() const { return faults_; }
  std::uint64_t launched() const { return launched_; }
  std::uint64_t zygotes_launched() const { return zygotes_launched_; }

  // The living processes of that kind, oldest first.
  std::vector<Process*> living(Kind kind) const {
    std::vector<Process*> found;
    for (const auto& process : all_) {
      if (process->lives() && process->kind() == kind) found.push_back(process.get());
    }
    return found;
  }
  std::size_t count(Kind kind) const { return living(kind).size(); }
  std::size_t count_living() const {
    return count(Kind::program) + count(Kind::zygote) + count(Kind::worker);
  }

  // Forgets processes whose death was reported, for simulations that make many.
  void sweep() {
    std::erase_if(all_, [](const auto& process) { return process->is_reaped(); });
  }

  // worker::Processes
  base::Result<pid_t> launch(const worker::LaunchSpec& spec) override {
    ++launched_;
    if (!launch_error.empty()) return base::Error{launch_error};
    const Kind kind = spec.control_fd >= 0 ? Kind::zygote : Kind::program;
    if (kind == Kind::zygote) ++zygotes_launched_;
    Process& process = add(kind, spec.file);
    process.launched(spec);
    return process.pid();
  }
  void signal_group(pid_t leader, int signal_number) override {
    Process* process = find(leader);
    if (process == nullptr || process->is_reaped()) return fault(leader, "signalled after its end");
    process->signalled(signal_number);
  }
  void kill_one(pid_t pid) override { signal_group(pid, SIGKILL); }
  void expect(pid_t pid, std::function<void(const worker::Death&)> on_death) override {
    Process* process = find(pid);
    if (process == nullptr || process->is_reaped()) return fault(pid, "expected, but not there");
    if (process->on_death != nullptr) fault(pid, "expected by two");
    process->on_death = std::move(on_death);
    if (!process->lives()) plan_deaths();
  }
  bool expects(pid_t pid) const override {
    const Process* process = find(pid);
    return process != nullptr && process->on_death != nullptr;
  }
  void forget(pid_t pid) override {
    if (Process* process = find(pid)) process->on_death = nullptr;
    plan_deaths();
  }
  void hold(pid_t pid) override { held_.insert(pid); }
  void release(pid_t pid) override {
    held_.erase(pid);
    plan_deaths();
  }
  void abandon(pid_t pid) override {
    held_.erase(pid);
    if (Process* process = find(pid)) process->on_death = nullptr;
  }
  bool is_living_child(pid_t pid) const override {
    const Process* process = find(pid);
    return process != nullptr && process->lives();
  }
  worker::Senders senders() const override { return worker::Senders::unnamed; }

 private:
  // Above every pid that Linux assigns (PID_MAX_LIMIT), so that /proc has no such entry.
  static constexpr pid_t kFirstPid = 10'000'000;

  // ProcessHost
  loop::Loop& loop() override { return loop_; }
  Process& add(Kind kind, const std::string& file) override {
    all_.push_back(std::make_unique<Process>(*this, nature, kind, next_pid_++, file));
    return *all_.back();
  }
  void died(Process&) override { plan_deaths(); }
  void fault(pid_t pid, const std::string& what) override {
    faults_.push_back("process " + std::to_string(pid) + ": " + what);
  }

  Process* find(pid_t pid) const {
    for (const auto& process : all_) {
      if (process->pid() == pid) return process.get();
    }
    return nullptr;
  }

  void plan_deaths() {
    if (death_is_told_after.count() == 0) return deaths_.schedule();
    late_.start(death_is_told_after);
  }

  // Like the kernel: a death is reported while the pid is held, but the pid is reaped only when it
  // is not.
  void tell_deaths() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      Process& process = *all_[i];
      if (process.lives() || process.is_reaped()) continue;
      if (!held_.contains(process.pid())) process.reap();
      const auto on_death = std::exchange(process.on_death, nullptr);
      if (on_death != nullptr) on_death({.wait_status = process.wait_status()});
    }
  }

  loop::Loop& loop_;
  std::vector<std::unique_ptr<Process>> all_;
  std::set<pid_t> held_;
  std::vector<std::string> faults_;
  std::uint64_t launched_ = 0, zygotes_launched_ = 0;
  pid_t next_pid_ = kFirstPid;
  loop::Deferred deaths_;
  loop::Timer late_;
};

}  // namespace fakes
