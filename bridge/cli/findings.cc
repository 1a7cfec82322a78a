#include "cli/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/pattern.h"
#include "config/show.h"

namespace cli {
namespace {

using compare::Arm;

// A rewind that often has to end its worker costs more than the fork that it should save; above
// this share the bridge gives up rewinding as well.
const unsigned kMaxRetiredPerCent = config::ProgramSettings{}.rewind.max_retired;
// A smaller gain cannot be told from noise.
constexpr double kWorthwhile = 1.1;
constexpr std::size_t kStanzaColumns = 78;

bool has_same_bytes(const ArmFindings* arm) {
  return arm != nullptr && arm->ran() && arm->compared() > 0 && arm->different == 0;
}

bool retires_too_often(const ArmFindings& arm) {
  return arm.retired_workers() * 100 > kMaxRetiredPerCent * arm.requests;
}

bool is_borne(const ArmFindings* arm) {
  if (!has_same_bytes(arm)) return false;
  return arm->arm != Arm::rewind || (arm->verify_differences == 0 && !retires_too_often(*arm));
}

std::string most_retired(const ArmFindings& arm) {
  const auto most =
      std::max_element(arm.retired.begin(), arm.retired.end(),
                       [](const auto& a, const auto& b) { return a.workers < b.workers; });
  return most == arm.retired.end() ? ""
                                   : most->reason + (most->why.empty() ? "" : ": " + most->why);
}

// A token made from the time and the process id is the same for all clients that one worker answers
// within a second; if each request has a new process, each gets a different token.
bool repeats_only_in(const ArmFindings* kept, const ArmFindings* fresh) {
  return has_same_bytes(fresh) && kept != nullptr && !kept->differences.empty() &&
         kept->differences.front().what == "a value that was used before";
}

constexpr std::string_view kOwnProcess =
    "One process answers many requests there, so names made of the time and the process id repeat "
    "within a second; with \"fork\" each request has a process of its own.";

// Why an arm is not recommended; empty if there is no objection.
std::string objection(const ArmFindings* arm) {
  if (arm == nullptr) return "it was not run";
  if (!arm->unavailable.empty()) return arm->unavailable;
  if (arm->different > 0) {
    return fmt::format("{} of {} answers differ from classic's ({})", arm->different,
                       arm->compared(),
                       arm->differences.empty() ? "?" : arm->differences.front().what);
  }
  if (arm->requests == 0 || arm->compared() == 0) return "no warm worker answered";
  if (arm->verify_differences > 0) {
    return fmt::format("{} of {} rewinds left a worker that differs from its zygote",
                       arm->verify_differences, arm->verified);
  }
  if (arm->arm == Arm::rewind && retires_too_often(*arm)) {
    return fmt::format("{} of {} requests left a worker that cannot be put back ({})",
                       arm->retired_workers(), arm->requests, most_retired(*arm));
  }
  return {};
}

bool is_bare_key(std::string_view name) {
  return !name.empty() && name.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789_-") == name.npos;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text = "[";
  std::size_t column = sizeof "preload = [" - 1;
  for (const std::string& word : words) {
    const std::string next = config::quote(word);
    const bool first = &word == &words.front();
    const bool wraps = !first && column + 2 + next.size() + 1 > kStanzaColumns;
    text += first ? "" : wraps ? ",\n  " : ", ";
    column = wraps ? 2 : column + (first ? 0 : 2);
    text += next;
    column += next.size();
  }
  return text + "]";
}

std::string speed_words(double speed_up) {
  if (speed_up <= 0) return "its speed was not measured";
  if (speed_up < kWorthwhile) return fmt::format("it is not faster ({:.2f} times)", speed_up);
  return fmt::format("{:.{}f} times as fast", speed_up, speed_up < 10 ? 1 : 0);
}

Verdict safe(const Findings& findings, const ArmFindings& arm) {
  Verdict verdict{Safety::safe, arm.arm, speed_up(findings, arm), {}, false};
  verdict.sentence = fmt::format(
      "Safe with reset = \"{}\": {} {} byte for byte as in classic{}; {}.",
      compare::to_string(arm.arm), arm.compared(),
      arm.compared() == 1 ? "answer was" : "answers were",
      arm.masked > 0 ? ", but for what varies in classic too" : "", speed_words(verdict.speed_up));
  if (arm.arm == Arm::fork) {
    verdict.sentence +=
        fmt::format(" Not reset = \"rewind\": {}.", objection(findings.find(Arm::rewind)));
    if (repeats_only_in(findings.find(Arm::rewind), &arm)) {
      verdict.sentence += fmt::format(" {}", kOwnProcess);
    }
  } else if (arm.names_pid) {
    verdict.sentence += fmt::format(" Its answers name its process id. {}", kOwnProcess);
  }
  if (verdict.speed_up > 0 && verdict.speed_up < kWorthwhile) {
    verdict.sentence += " Nothing is gained, so it may as well stay classic.";
    verdict.arm = Arm::classic;
  }
  return verdict;
}

// What it keeps from one request to the next was intended by the author who wrote it for FastCGI.
Verdict speaks_fastcgi(const Findings& findings, const ArmFindings& arm) {
  Verdict verdict{Safety::safe, arm.arm, speed_up(findings, arm), {}, true};
  verdict.sentence = fmt::format(
      "It speaks FastCGI itself, so launch = \"fastcgi\" keeps its processes: {} answers were byte "
      "for byte as in classic{}; {}. What state it keeps is its own affair.",
      arm.compared(), arm.masked > 0 ? ", but for what varies in classic too" : "",
      speed_words(verdict.speed_up));
  return verdict;
}

}  // namespace

bool holds_pid(std::string_view text, pid_t pid) {
  constexpr std::size_t kTimeDigits = 10;  // from 2001 to 2286
  const std::string wanted = std::to_string(pid);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (wanted.size() < 3) return false;
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if(begin, text.end(), is_digit);
    const auto end = std::find_if_not(begin, text.end(), is_digit);
    const std::string_view number(begin, end);
    if (number == wanted) return true;
    const bool beside = number.size() == wanted.size() + kTimeDigits;
    if (beside && (number.starts_with(wanted) || number.ends_with(wanted))) return true;
    begin = end;
  }
  return false;
}

Times times_of(std::vector<Microseconds> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::size_t last = samples.size() - 1;
  return {samples.size(), (samples[last / 2] + samples[(last + 1) / 2]) / 2,
          samples[(last * 95 + 99) / 100]};
}

std::uint64_t ArmFindings::retired_workers() const {
  std::uint64_t sum = 0;
  for (const Retired& entry : retired) sum += entry.workers;
  return sum;
}

const ArmFindings* Findings::find(Arm arm) const {
  for (const ArmFindings& entry : arms) {
    if (entry.arm == arm && !entry.by_fastcgi()) return &entry;
  }
  return nullptr;
}

const ArmFindings* Findings::find_fastcgi() const {
  for (const ArmFindings& entry : arms) {
    if (entry.by_fastcgi()) return &entry;
  }
  return nullptr;
}

double speed_up(const Findings& findings, const ArmFindings& arm) {
  const ArmFindings* classic = findings.find(Arm::classic);
  if (classic == nullptr || classic->times.size() != arm.times.size()) return 0;
  Microseconds before{}, now{};
  for (std::size_t i = 0; i < arm.times.size(); ++i) {
    if (arm.times[i].runs == 0 || classic->times[i].runs == 0) continue;
    before += classic->times[i].median;
    now += arm.times[i].median;
  }
  return now.count() == 0 ? 0
                          : static_cast<double>(before.count()) / static_cast<double>(now.count());
}

Verdict judge(const Findings& findings) {
  if (!findings.problem.empty()) {
    return {Safety::unchecked, Arm::classic, 1, "Not checked: " + findings.problem + ".", false};
  }
  const ArmFindings* rewind = findings.find(Arm::rewind);
  const ArmFindings* fork = findings.find(Arm::fork);
  const ArmFindings* fastcgi = findings.find_fastcgi();
  if (has_same_bytes(fastcgi)) return speaks_fastcgi(findings, *fastcgi);
  if (is_borne(rewind)) return safe(findings, *rewind);
  if (is_borne(fork)) return safe(findings, *fork);
  const std::string why_not_rewind = objection(rewind), why_not_fork = objection(fork);
  std::string why = "with reset = \"fork\" " + why_not_fork;
  if (why_not_rewind == why_not_fork) {
    why = why_not_fork;
  } else {
    why += ", and with reset = \"rewind\" " + why_not_rewind;
  }
  const bool differs =
      (rewind != nullptr && rewind->different > 0) || (fork != nullptr && fork->different > 0);
  Verdict verdict{Safety::classic_only, Arm::classic, 1, {}, false};
  verdict.sentence =
      fmt::format("{}: {}.", differs ? "Not safe beyond classic" : "Only classic is possible", why);
  if (differs && findings.level == "compiled") {
    verdict.sentence +=
        " What it does while it is compiled happens once: with --level linked that is left to each "
        "request.";
  }
  return verdict;
}

int exit_code(Safety safety) {
  return static_cast<int>(safety);
}

std::string stanza(const Findings& findings, const Verdict& verdict) {
  std::string text = "[[program]]\n";
  text += "match = " + config::quote(config::literal_pattern(findings.program)) + "\n";
  if (verdict.arm == Arm::classic) {
    text += "mode = \"classic\"\n";
  } else if (verdict.by_fastcgi) {
    text += "mode = \"persistent\"\nlaunch = \"fastcgi\"\n";
  } else {
    text += "mode = \"persistent\"\n";
    text += fmt::format("reset = \"{}\"\n", compare::to_string(verdict.arm));
    // The setting is the deepest level to try: a level that the program itself rules out is still
    // tried.
    const std::string& level = findings.find(verdict.arm)->level;
    const bool by_itself = level == "booted" && !findings.level_reason.empty();
    if (!by_itself) text += fmt::format("level = \"{}\"\n", level);
    if (!findings.learned.empty()) text += "preload = " + list_of(findings.learned) + "\n";
  }
  std::string env;
  for (const auto& [name, value] : findings.settings_env) {
    env += (env.empty() ? "" : ", ") + (is_bare_key(name) ? name : config::quote(name)) + " = " +
           config::quote(value);
  }
  return env.empty() ? text : text + "env = { " + env + " }\n";
}

}  // namespace cli
