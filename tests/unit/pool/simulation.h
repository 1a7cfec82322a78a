// A seeded run of everything that can happen to pools; the invariants are checked after each event.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fakes/simulation.h"
#include "fakes/world.h"

namespace pool {

class Simulation final : public fakes::Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : fakes::Simulation(seed) {
    for (const char* name : {"a.pl", "b.pl", "c.pl"}) programs_.push_back(world_.add_program(name));
    programs_.push_back(world_.add_program("d.sh", "#!/bin/sh"));
    world_.settings.timeouts.kill_grace = std::chrono::seconds(3);
    change_settings();
  }

 private:
  using Process = fakes::Process;

  bool advance(base::TimePoint::duration time) override { return world_.advance(time); }
  fakes::Processes& processes() override { return world_.processes(); }

  // Usually a moment, sometimes a long time: a night, or a machine that stood still.
  base::Duration pause() override {
    if (one_in(200)) return std::chrono::minutes(1 + upto(120));
    if (one_in(20)) return base::Duration(upto(20'000));
    if (one_in(3)) return base::Duration(0);
    return base::Duration(upto(30));
  }

  std::string step() override {
    const unsigned kind = upto(99);
    if (kind < 55) return come();
    if (kind < 62) return leave();
    if (kind < 70) return kill_one();
    if (kind < 76) return retire_one();
    if (kind < 80) return change_nature();
    if (kind < 84) return change_settings();
    if (kind < 87) return ++world_.version, "the programs' files change";
    if (kind < 89) return world_.pools().of(any(programs_)).cool_down(), "a pool is let go";
    if (kind < 91) return stall();
    if (kind < 93) return say_something();
    return "nothing";
  }

  std::string come() {
    const unsigned crowd = one_in(10) ? 1 + upto(20) : 1;
    for (unsigned i = 0; i < crowd; ++i) {
      const auto side = one_in(10) ? compare::Side::classic : compare::Side::persistent;
      const auto for_whom = one_in(15) ? ForWhom::shadow : ForWhom::client;
      fakes::Client& client = world_.request(any(programs_), side, for_whom);
      // How long a shadow takes does not matter.
      if (for_whom == ForWhom::client) since_[&client] = world_.time().now();
      client.printed.output = !one_in(20);
      ++requests_;
    }
    return "requests come";
  }
  std::string leave() {
    auto& clients = world_.clients();
    if (clients.empty()) return "nothing";
    fakes::Client& client = *any(clients);
    if (!client.over()) ++seen_["left"];
    client.leave();
    left_.insert(&client);
    return "a visitor leaves";
  }

  std::string retire_one() {
    auto all = processes().living(fakes::Kind::worker);
    std::erase_if(all, [](const Process* worker) { return worker->requests() == 0; });
    if (all.empty()) return "nothing";
    any(all)->retire(static_cast<retirement>(RETIRED_THREADS + upto(8)), "as it has to");
    return "a worker retires";
  }
  std::string stall() {
    auto all = living();
    if (all.empty()) return "nothing";
    Process* process = any(all);
    process->leaves_hung_forks = one_in(2);
    process->nature.to_answer = process->nature.to_fork = process->nature.to_term = fakes::never;
    return "a process stands still";
  }
  std::string say_something() {
    auto all = living();
    std::erase_if(all, [](const Process* process) { return !process->is_known(); });
    if (all.empty()) return "nothing";
    Process* process = any(all);
    if (one_in(2)) {
      process->note(NOTE_WARNING, "something");
    } else {
      process->close_channel();
    }
    return "a process says what nobody asked, or closes its channel";
  }
  std::string change_nature() {
    fakes::Nature nature;
    nature.to_answer = base::Duration(one_in(5) ? upto(5000) : upto(20));
    nature.to_checkpoint = base::Duration(upto(200));
    nature.to_reset = base::Duration(upto(50));
    nature.to_fork = base::Duration(upto(10));
    nature.stays = !one_in(5);
    if (one_in(8)) nature.dies_before_checkpoint = fakes::kExited1;
    if (one_in(8)) nature.dies_before_ready = fakes::kSegv;
    if (one_in(8)) nature.dies_in_request = fakes::kSegv;
    if (one_in(10)) nature.difference = "a page";
    if (one_in(12)) nature.to_answer = fakes::never;
    if (one_in(12)) nature.to_checkpoint = fakes::never;
    processes().nature = nature;
    processes().death_is_told_after = base::Duration(one_in(3) ? upto(5) : 0);
    processes().launch_error = one_in(15) ? "no more processes" : "";
    return "processes behave otherwise from here on";
  }
  std::string change_settings() {
    auto& settings = world_.settings;
    settings.reset = one_in(4) ? config::Reset::fork : config::Reset::rewind;
    settings.workers.max = 1 + upto(5);
    settings.workers.min = upto(1);
    settings.workers.spare = upto(2);
    settings.workers.max_requests = one_in(3) ? 1 + upto(10) : 0;
    settings.workers.idle_timeout = std::chrono::seconds(1 + upto(60));
    settings.queue = {.max = upto(20), .timeout = std::chrono::milliseconds(100 + upto(10'000))};
    settings.rewind.verify = one_in(2) ? 1 + upto(3) : 1000;
    settings.env["N"] = std::to_string(upto(3));
    world_.pools().set_limits({.workers_max = one_in(3) ? 1 + upto(6) : 512,
                               .zygotes_max = 1 + upto(5),
                               .zygote_idle_timeout = std::chrono::minutes(1 + upto(20))});
    return "the settings change";
  }

  void check() override {
    for (const std::string& fault : processes().faults()) tell(fault);
    std::map<std::string, unsigned> waiting;
    for (const auto& client : world_.clients()) {
      if (left_.contains(client.get())) continue;
      if (client->told_over().size() > 1) {
        tell("a request ended twice: " + client->told_over()[0] + "; " + client->told_over()[1]);
      }
      if (client->state() != fakes::Client::State::waiting) continue;
      const auto since = since_.find(client.get());
      if (since != since_.end() && world_.time().now() - since->second > longest_wait()) {
        tell("a request waits beyond queue.timeout");
      }
    }
    std::size_t known = 0;
    for (const PoolStatus& status : world_.pools().status()) {
      known += status.worker_pids.size() + (status.zygote_pid > 0 ? 1 : 0);
      if (status.persistent + status.classic != status.requests) tell("the counts do not add up");
    }
    // Its pools know about the death of every process, or have killed it.
    if (known > processes().count_living() + kJustDied) tell("a process is kept that is gone");
  }
  // A request keeps the timeouts from its arrival, so this is the longest that the settings here
  // allow.
  static base::Duration longest_wait() { return std::chrono::milliseconds(10'200); }

  void forget_what_is_over() override {
    for (auto& client : world_.clients()) {
      const bool over = client->over() || left_.contains(client.get());
      if (!over) continue;
      const auto state = client->state();
      seen_[state == fakes::Client::State::refused ? "refused"
            : client->ending().app_status != 0     ? "failed"
                                               : std::string(compare::to_string(client->arm()))]++;
      since_.erase(client.get());
      left_.erase(client.get());
      client.reset();
    }
    std::erase(world_.clients(), nullptr);
    processes().sweep();
  }

  // Whatever failed is tried again: half an hour is the longest pause, and an earlier pause may
  // still be running.
  void become_warm_again() {
    std::set<std::string> cold(programs_.begin(), programs_.end());
    std::string why_cold;
    world_.settings.queue.max = 100;
    world_.pools().set_limits({});
    for (int minute = 0; minute < 70 && !cold.empty(); ++minute) {
      for (const std::string& program : programs_) world_.request(program);
      let_pass(std::chrono::minutes(1));
      std::erase_if(cold, [&](const std::string& program) {
        fakes::Client& client = world_.request(program);
        let_pass(std::chrono::seconds(1));
        const PoolStatus status = world_.status(program);
        why_cold = status.level + ", " + status.level_reason + ", " + client.refusal().reason +
                   fmt::format(", idle {} busy {} starting {} returning {}", status.idle,
                               status.busy, status.starting, status.returning);
        return client.arm() != compare::Arm::classic;
      });
    }
    if (!cold.empty()) tell(*cold.begin() + " is never warm again: " + why_cold);
  }

  // No more visitors come, and everything behaves: everything ends, and nothing may be left.
  void come_to_rest() override {
    processes().nature = {};
    processes().launch_error.clear();
    let_pass(std::chrono::seconds(1));
    for (Process* process : living()) {
      process->nature.to_answer = process->nature.to_term = base::Duration(0);
      if (process->in_request()) process->answer();
    }
    let_pass(std::chrono::minutes(2));
    for (Process* process : living()) {
      if (process->in_request()) process->answer();
    }
    become_warm_again();
    let_pass(std::chrono::hours(2));
    for (const auto& client : world_.clients()) {
      if (left_.contains(client.get()) || client->over()) continue;
      tell("a request has no end" + (client->run().running()
                                         ? ", in process " + std::to_string(client->run().pid())
                                         : std::string(", and waits")));
    }
    for (const PoolStatus& status : world_.pools().status()) {
      if (status.waiting > 0 || status.busy > 0) tell("a pool has requests that nobody made");
    }
    for (const Process* left : living()) {
      tell("process " + std::to_string(left->pid()) +
           " is left when nobody has come for two hours");
    }
  }

  static constexpr std::size_t kJustDied = 64;

  fakes::World world_;
  std::vector<std::string> programs_;
  std::map<const fakes::Client*, base::TimePoint> since_;
  std::set<const fakes::Client*> left_;
  std::uint64_t requests_ = 0;
};

}  // namespace pool
