#include "cli/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace cli {
namespace {

using compare::Arm;

constexpr std::size_t kLabelColumns = 13;
constexpr std::size_t kBarColumns = 40;
constexpr std::size_t kMasksShown = 3;
constexpr std::size_t kDiffLinesShown = 24;

std::string line(std::string_view label, std::string_view text, const Terminal& terminal) {
  return wrapped(padded(label, kLabelColumns), text, terminal);
}

std::string time_text(Microseconds time) {
  const auto us = static_cast<double>(time.count());
  if (us < 1000) return fmt::format("{:.0f} us", us);
  if (us < 10'000) return fmt::format("{:.2f} ms", us / 1000);
  if (us < 100'000) return fmt::format("{:.1f} ms", us / 1000);
  if (us < 1'000'000) return fmt::format("{:.0f} ms", us / 1000);
  return fmt::format("{:.2f} s", us / 1'000'000);
}

std::string memory_text(std::uint64_t kib) {
  if (kib < 1024) return fmt::format("{} KiB", kib);
  return fmt::format("{:.1f} MiB", static_cast<double>(kib) / 1024);
}

std::string_view meaning_of_level(const Findings& findings) {
  const std::string& level = findings.level;
  const bool is_go = findings.kind == kGoExecutable;
  if (level == "compiled" && is_go) return ": its packages are initialized, at main.main()";
  if (level == "compiled" && findings.kind == kNodeScript)
    return ": the modules that it loads before it asks for anything are loaded";
  if (level == "compiled") return ": the script and its modules are, and nothing of it has run";
  if (level == "booted" && is_go)
    return ": its runtime is up, and some of its packages are initialized";
  if (level == "booted") return ": the interpreter is up, and nothing of the program has run";
  return level == "linked" ? ": loaded and linked, before main()" : "";
}

std::string program_lines(const Findings& findings, const Terminal& terminal) {
  std::string text = line("program", findings.program, terminal);
  std::string what = findings.kind;
  if (!findings.interpreter.empty()) {
    what += fmt::format(", run by {}{}", findings.interpreter,
                        findings.version.empty() ? "" : " (" + findings.version + ")");
  }
  if (!what.empty()) text += line("", what, terminal);
  if (!findings.first_line.empty()) {
    text += line("first line", "#!" + base::printable(findings.first_line, 200), terminal);
  }
  std::string level = fmt::format("{}{}", findings.level, meaning_of_level(findings));
  if (!findings.level_reason.empty())
    level += fmt::format("; not deeper: {}", findings.level_reason);
  if (!findings.arms.empty()) text += line("level", level, terminal);
  return text;
}

std::string request_lines(const Findings& findings, const Terminal& terminal) {
  std::string text;
  for (const RequestFindings& entry : findings.requests) {
    const bool first = &entry == &findings.requests.front();
    const std::string outcome = entry.problem.empty() ? fmt::format("status {}", entry.status)
                                                      : "left out: " + entry.problem;
    text += line(first ? "requests" : "", to_string(entry.request) + ": " + outcome, terminal);
  }
  if (!findings.requests_are_asked && findings.posts == Posts::left_out && !text.empty()) {
    text +=
        line("", "(no POST: it might change something; --post says that it is harmless)", terminal);
  }
  return text;
}

std::string answers_of(const ArmFindings& arm, bool is_none) {
  if (!arm.unavailable.empty()) return "not possible: " + arm.unavailable;
  if (arm.compared() == 0) return "no answer could be compared";
  std::string text;
  if (arm.different == 0) {
    text = fmt::format("same bytes as classic in {} answers", arm.compared());
    if (arm.masked > 0)
      text += fmt::format(", {} of them but for what varies by itself", arm.masked);
    if (is_none) text += "; it left no state that these requests show, which proves nothing";
  } else {
    const std::string what = arm.differences.empty() ? "" : arm.differences.front().what;
    text = fmt::format("{} in {} of {} answers, the first in: {}",
                       is_none ? "KEEPS STATE that shows" : "DIFFERENT", arm.different,
                       arm.compared(), what);
  }
  if (arm.verified > 0) {
    text +=
        fmt::format("; {} rewinds were compared with the zygote, {} different", arm.verified,
                    arm.verify_differences == 0 ? "none" : std::to_string(arm.verify_differences));
  }
  for (const Retired& entry : arm.retired) {
    text +=
        fmt::format("; {} of {} workers could not be put back: {}{}", entry.workers, arm.requests,
                    entry.reason, entry.why.empty() ? "" : " (" + entry.why + ")");
  }
  return text;
}

std::string masks_text(const std::vector<compare::Mask>& masks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(masks.size(), kMasksShown); ++i) {
    const compare::Mask& mask = masks[i];
    text += fmt::format("{}{} after \"{}\"", i == 0 ? "" : "; ", mask.form,
                        base::printable(mask.before, 40));
  }
  if (masks.size() > kMasksShown) text += fmt::format("; {} more", masks.size() - kMasksShown);
  return text;
}

std::string diff_lines(const compare::Difference& difference, const Terminal& terminal) {
  std::string text = base::printable(fmt::format("    {} {}: {}", difference.method, difference.uri,
                                                 difference.what)) +
                     "\n";
  std::string_view rest = difference.diff;
  for (std::size_t shown = 0; !rest.empty(); ++shown) {
    if (shown == kDiffLinesShown) return text + "    ... (--json has all of it)\n";
    const std::string_view diff_line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(diff_line.size() + 1, rest.size()));
    const Colour colour = diff_line.starts_with('-')   ? Colour::red
                          : diff_line.starts_with('+') ? Colour::green
                                                       : Colour::plain;
    const bool quotes =
        diff_line.empty() || std::string_view("-+ @").find(diff_line[0]) != diff_line.npos;
    text += quotes ? "    " + painted(diff_line, colour, terminal) + "\n"
                   : wrapped("    ", diff_line, terminal);
  }
  return text;
}

std::string answer_lines(const Findings& findings, const Terminal& terminal) {
  if (findings.arms.empty()) return {};
  std::string text = "\n" + painted("Answers", Colour::bold, terminal) + "\n";
  for (const ArmFindings& arm : findings.arms) {
    if (arm.arm == Arm::classic) {
      const std::string varies = masks_text(findings.masks);
      text += line("  classic",
                   varies.empty() ? "the same each time" : "varies by itself: " + varies, terminal);
      continue;
    }
    text += line("  " + std::string(arm.label()), answers_of(arm, arm.arm == Arm::none), terminal);
    if (!arm.differences.empty()) text += diff_lines(arm.differences.front(), terminal);
  }
  return text;
}

std::string bar_line(const ArmFindings& arm, const Times& times, const Times& classic,
                     Microseconds longest, const Terminal& terminal) {
  const double share = static_cast<double>(times.median.count()) /
                       static_cast<double>(std::max<Microseconds::rep>(longest.count(), 1));
  std::string text = "  " + padded(arm.label(), 8) + " ";
  text += painted(bar(share, kBarColumns, terminal),
                  arm.arm == Arm::classic ? Colour::dim : Colour::green, terminal);
  text += fmt::format(" {:>8} {:>8}", time_text(times.median), time_text(times.p95));
  if (arm.arm != Arm::classic && classic.runs > 0 && times.median.count() > 0) {
    const double gain =
        static_cast<double>(classic.median.count()) / static_cast<double>(times.median.count());
    text += fmt::format(" {:>6.{}f} x", gain, gain < 10 ? 2 : gain < 100 ? 1 : 0);
  }
  return text + "\n";
}

std::string time_lines(const Findings& findings, const Terminal& terminal) {
  const ArmFindings* classic = findings.find(Arm::classic);
  if (classic == nullptr || classic->times.empty()) return {};
  std::string text =
      "\n" + painted("Time per request", Colour::bold, terminal) +
      fmt::format(": median and p95 of up to {} runs, one after another\n", findings.runs);
  for (std::size_t i = 0; i < findings.requests.size(); ++i) {
    if (classic->times[i].runs == 0) continue;
    text += base::printable(to_string(findings.requests[i].request)) + "\n";
    Microseconds longest{};
    for (const ArmFindings& arm : findings.arms) {
      if (i < arm.times.size()) longest = std::max(longest, arm.times[i].median);
    }
    for (const ArmFindings& arm : findings.arms) {
      if (i >= arm.times.size() || arm.times[i].runs == 0) continue;
      text += bar_line(arm, arm.times[i], classic->times[i], longest, terminal);
    }
  }
  return text;
}

std::string memory_lines(const Findings& findings, const Terminal& terminal) {
  std::string text;
  for (const ArmFindings& arm : findings.arms) {
    if (!arm.worker_kib) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", arm.label(), memory_text(*arm.worker_kib));
  }
  if (text.empty()) return {};
  std::string zygote;
  for (const ArmFindings& arm : findings.arms) {
    if (arm.zygote_kib)
      zygote = fmt::format("; beside one zygote of {}", memory_text(*arm.zygote_kib));
  }
  const ArmFindings* rewind = findings.find(Arm::rewind);
  if (rewind != nullptr && rewind->verified > 0) {
    zygote += fmt::format("; a rewind puts {} page(s) back in {} us, after the answer",
                          rewind->rewind_pages, rewind->rewind_us);
  }
  return "\n" + painted("Memory", Colour::bold, terminal) +
         ": PSS of a worker (of fork's: one that waits)\n" + wrapped("  ", text + zygote, terminal);
}

nlohmann::json arm_json(const Findings& findings, const ArmFindings& arm) {
  nlohmann::json json = {{"ran", arm.ran()},
                         {"unavailable", arm.unavailable},
                         {"requests", arm.requests},
                         {"compared", arm.compared()},
                         {"same", arm.same},
                         {"masked", arm.masked},
                         {"different", arm.different},
                         {"names_process_id", arm.names_pid},
                         {"verified", arm.verified},
                         {"verify_differences", arm.verify_differences},
                         {"rewind", {{"pages", arm.rewind_pages}, {"us", arm.rewind_us}}},
                         {"speed_up", speed_up(findings, arm)},
                         {"differences", nlohmann::json::array()},
                         {"retired", nlohmann::json::array()},
                         {"times", nlohmann::json::array()},
                         {"worker_kib", nullptr},
                         {"zygote_kib", nullptr}};
  if (arm.worker_kib) json["worker_kib"] = *arm.worker_kib;
  if (arm.zygote_kib) json["zygote_kib"] = *arm.zygote_kib;
  for (const compare::Difference& entry : arm.differences) {
    json["differences"].push_back(
        {{"method", entry.method}, {"uri", entry.uri}, {"what", entry.what}, {"diff", entry.diff}});
  }
  for (const Retired& entry : arm.retired) {
    json["retired"].push_back(
        {{"reason", entry.reason}, {"why", entry.why}, {"workers", entry.workers}});
  }
  for (const Times& entry : arm.times) {
    json["times"].push_back(
        {{"runs", entry.runs}, {"median_us", entry.median.count()}, {"p95_us", entry.p95.count()}});
  }
  return json;
}

}  // namespace

std::string report_text(const Findings& findings, const Verdict& verdict,
                        const Terminal& terminal) {
  std::string text = program_lines(findings, terminal) + request_lines(findings, terminal) +
                     answer_lines(findings, terminal) + time_lines(findings, terminal) +
                     memory_lines(findings, terminal);
  const Colour colour = verdict.safety == Safety::safe           ? Colour::green
                        : verdict.safety == Safety::classic_only ? Colour::yellow
                                                                 : Colour::red;
  text += "\n" + painted(wrapped("", verdict.sentence, terminal), colour, terminal);
  if (!findings.cut_short.empty()) {
    text += wrapped("", "Not everything was tried: " + findings.cut_short + ".", terminal);
  }
  if (!findings.last_words.empty()) {
    text += "What was printed on standard error:\n" + findings.last_words;
    if (!findings.last_words.ends_with('\n')) text += "\n";
  }
  if (verdict.safety == Safety::unchecked) return text;
  return text + "\nFor config.toml:\n\n" + stanza(findings, verdict);
}

nlohmann::json report_json(const Findings& findings, const Verdict& verdict) {
  constexpr std::string_view kSafety[] = {"safe", "classic only", "not checked"};
  nlohmann::json json = {
      {"program", findings.program},
      {"kind", findings.kind},
      {"first_line", findings.first_line},
      {"interpreter", findings.interpreter},
      {"version", findings.version},
      {"level", findings.level},
      {"level_reason", findings.level_reason},
      {"learned", findings.learned},
      {"problem", findings.problem},
      {"cut_short", findings.cut_short},
      {"last_words", findings.last_words},
      {"took_ms", findings.took.count()},
      {"verdict",
       {{"safety", kSafety[static_cast<std::size_t>(verdict.safety)]},
        {"arm", verdict.by_fastcgi ? "fastcgi" : compare::to_string(verdict.arm)},
        {"speed_up", verdict.speed_up},
        {"sentence", verdict.sentence},
        {"exit_code", exit_code(verdict.safety)}}},
      {"stanza", ""},
      {"requests", nlohmann::json::array()},
      {"varies", nlohmann::json::array()},
      {"arms", nlohmann::json::object()}};
  if (verdict.safety != Safety::unchecked) json["stanza"] = stanza(findings, verdict);
  for (const RequestFindings& entry : findings.requests) {
    json["requests"].push_back({{"request", to_string(entry.request)},
                                {"status", entry.status},
                                {"problem", entry.problem}});
  }
  for (const compare::Mask& mask : findings.masks) {
    json["varies"].push_back(
        {{"before", mask.before}, {"after", mask.after}, {"form", mask.form}, {"used", mask.used}});
  }
  for (const ArmFindings& arm : findings.arms) {
    json["arms"][std::string(arm.label())] = arm_json(findings, arm);
  }
  return json;
}

}  // namespace cli
