// A seeded run of everything that web servers and programs can do to a gateway.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "fakes/simulation.h"
#include "fakes/site.h"

namespace gateway {

class Simulation final : public fakes::Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : fakes::Simulation(seed) {
    for (const char* name : {"a.pl", "b.pl"}) programs_.push_back(site_.world().add_program(name));
    programs_.push_back(site_.world().add_program("c.sh", "#!/bin/sh"));
    change_settings();
  }

 private:
  using Process = fakes::Process;

  // A web server's request on one connection.
  struct Visit {
    fakes::Peer* peer;
    std::size_t body_left = 0;
    base::TimePoint since{};  // when its request was complete; unset: not yet, or over
    bool open = false;
    bool failed = false;  // this one's log says why
  };

  bool advance(base::TimePoint::duration time) override { return site_.advance(time); }
  fakes::Processes& processes() override { return site_.processes(); }

  base::Duration pause() override {
    if (one_in(150)) return std::chrono::minutes(1 + upto(60));
    if (one_in(20)) return base::Duration(upto(15'000));
    return base::Duration(one_in(3) ? 0 : upto(25));
  }

  std::string step() override {
    const unsigned kind = upto(99);
    if (kind < 40) return ask();
    if (kind < 55) return send_body();
    if (kind < 60) return abort();
    if (kind < 66) return leave();
    if (kind < 72) return kill_one();
    if (kind < 80) return print_something();
    if (kind < 85) return change_nature();
    if (kind < 88) return change_settings();
    if (kind < 90) return send_rubbish();
    return "nothing";
  }

  Visit& free_visit() {
    for (Visit& visit : visits_) {
      if (!visit.open && !visit.peer->is_closed() && one_in(2)) return visit;
    }
    visits_.push_back({.peer = &site_.connect()});
    return visits_.back();
  }
  std::string ask() {
    Visit& visit = free_visit();
    const unsigned bytes = one_in(3) ? 1 + upto(200'000) : 0;
    visit.peer->begin(
        fakes::Site::params(one_in(20) ? "/nowhere" : any(programs_), static_cast<int>(bytes)));
    visit.open = true;
    visit.body_left = bytes;
    visit.since = {};
    if (bytes == 0) end(visit);
    ++seen_["asked"];
    return "a request comes";
  }
  void end(Visit& visit) {
    visit.peer->end_body();
    visit.since = site_.world().time().now();
  }
  std::string send_body() {
    std::vector<Visit*> open;
    for (Visit& visit : visits_) {
      if (visit.open && visit.since == base::TimePoint{} && !visit.peer->ended())
        open.push_back(&visit);
    }
    if (open.empty()) return "nothing";
    Visit& visit = *any(open);
    const std::size_t piece = std::min<std::size_t>(visit.body_left, 1 + upto(60'000));
    visit.peer->body(std::string(piece, 'b'));
    visit.body_left -= piece;
    if (visit.body_left == 0 || one_in(20)) end(visit);
    return "more of a body comes";
  }
  std::string abort() {
    if (visits_.empty()) return "nothing";
    Visit& visit = any(visits_);
    if (!visit.open || visit.peer->ended()) return "nothing";
    visit.peer->abort();
    visit.since = site_.world().time().now();
    return "a request is aborted";
  }
  std::string leave() {
    if (visits_.empty()) return "nothing";
    any(visits_).peer->leave();
    return "a web server leaves";
  }
  std::string send_rubbish() {
    if (visits_.empty()) return "nothing";
    std::string bytes(1 + upto(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(upto(255));
    any(visits_).peer->send(bytes);
    return "a web server breaks the protocol";
  }

  std::string print_something() {
    auto all = living();
    std::erase_if(all, [](const Process* process) { return !process->in_request(); });
    if (all.empty()) return "nothing";
    Process* process = any(all);
    process->print(one_in(2) ? "Content-Type: text/plain\r\n\r\n" : std::string(upto(30'000), 'o'));
    if (one_in(4)) process->close_streams();
    return "a program prints, or closes its output";
  }
  std::string change_nature() {
    fakes::Nature nature;
    nature.to_answer = base::Duration(one_in(5) ? upto(60'000) : upto(20));
    nature.to_term = one_in(4) ? fakes::never : base::Duration(upto(100));
    nature.stays = !one_in(5);
    nature.keeps = one_in(2);
    nature.lies = one_in(10);
    if (one_in(8)) nature.dies_before_checkpoint = fakes::kExited1;
    if (one_in(8)) nature.dies_in_request = fakes::kSegv;
    if (one_in(8)) nature.to_answer = fakes::never;
    if (one_in(4)) nature.answer = "";
    if (one_in(4))
      nature.answer = "Content-Type: text/plain\r\n\r\n" + std::string(upto(60'000), 'a');
    if (one_in(8)) nature.answer = "no head";
    processes().nature = nature;
    processes().death_is_told_after = base::Duration(one_in(3) ? upto(5) : 0);
    processes().launch_error = one_in(15) ? "no more processes" : "";
    return "programs behave otherwise from here on";
  }
  std::string change_settings() {
    auto& program = site_.program();
    program.mode = one_in(2) ? config::Mode::classic : config::Mode::persistent;
    if (one_in(4)) program.mode = config::Mode::shadow;
    program.reset = one_in(3) ? config::Reset::fork : config::Reset::rewind;
    program.workers.max = 1 + upto(4);
    program.queue = {.max = upto(10), .timeout = std::chrono::milliseconds(100 + upto(5000))};
    program.timeouts.request = std::chrono::seconds(1 + upto(29));
    program.timeouts.output = std::chrono::seconds(one_in(2) ? 0 : 1 + upto(20));
    program.timeouts.background = std::chrono::seconds(1 + upto(300));
    program.timeouts.kill_grace = std::chrono::milliseconds(upto(3000));
    site_.bridge().params_timeout = std::chrono::seconds(1 + upto(30));
    site_.changed();
    return "the settings change";
  }

  void check() override {
    for (const std::string& fault : processes().faults()) tell(fault);
    const auto now = site_.world().time().now();
    for (Visit& visit : visits_) {
      if (!visit.open) continue;
      if (visit.peer->ended() || visit.peer->is_closed()) {
        note(visit);
        continue;
      }
      if (visit.since != base::TimePoint{} && now - visit.since > kLongest) {
        tell("a request that came whole has no end");
      }
    }
  }
  // The maxima of queue.timeout, timeouts.request and kill_grace, and some delay.
  static constexpr std::chrono::seconds kLongest{5 + 30 + 3 + 2};

  void note(Visit& visit) {
    visit.open = false;
    const std::string& output = visit.peer->output;
    if (!visit.peer->ended()) return void(++seen_["broken off"]);
    if (output.empty()) return void(++seen_["aborted"]);
    const bool is_error = output.starts_with("Status: ");
    const bool is_page = output.find("\r\n\r\n") != std::string::npos;
    if (!is_page) tell("an answer without a head: " + output.substr(0, 60));
    ++seen_[is_error ? "error" : "answered"];
  }

  void forget_what_is_over() override {
    std::erase_if(visits_,
                  [](const Visit& visit) { return visit.peer->is_closed() && !visit.open; });
    site_.forget_closed();
    processes().sweep();
  }

  void come_to_rest() override {
    processes().nature = {};
    for (Process* process : living()) {
      process->nature.to_answer = process->nature.to_term = base::Duration(0);
    }
    for (Visit& visit : visits_) visit.peer->leave();
    let_pass(std::chrono::hours(3));
    const Counts& counts = site_.gateway().counts();
    if (counts.requests_active > 0) tell("requests are left that nobody made");
    if (counts.background.now > 0) tell("a program is said to go on that does not");
    if (site_.gateway().connections() > 0) tell("connections are left that nobody has");
    for (const Process* left : living()) {
      tell("process " + std::to_string(left->pid()) + " is left when nobody has come for hours");
    }
  }

  fakes::Site site_;
  std::vector<std::string> programs_;
  std::vector<Visit> visits_;
};

}  // namespace gateway
