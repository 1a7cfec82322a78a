// The settings of a bridge, as the rest of it reads them. A Settings is a value: it is made once
// by load_file() or parse(), checked whole, and never changed; whoever holds one shares it as
// shared_ptr<const Settings>, so that a request keeps the settings that it began with.
//
// A member stands in the file under its own name (workers.max is `workers = { max = ... }`). The
// defaults are the initialisers here; ranges, texts and what a change costs are in fields.cc.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "config/listen_address.h"

namespace config {

using Bytes = std::uint64_t;
using base::Duration;

// How a request is answered.
enum class Mode { classic, persistent };
inline constexpr std::array<std::string_view, 2> kModeNames = {"classic", "persistent"};

// How the next request gets a process at its checkpoint again.
enum class Reset { rewind, fork, none };
inline constexpr std::array<std::string_view, 3> kResetNames = {"rewind", "fork", "none"};

// How a rewinding worker finds the pages of its memory that changed.
enum class Tracking { automatic, compare, scan, soft_dirty };
inline constexpr std::array<std::string_view, 4> kTrackingNames = {"auto", "compare", "scan",
                                                                   "soft-dirty"};

// The deepest checkpoint that a program may be given; ordered, deeper is greater.
enum class Level { linked, compiled };
inline constexpr std::array<std::string_view, 2> kLevelNames = {"linked", "compiled"};

enum class LogLevel { debug, info, warn, error };
inline constexpr std::array<std::string_view, 4> kLogLevelNames = {"debug", "info", "warn",
                                                                   "error"};

// The word that stands for it in the file, in logs and in commands.
constexpr std::string_view to_string(Mode mode) {
  return kModeNames[std::size_t(mode)];
}
constexpr std::string_view to_string(Reset reset) {
  return kResetNames[std::size_t(reset)];
}
constexpr std::string_view to_string(Tracking tracking) {
  return kTrackingNames[std::size_t(tracking)];
}
constexpr std::string_view to_string(Level level) {
  return kLevelNames[std::size_t(level)];
}
constexpr std::string_view to_string(LogLevel level) {
  return kLogLevelNames[std::size_t(level)];
}

// [bridge]: what the daemon as a whole does.
struct BridgeSettings {
  std::vector<ListenAddress> listen;  // may be empty: sockets handed over at the start are served
  ::mode_t socket_mode = 0660;        // of the unix sockets that the bridge makes
  std::string control = "/run/cgibridge/control.sock";
  std::vector<std::string> roots;  // at least one; nothing outside them is ever run
  Bytes params_max = 1 * base::kMiB;
  unsigned connections_max = 1024;
  unsigned requests_per_connection_max = 100;
  Bytes response_head_max = 64 * base::kKiB;
  Duration drain_timeout = std::chrono::seconds(30);
  LogLevel log_level = LogLevel::info;
  std::string adapters;  // empty: beside the installed executable
  unsigned zygotes_max = 200;
  Duration zygote_idle_timeout = std::chrono::minutes(10);
  std::vector<std::string> prewarm;

  bool operator==(const BridgeSettings&) const = default;
};

// [defaults] and each [[program]]: how one program is run. In a duration 0 means "no limit" where
// the member says so, otherwise it is a duration like any other.
struct ProgramSettings {
  std::string name;   // empty in [defaults]; otherwise unique, or empty
  std::string match;  // fnmatch(3) pattern for the resolved path; empty in [defaults]
  Mode mode = Mode::persistent;
  Reset reset = Reset::rewind;
  struct Rewind {
    unsigned verify = 1000;  // every so many rewinds are checked; 0: none
    Tracking tracking = Tracking::automatic;
    unsigned max_retired = 20;  // per cent of requests whose worker could not stay
    bool operator==(const Rewind&) const = default;
  } rewind;
  Level level = Level::compiled;
  struct Workers {
    unsigned min = 0;
    unsigned max = 8;
    unsigned spare = 2;  // forked ahead of demand; never more than max
    Duration idle_timeout = std::chrono::seconds(60);
    unsigned max_requests = 10000;  // a worker that stays is replaced after so many; 0: never
    bool operator==(const Workers&) const = default;
  } workers;
  struct Queue {
    unsigned max = 256;
    Duration timeout = std::chrono::seconds(5);
    bool operator==(const Queue&) const = default;
  } queue;
  struct Timeouts {
    Duration start = std::chrono::seconds(10);
    Duration request = std::chrono::seconds(30);  // 0: no limit
    Duration output = Duration::zero();           // 0: no limit
    Duration kill_grace = std::chrono::seconds(3);
    bool operator==(const Timeouts&) const = default;
  } timeouts;
  struct Limits {
    Bytes body = 0;  // 0: no limit
    bool operator==(const Limits&) const = default;
  } limits;
  std::map<std::string, std::string> env;
  std::vector<std::string> preload;

  bool operator==(const ProgramSettings&) const = default;
};

struct Settings {
  BridgeSettings bridge;
  ProgramSettings defaults;               // for programs that no [[program]] matches
  std::vector<ProgramSettings> programs;  // each complete: what it does not say is from defaults

  // The first of programs whose match fits resolved_path, else defaults. The reference lives as
  // long as this Settings. In a pattern `*` and `?` also match '/', and a leading dot is nothing
  // special (fnmatch(3) with no flags).
  const ProgramSettings& for_program(const std::string& resolved_path) const;

  bool operator==(const Settings&) const = default;
};

// Whether zygotes and workers made under a may go on under b: nothing differs that is fixed when a
// zygote starts (reset, rewind.tracking, level, env, preload).
bool same_generation(const ProgramSettings& a, const ProgramSettings& b);

// The names ("bridge.listen") of the settings that differ but that only a restart takes over.
std::vector<std::string> waiting_for_restart(const Settings& running, const Settings& loaded);

}  // namespace config
