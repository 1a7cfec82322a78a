// What is recorded about requests: the access log, the slow log, captures of those that failed.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "base/append_file.h"
#include "base/clock.h"
#include "cgi/variables.h"
#include "config/settings.h"
#include "journal/capture_folder.h"
#include "journal/entry.h"
#include "journal/followers.h"
#include "journal/request_name.h"
#include "journal/secrets.h"
#include "journal/stack_queue.h"
#include "loop/loop.h"

namespace journal {

// What `status` and the metrics show. The last two count requests that were not captured.
struct Counts {
  std::uint64_t slow = 0;  // requests that the slow log reported
  std::uint64_t captures_written = 0;
  std::uint64_t captures_too_many = 0;  // more than Captures::per_minute
  std::uint64_t captures_failed = 0;    // the folder did not take them
};

// A request that has run for slowlog.after. Views are borrowed for the call.
struct SlowRequest {
  const RequestName& name;
  const std::string& program;
  base::ByteView environment;  // of the request, "K=V\0..."
  std::string_view arm;
  pid_t pid;
  base::Duration after;
  bool stacks;
};

// One per gateway; no file is open unless the settings name one. All access lines of a loop turn
// are written together. A file that accepts no more loses lines (base/append_file.h); the log says
// when that begins and ends.
class Journal {
 public:
  Journal(loop::Loop& loop, worker::Processes& processes);
  ~Journal();

  // The settings file, for those who run a captured request again: what it says about the program's
  // user and sandbox must apply then too. Called once, before requests come.
  void come_from(const std::string& settings_file);
  // Applies the current settings. A file that cannot be opened is left out, and the log says why.
  void use(const config::BridgeSettings& settings);
  // Opens the files again after a rotation. Logs those that it could not open.
  base::Status reopen();

  // The name that a request has from now on, here and in the log; and that name as text.
  RequestName name(const cgi::Variables& variables) { return names_.of(variables); }
  std::string text_of(const RequestName& name) const { return journal::text_of(name, secrets_); }
  // What is noted about it; none if nothing needs it.
  std::unique_ptr<Entry> begin(const RequestName& name, const cgi::Variables& variables);
  // The request is over.
  void end(Entry& entry, const config::ProgramSettings* settings);
  // The turn is owned by the request until its program has ended: see StackQueue. None: there is no
  // turn to wait for.
  std::unique_ptr<StackQueue::Turn> slow(const SlowRequest& request);

  Followers& followers() { return followers_; }
  const Counts& counts() const { return counts_; }
  const StackQueue& stacks() const { return stacks_; }
  const base::AppendFile& access_file() const { return access_.file; }
  const base::AppendFile& slow_file() const { return slow_.file; }

 private:
  // One of the files, and whether its last lines were dropped.
  struct Log {
    const char* setting;
    base::AppendFile file{};
    bool dropping = false;
    std::uint64_t dropped_before = 0;
  };

  void use_file(Log& log, const std::string& path);
  void append(Log& log, base::ByteView lines);
  void flush();
  void capture(const Entry& entry);
  bool may_capture_now();
  void write_slow(const std::string& head, const std::string& stack);

  config::BridgeSettings::AccessLog access_settings_;
  config::BridgeSettings::Captures capture_settings_;
  Secrets secrets_;
  RequestNames names_;
  Log access_{"access_log"}, slow_{"slowlog"};
  std::string access_lines_;  // of this loop turn
  CaptureFolder folder_;
  std::string settings_file_;
  base::TimePoint minute_since_{};
  unsigned in_this_minute_ = 0;
  Followers followers_;
  Counts counts_;
  StackQueue stacks_;
  const loop::Clock& clock_;
  loop::Deferred flush_;
};

}  // namespace journal
