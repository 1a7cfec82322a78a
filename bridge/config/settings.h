// The settings of a bridge, as the rest of it reads them. A Settings is a value: it is made once by
// load_file() or parse(), checked as a whole, and never changed; whoever holds one shares it as
// shared_ptr<const Settings>, so that a request keeps the settings that it began with.
//
// A member is in the file under its own name (workers.max is `workers = { max = ... }`), except for
// the few limits that are marked as not in the file. The defaults are the initialisers here;
// ranges, texts and what a change costs are in fields.cc.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "config/listen_address.h"
#include "config/program_settings.h"

namespace config {

enum class LogLevel { debug, info, warn, error };
inline constexpr std::array<std::string_view, 4> kLogLevelNames = {"debug", "info", "warn",
                                                                   "error"};

// The word for it in the file, in logs and in commands.
constexpr std::string_view to_string(LogLevel level) {
  return kLogLevelNames[std::size_t(level)];
}

// How a line of the access log is written.
enum class AccessFormat { text, json };
inline constexpr std::array<std::string_view, 2> kAccessFormatNames = {"text", "json"};

// [bridge]: what the daemon as a whole does.
struct BridgeSettings {
  std::vector<ListenAddress> listen;  // may be empty: sockets handed over at start are served
  // More of them: whatever program the params of a request name there, it runs this one.
  std::vector<BoundAddress> bound;
  ::mode_t socket_mode = 0660;  // of the unix sockets that the bridge makes
  std::string socket_owner;     // name or number; empty: the bridge's own user
  std::string socket_group;
  // Who may connect, in addition to a socket's permissions; an empty list: everybody.
  struct Allow {
    std::vector<std::string> users;      // unix sockets; names or numbers
    std::vector<std::string> addresses;  // others; addresses or blocks
    bool operator==(const Allow&) const = default;
  } allow;
  std::string control = "/run/cgibridge/control.sock";
  std::vector<std::string> roots;  // at least one; nothing outside them is ever run
  bool root_links = false;         // except what root's own links in them lead to
  // With user = "owner": whose programs run.
  struct Owner {
    unsigned uid_min = 1000;
    unsigned gid_min = 100;
    bool operator==(const Owner&) const = default;
  } owner;
  Bytes params_max = 1 * base::kMiB;
  bool first_param_counts = false;  // of two with one name; otherwise the last. Not in the file
  Duration params_timeout = std::chrono::seconds(60);
  unsigned connections_max = 1024;
  unsigned requests_per_connection_max = 100;  // not in the file
  Bytes response_head_max = 64 * base::kKiB;   // not in the file
  Duration drain_timeout = std::chrono::seconds(30);
  LogLevel log_level = LogLevel::info;
  std::string log;  // a file; empty: standard error
  struct AccessLog {
    std::string file;  // empty: none
    AccessFormat format = AccessFormat::text;
    bool operator==(const AccessLog&) const = default;
  } access_log;
  struct SlowLog {
    std::string file;      // empty: the log
    unsigned readers = 2;  // stacks read at once; not in the file
    bool operator==(const SlowLog&) const = default;
  } slowlog;
  struct Captures {
    std::string folder;                    // empty: none are made
    unsigned max = 100;                    // files in it
    std::vector<std::string> secret = {};  // names whose values are masked, beside the known ones
    // Not in the file:
    Bytes size = 16 * base::kMiB;      // of all of them
    Bytes body_max = 64 * base::kKiB;  // of a request's body, the first of it
    unsigned per_minute = 60;          // that are written
    bool operator==(const Captures&) const = default;
  } captures;
  std::string adapters;                        // empty: beside the installed executable
  std::string cache = "/var/cache/cgibridge";  // of compiled WebAssembly; empty: none
  unsigned zygotes_max = 200;
  unsigned workers_max = 512;  // of all programs together; 0: no limit
  Duration zygote_idle_timeout = std::chrono::minutes(10);
  std::vector<std::string> prewarm;
  std::string cgroup;   // below which the bridge makes its own; empty: in which it was started
  CgroupLimits limits;  // of all programs together
  unsigned figures_max = 1000;  // programs whose figures are kept; not in the file
  struct Page {
    std::string path;  // of the URL, "/cgibridge"; empty: no page
    std::vector<std::string> from = {"127.0.0.1", "::1"};  // addresses or blocks that may see it
    bool switch_modes = false;                             // whether it may switch a mode
    bool operator==(const Page&) const = default;
  } page;

  std::string health;  // path of the URL, "/healthz"; empty: none

  bool operator==(const BridgeSettings&) const = default;

  // All addresses to listen on: those of listen, then those of bound.
  std::vector<ListenAddress> all_addresses() const;
};

struct Settings {
  BridgeSettings bridge;
  ProgramSettings defaults;               // for programs that no [[program]] matches
  std::vector<ProgramSettings> programs;  // each complete: what it omits is from defaults

  // The first of programs whose match fits path, otherwise defaults. The reference lives as long as
  // this Settings. In a pattern `*` and `?` also match '/', and a leading dot is not special
  // (fnmatch(3) without flags).
  const ProgramSettings& for_program(const std::string& path) const;

  bool operator==(const Settings&) const = default;
};

// Whether zygotes and workers made under a may continue under b: no setting differs whose change
// takes effect with a new generation (TakesEffect::new_generation in fields.h).
bool same_generation(const ProgramSettings& a, const ProgramSettings& b);

// The names ("bridge.listen") of the settings that differ but that only a restart takes over.
std::vector<std::string> waiting_for_restart(const Settings& running, const Settings& loaded);

}  // namespace config
