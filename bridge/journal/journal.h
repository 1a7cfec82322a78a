// What is written down of requests: the access log, the slow log, captures of those that failed.
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
#include "journal/request_name.h"
#include "journal/secrets.h"
#include "journal/stack_queue.h"
#include "loop/loop.h"

namespace journal {

// What `status` and the metrics tell. A request is left out of the captures for one of these.
struct Counts {
  std::uint64_t slow = 0;  // requests that the slow log told of
  std::uint64_t captures_written = 0;
  std::uint64_t captures_too_many = 0;  // more than Captures::per_minute
  std::uint64_t captures_failed = 0;    // the folder did not take them
};

// A request that has been running for slowlog.after. Views are borrowed for the call.
struct SlowRequest {
  const RequestName& name;
  const std::string& program;
  base::ByteView environment;  // of the request, "K=V\0..."
  std::string_view arm;
  pid_t pid;
  base::Duration after;
  bool stacks;
};

// One per gateway; no file is open unless the settings name one. Access lines are written once a
// turn of the loop, together. A file that takes no more loses lines (base/append_file.h); the log
// says when that begins and when it is over.
class Journal {
 public:
  Journal(loop::Loop& loop, worker::Processes& processes);
  ~Journal();

  // The settings file, for those who run a captured request again: what it says of the program,
  // as whom it runs and in which sandbox, shall hold then, too. Once, before requests come.
  void come_from(const std::string& settings_file);
  // What the settings say now. What cannot be opened is left out, and the log says why.
  void use(const config::BridgeSettings& settings);
  // Opens the files anew, behind a rotation. Says in the log what it could not.
  base::Status reopen();

  // What a request is called from here on, here and in the log; and its name as text.
  RequestName name(const cgi::Variables& variables) { return names_.of(variables); }
  std::string text_of(const RequestName& name) const { return journal::text_of(name, secrets_); }
  // What is noted of it; none if nobody wants it.
  std::unique_ptr<Entry> begin(const RequestName& name, const cgi::Variables& variables) const;
  // The request is over.
  void end(Entry& entry, const config::ProgramSettings* settings);
  // Owned by the request until its program has ended: see StackQueue. None: it has no turn to wait
  // for.
  std::unique_ptr<StackQueue::Turn> slow(const SlowRequest& request);

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
  std::string access_lines_;  // of this turn
  CaptureFolder folder_;
  std::string settings_file_;
  base::TimePoint minute_since_{};
  unsigned in_this_minute_ = 0;
  Counts counts_;
  StackQueue stacks_;
  const loop::Clock& clock_;
  loop::Deferred flush_;
};

}  // namespace journal
