// What `check` found out about a program, and what follows from it: pure values.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/asked_request.h"
#include "compare/arm.h"
#include "compare/shadow_record.h"
#include "config/settings.h"

namespace cli {

using Microseconds = std::chrono::microseconds;

inline constexpr std::string_view kGoExecutable = "Go executable";
inline constexpr std::string_view kNodeScript = "Node script";

// Times of the runs of one request in one arm.
struct Times {
  std::size_t runs = 0;  // 0: there are none
  Microseconds median{}, p95{};
};
Times times_of(std::vector<Microseconds> samples);

// Workers that could not stay for another request, for the same reason.
struct Retired {
  std::string reason;  // policy::retirement_name()
  std::string why;     // what the last of them reported
  std::uint64_t workers = 0;
};

struct ArmFindings {
  compare::Arm arm = compare::Arm::classic;
  std::string level;           // "linked", "compiled", "fastcgi"
  std::string unavailable;     // why it could not be run; empty: it could
  std::uint64_t requests = 0;  // answered by a warm worker (in classic: by a launched program)
  std::uint64_t same = 0, masked = 0, different = 0;  // of the answers that were compared
  std::vector<compare::Difference> differences;       // the first ones
  std::vector<Retired> retired;
  std::uint64_t verified = 0, verify_differences = 0;   // rewinds, compared with the zygote
  std::uint32_t rewind_pages = 0, rewind_us = 0;        // of a rewind: the median
  std::vector<Times> times;                             // one for each request, in their order
  std::optional<std::uint64_t> worker_kib, zygote_kib;  // PSS
  bool names_pid = false;  // its answers contain the process id of the worker that made them

  // Whether it answers by FastCGI, as a process that is kept (arm none).
  bool by_fastcgi() const { return level == "fastcgi"; }
  // "rewind", "fastcgi", ...
  std::string_view label() const { return by_fastcgi() ? "fastcgi" : compare::to_string(arm); }
  bool ran() const { return unavailable.empty() && requests > 0; }
  std::uint64_t compared() const { return same + masked + different; }
  std::uint64_t retired_workers() const;
};

// Whether text contains pid in decimal digits, alone or in one number directly before or after a
// time in seconds. Pids of less than three digits are found by chance, so they never count.
bool holds_pid(std::string_view text, pid_t pid);

struct RequestFindings {
  AskedRequest request;
  int status = 0;       // of classic's first answer
  std::string problem;  // why it has no proper answer; then it is not compared
};

struct Findings {
  std::string program;         // its path
  std::string kind;            // "Perl script", "executable", kGoExecutable
  std::string first_line;      // of a script, without "#!"
  std::string interpreter;     // of a script: the file that is executed
  std::string version;         // as it reports, if it was asked
  std::string level = "none";  // "linked", "compiled", "none"
  std::string level_reason;    // why it is not deeper
  std::vector<RequestFindings> requests;
  Posts posts = Posts::left_out;     // whether the default requests include a POST
  bool requests_are_asked = false;   // the requests come from the operator
  unsigned runs = 0;                 // asked for, for measuring times
  std::vector<ArmFindings> arms;     // classic first; none if the program was not run at all
  std::vector<compare::Mask> masks;  // places that vary by themselves
  std::vector<std::string> learned;
  std::vector<Assignment> settings_env;  // that the program needs in its settings
  std::string cut_short;                 // why it was not finished, although enough is known
  std::string problem;                   // why it could not be checked; empty: it was
  std::string last_words;                // what was then printed on standard error
  std::chrono::milliseconds took{};

  const ArmFindings* find(compare::Arm arm) const;  // the one that is not by FastCGI
  const ArmFindings* find_fastcgi() const;
};

enum class Safety {
  safe,          // warm workers give the same bytes
  classic_only,  // they do not, or there can be no warm workers
  unchecked,
};

// What to advise the operator to do.
struct Verdict {
  Safety safety = Safety::unchecked;
  compare::Arm arm = compare::Arm::classic;  // the arm that is recommended
  double speed_up = 1;                       // of that arm, compared with classic
  std::string sentence;
  bool by_fastcgi = false;  // arm is none, with launch = "fastcgi"
};

Verdict judge(const Findings& findings);

// How many times arm's time fits into classic's: the medians of all requests together. 0: not
// known.
double speed_up(const Findings& findings, const ArmFindings& arm);

// 0 safe, 1 classic only, 2 not checked.
int exit_code(Safety safety);

// A [[program]] section for config.toml that does what verdict says.
std::string stanza(const Findings& findings, const Verdict& verdict);

}  // namespace cli
