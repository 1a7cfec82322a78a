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

// Of the runs of one request in one arm.
struct Times {
  std::size_t runs = 0;  // 0: there are none
  Microseconds median{}, p95{};
};
Times times_of(std::vector<Microseconds> samples);

// Workers that could not stay for another request, for one reason.
struct Retired {
  std::string reason;  // policy::retirement_name()
  std::string why;     // what the last of them said
  std::uint64_t workers = 0;
};

struct ArmFindings {
  compare::Arm arm = compare::Arm::classic;
  std::string level;           // "linked", "compiled", "fastcgi"
  std::string unavailable;     // why it could not be run; empty: it could
  std::uint64_t requests = 0;  // answered by a warm worker (classic: by a program launched for it)
  std::uint64_t same = 0, masked = 0, different = 0;  // of the answers that were compared
  std::vector<compare::Difference> differences;       // the first ones
  std::vector<Retired> retired;
  std::uint64_t verified = 0, verify_differences = 0;   // rewinds, compared with the zygote
  std::uint32_t rewind_pages = 0, rewind_us = 0;        // of one of them, half took less
  std::vector<Times> times;                             // one for each request, in their order
  std::optional<std::uint64_t> worker_kib, zygote_kib;  // PSS
  bool names_pid = false;  // its answers hold the process id of the worker that made them

  // It answers by FastCGI, as a process that it keeps (arm none).
  bool by_fastcgi() const { return level == "fastcgi"; }
  // "rewind", "fastcgi", ...
  std::string_view label() const { return by_fastcgi() ? "fastcgi" : compare::to_string(arm); }
  bool ran() const { return unavailable.empty() && requests > 0; }
  std::uint64_t compared() const { return same + masked + different; }
  std::uint64_t retired_workers() const;
};

// Whether text holds pid in decimal digits, alone or in one number with a time in seconds before or
// behind it. Of less than three digits one is found by chance, so they count for nothing.
bool holds_pid(std::string_view text, pid_t pid);

struct RequestFindings {
  AskedRequest request;
  int status = 0;       // of classic's first answer
  std::string problem;  // why it has no proper answer; it is then not compared
};

struct Findings {
  std::string program;         // its path
  std::string kind;            // "Perl script", "executable"
  std::string first_line;      // of a script, without "#!"
  std::string interpreter;     // of a script: the file that is executed
  std::string version;         // that it says of itself, if it was asked
  std::string level = "none";  // "linked", "compiled", "none"
  std::string level_reason;    // why it is not deeper
  std::vector<RequestFindings> requests;
  Posts posts = Posts::left_out;     // whether the requests were made up here with a POST in them
  bool requests_are_asked = false;   // by the operator
  unsigned runs = 0;                 // that were asked for, for the times
  std::vector<ArmFindings> arms;     // classic first; none if the program was not run at all
  std::vector<compare::Mask> masks;  // what varies by itself
  std::vector<std::string> learned;
  std::vector<Assignment> settings_env;  // that the program needs in its settings
  std::string cut_short;                 // why it was not finished, though enough is known
  std::string problem;                   // why it could not be checked; empty: it was
  std::string last_words;                // what was printed on standard error then
  std::chrono::milliseconds took{};

  const ArmFindings* find(compare::Arm arm) const;  // that is not by FastCGI
  const ArmFindings* find_fastcgi() const;
};

enum class Safety {
  safe,          // warm workers give the same bytes
  classic_only,  // they do not, or there can be none
  unchecked,
};

// What to tell the operator to do.
struct Verdict {
  Safety safety = Safety::unchecked;
  compare::Arm arm = compare::Arm::classic;  // the one that is recommended
  double speed_up = 1;                       // of that arm against classic
  std::string sentence;
  bool by_fastcgi = false;  // arm is none, with launch = "fastcgi"
};

Verdict judge(const Findings& findings);

// How often arm fits into classic's time: all requests' medians together. 0: not known.
double speed_up(const Findings& findings, const ArmFindings& arm);

// 0 safe, 1 classic only, 2 not checked.
int exit_code(Safety safety);

// A [[program]] for config.toml that does what verdict says.
std::string stanza(const Findings& findings, const Verdict& verdict);

}  // namespace cli
