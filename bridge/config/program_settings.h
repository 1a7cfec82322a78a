// The settings of one program: [defaults] and each [[program]]. See settings.h.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"

namespace config {

using Bytes = std::uint64_t;
using base::Duration;

// How a request is answered: by one side, by either (split), or by classic with a second run on the
// other side whose answer is only compared (shadow).
enum class Mode { classic, persistent, split, shadow };
inline constexpr std::array<std::string_view, 4> kModeNames = {"classic", "persistent", "split",
                                                               "shadow"};

// How the next request gets a process at its checkpoint again.
enum class Reset { rewind, fork, none };
inline constexpr std::array<std::string_view, 3> kResetNames = {"rewind", "fork", "none"};

// How a rewinding worker finds the pages of its memory that changed.
enum class Tracking { automatic, compare, scan, soft_dirty };
inline constexpr std::array<std::string_view, 4> kTrackingNames = {"auto", "compare", "scan",
                                                                   "soft-dirty"};

// The deepest checkpoint that a program may be given; ordered, deeper is greater.
enum class Level { linked, booted, compiled };
inline constexpr std::array<std::string_view, 3> kLevelNames = {"linked", "booted", "compiled"};

// How warm workers are made: as copies of a program at its checkpoint, or as processes that speak
// FastCGI by themselves; automatic: what php-cgi runs uses FastCGI, everything else a checkpoint.
enum class Launch { automatic, cgi, fastcgi };
inline constexpr std::array<std::string_view, 3> kLaunchNames = {"auto", "cgi", "fastcgi"};

// Which of the modules that requests load are from then on loaded before the checkpoint: those of
// the interpreter and its installed libraries, the program's own as well, or none.
enum class Learn { installed, all, none };
inline constexpr std::array<std::string_view, 3> kLearnNames = {"installed", "all", "none"};

// What a program that is loaded ahead does only once for all its visitors if it does it while
// loading: draws random numbers, asks for the time or its process id, reads its input, prints,
// starts a process, opens a connection, changes files.
inline constexpr std::array<std::string_view, 8> kImpurities = {
    "random", "time", "pid", "input", "output", "children", "sockets", "files"};

// The word that stands for it in the file, in logs and in commands.
constexpr std::string_view to_string(Mode mode) {
  return kModeNames[std::size_t(mode)];
}
constexpr std::string_view to_string(Reset reset) {
  return kResetNames[std::size_t(reset)];
}
constexpr std::string_view to_string(Learn learn) {
  return kLearnNames[std::size_t(learn)];
}
constexpr std::string_view to_string(Tracking tracking) {
  return kTrackingNames[std::size_t(tracking)];
}
constexpr std::string_view to_string(Level level) {
  return kLevelNames[std::size_t(level)];
}

// What processes may use together: those of one program, or all of CGI. Enforced by cgroups.
struct CgroupLimits {
  double cpu = 0;             // per cent of one core: 200 is two cores; 0: no limit
  unsigned cpu_weight = 100;  // the share when others want the same cores
  Bytes memory = 0;           // including swap; 0: no limit
  unsigned processes = 0;     // including threads; 0: no limit
  bool any() const { return *this != CgroupLimits{}; }
  bool operator==(const CgroupLimits&) const = default;
};

// [defaults] and each [[program]]: how one program is run. In a duration 0 means "no limit" if the
// member says so; otherwise it is a duration like any other.
struct ProgramSettings {
  std::string name;   // empty in [defaults]; otherwise unique, or empty
  std::string match;  // fnmatch(3) pattern for the program's path; empty in [defaults]
  Mode mode = Mode::persistent;
  struct Split {
    double persistent = 10;       // per cent of requests, 0 to 100
    std::string sticky = "none";  // "none", "client" (its address) or "cookie:NAME"
    bool operator==(const Split&) const = default;
  } split;
  struct Shadow {
    double share = 100;  // per cent of requests that are run twice
    std::vector<std::string> methods = {"GET", "HEAD"};
    // Not in the file:
    Bytes body_max = 1 * base::kMiB;      // a request with more is not run twice
    Bytes answer_max = 512 * base::kKiB;  // an answer with more is not compared
    unsigned concurrent = 2;              // second runs at once, beside workers.max
    unsigned queue = 64;                  // that may wait
    unsigned differences = 20;            // that are kept
    bool operator==(const Shadow&) const = default;
  } shadow;
  struct Promote {
    unsigned after = 0;  // requests; 0: no promotion
    unsigned max_diff = 0;
    // Not in the file:
    double max_error_delta = 0.1;   // percentage points
    double max_latency_delta = 25;  // per cent of the p95; 0: not looked at
    bool operator==(const Promote&) const = default;
  } promote;
  // Who may choose a request's side, by naming it in a header of the request that comes from one of
  // `from`. Empty: nobody.
  struct Pin {
    std::string header;
    std::vector<std::string> from;  // addresses or blocks
    bool operator==(const Pin&) const = default;
  } pin;
  std::string arm_header;         // response header that names the arm; empty: none
  std::string request_id_header;  // response header with the request's id; empty: none
  std::string interpreter;        // runs it, executable or not; empty: what its first line says
  Launch launch = Launch::automatic;
  Reset reset = Reset::rewind;
  struct Rewind {
    unsigned verify = 1000;  // one in this many rewinds is checked; 0: none
    double verify_cpu = 2;   // per cent of one core, for checks in idle time; 0: none
    Tracking tracking = Tracking::automatic;
    unsigned max_retired = 20;  // per cent of requests whose worker could not stay
    bool operator==(const Rewind&) const = default;
  } rewind;
  Level level = Level::compiled;
  struct Workers {
    unsigned min = 0;
    unsigned max = 8;
    unsigned spare = 2;  // forked ahead of need; never more than max
    Duration idle_timeout = std::chrono::seconds(60);
    unsigned max_requests = 10000;        // a worker that stays is replaced after so many; 0: never
    Duration max_age = Duration::zero();  // of a worker that stays; 0: no limit
    Bytes max_memory = 0;                 // of a worker that stays (PSS); 0: no limit
    bool operator==(const Workers&) const = default;
  } workers;
  struct Queue {
    unsigned max = 256;
    Duration timeout = std::chrono::seconds(5);
    bool operator==(const Queue&) const = default;
  } queue;
  struct Timeouts {
    Duration start = std::chrono::seconds(10);
    Duration request = std::chrono::seconds(30);     // 0: no limit
    Duration output = Duration::zero();              // 0: no limit
    Duration background = std::chrono::minutes(10);  // 0: no limit
    Duration kill_grace = std::chrono::seconds(3);
    bool operator==(const Timeouts&) const = default;
  } timeouts;
  struct Limits : CgroupLimits {
    Bytes body = 0, file_size = 0, address_space = 0;  // 0: none, or what the bridge has
    unsigned open_files = 0, user_processes = 0;       // the same
    Duration cpu_time = Duration::zero();              // of one request
    bool core = true;                                  // whether a crash may leave a core file
    Bytes error_output = 1 * base::kMiB;               // of a request, passed on; 0: all
    bool operator==(const Limits&) const = default;
  } limits;
  struct SlowLog {
    Duration after = Duration::zero();  // 0: never
    bool stacks = true;                 // whether the program is briefly stopped to be examined
    bool operator==(const SlowLog&) const = default;
  } slowlog;
  bool errors_to_server = true;  // standard error, besides the log; not in the file
  bool capture = true;           // its failing requests, if bridge.captures has a folder
  std::string user;              // "NAME", "NAME:GROUP", "owner" (of the file); empty: the bridge's
  bool no_new_privs = false;
  struct Sandbox {
    bool read_only = false;             // the whole file system, except:
    std::vector<std::string> write;     // folders and files
    bool private_tmp = false;           // its own /tmp, /var/tmp and /dev/shm
    Bytes tmp_size = 64 * base::kMiB;   // of each of these
    bool network = true;                // false: none but a loopback of its own
    std::vector<std::string> syscalls;  // that are allowed; empty: all
    bool landlock = true;               // where there is a sandbox, and the kernel has it
    bool best_effort = false;           // whether it runs with what is available
    bool any() const { return read_only || private_tmp || !network || !syscalls.empty(); }
    bool operator==(const Sandbox&) const = default;
  } sandbox;
  // What a WebAssembly module may use.
  struct Wasm {
    // The folders that it sees: their name in the module = their real path. Nothing else exists.
    std::map<std::string, std::string> dirs;
    std::vector<std::string> read_only;  // of them, by their name in the module
    Bytes memory = 256 * base::kMiB;     // of one instance
    Bytes stack = 1 * base::kMiB;
    bool operator==(const Wasm&) const = default;
  } wasm;
  std::map<std::string, std::string> env;
  // Not in the file: variables that programs get if the web server does not send them.
  std::vector<std::pair<std::string, std::string>> fallback_env;
  bool strict_params = false;            // only CGI's params pass, and pass_params:
  std::vector<std::string> pass_params;  // NAME, NAME*: even ones that steer interpreters
  std::vector<std::string> preload;
  Learn learn = Learn::installed;
  std::vector<std::string> accept;  // of kImpurities: done ahead anyway

  bool operator==(const ProgramSettings&) const = default;
};

}  // namespace config
