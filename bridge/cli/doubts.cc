#include "cli/doubts.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "config/pattern.h"
#include "loop/clock.h"
#include "router/resolver.h"

namespace cli {
namespace {

std::string section_name(std::size_t index) {
  return fmt::format("program[{}]", index + 1);
}

// path without links, as far as it exists.
std::string without_links(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

// The same for what paths begin with: its last name may be only the beginning of one.
config::PatternStart without_links(const config::PatternStart& start) {
  const std::size_t name = start.text.rfind('/') + 1;
  if (name == 0) return start;
  const std::string folder = without_links(start.text.substr(0, name));
  return {folder + (folder.ends_with('/') ? "" : "/") + start.text.substr(name), start.is_all};
}

bool may_be_in(const config::PatternStart& start, const std::string& root) {
  const std::string folder = root.ends_with('/') ? root : root + '/';
  if (start.text == root || start.text.starts_with(folder)) return true;
  return !start.is_all && folder.starts_with(start.text);
}

// Programs run by the path that names them, links and all, so both spellings of both count.
bool may_match_in_roots(const std::string& match, const std::vector<std::string>& roots) {
  const config::PatternStart as_written = config::start_of(match);
  const config::PatternStart real = without_links(as_written);
  return std::ranges::any_of(roots, [&](const std::string& root) {
    const std::string real_root = without_links(root);
    return may_be_in(as_written, root) || may_be_in(real, root) ||
           may_be_in(as_written, real_root) || may_be_in(real, real_root);
  });
}

void doubt_pattern(const config::Settings& settings, std::size_t index,
                   std::vector<std::string>& doubts) {
  const std::string& match = settings.programs[index].match;
  const std::string where = fmt::format("{}.match: \"{}\"", section_name(index), match);
  if (config::unclosed_bracket(match) != std::string::npos) {
    doubts.push_back(where + " has a '[' without a ']': it matches only paths that have a '['");
  }
  if (!may_match_in_roots(match, settings.bridge.roots)) {
    doubts.push_back(where +
                     " is in none of bridge.roots: the section is never used, unless a link there "
                     "leads into one");
  }
  for (std::size_t i = 0; i < index; ++i) {
    if (!config::covers(settings.programs[i].match, match)) continue;
    doubts.push_back(fmt::format("{} is never used: {} (\"{}\") matches all of it and comes first",
                                 where, section_name(i), settings.programs[i].match));
    break;
  }
}

// Why what should run programs cannot; empty: it can, or nobody knows.
std::string why_no_interpreter(const std::string& path) {
  struct stat file = {};
  if (::stat(path.c_str(), &file) != 0) return errno == EACCES ? "" : std::strerror(errno);
  if (!S_ISREG(file.st_mode)) return "not a file";
  return (file.st_mode & 0111) == 0 ? "not executable" : "";
}

void doubt_interpreters(const config::Settings& settings, std::vector<std::string>& doubts) {
  std::set<std::string> told;  // each section that does not override [defaults] repeats it
  const auto doubt = [&](const std::string& section, const std::string& path) {
    if (path.empty() || !told.insert(path).second) return;
    const std::string why = why_no_interpreter(path);
    if (why.empty()) return;
    doubts.push_back(fmt::format("{}.interpreter: {}: {}: its programs are answered with an error",
                                 section, path, why));
  };
  doubt("defaults", settings.defaults.interpreter);
  for (std::size_t i = 0; i < settings.programs.size(); ++i) {
    doubt(section_name(i), settings.programs[i].interpreter);
  }
}

// Programs that the settings name by their path: which of them would not run, and what follows.
void doubt_programs(const config::Settings& settings, std::vector<std::string>& doubts) {
  const config::BridgeSettings& bridge = settings.bridge;
  const auto has_interpreter = [&](const std::string& program) {
    return !settings.for_program(program).interpreter.empty();
  };
  router::Resolver resolver(
      loop::system_clock(), bridge.roots, has_interpreter,
      std::max<std::size_t>(bridge.prewarm.size() + bridge.bound.size(), 1),
      bridge.root_links ? router::RootLinks::may_leave : router::RootLinks::stay_inside);
  const auto doubt = [&](const std::string& setting, const std::string& program,
                         std::string_view what_follows) {
    const auto found = resolver.resolve(program);
    if (found) return;
    doubts.push_back(fmt::format("{}: {}: {}", setting, found.refusal().reason, what_follows));
  };
  for (std::size_t i = 0; i < bridge.prewarm.size(); ++i) {
    doubt(fmt::format("bridge.prewarm[{}]", i + 1), bridge.prewarm[i],
          "it is not made warm at the start");
  }
  for (const auto& [address, program] : bridge.bound) {
    doubt(fmt::format("bridge.bound.\"{}\"", config::to_string(address)), program,
          "all requests there are answered with an error");
  }
}

}  // namespace

std::vector<std::string> doubts_about(const config::Settings& settings) {
  std::vector<std::string> doubts;
  for (std::size_t i = 0; i < settings.programs.size(); ++i) doubt_pattern(settings, i, doubts);
  doubt_interpreters(settings, doubts);
  doubt_programs(settings, doubts);
  return doubts;
}

}  // namespace cli
