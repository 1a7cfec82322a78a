#include "policy/start_variables.h"

#include <algorithm>
#include <array>

#include "cgi/environment.h"
#include "router/exec_wrapper.h"

namespace policy {
namespace {

// In addition to what cgi::forbidden_name() knows: nobody would control a program with these, but
// libc and interpreters read them when they start. An entry that ends with _ stands for all names
// that begin so.
constexpr auto kReadAtStart =
    std::to_array<std::string_view>({"TZ", "LANG", "LANGUAGE", "LC_", "HOME", "USER", "LOGNAME",
                                     "XDG_", "UV_", "NO_COLOR", "FORCE_COLOR"});

constexpr std::array<std::string_view, 9> kConstantNames = {
    "CONTEXT_DOCUMENT_ROOT", "DOCUMENT_ROOT", "GATEWAY_INTERFACE", "SCRIPT_FILENAME", "SCRIPT_NAME",
    "SERVER_ADMIN",          "SERVER_NAME",   "SERVER_PORT",       "SERVER_SOFTWARE"};

// A set of first letters that distinguishes only capitals; that is enough to rule out most names.
constexpr std::uint32_t letter_of(std::string_view name) {
  const auto place = static_cast<unsigned>(static_cast<unsigned char>(name.front())) - 'A';
  return place < 26 ? std::uint32_t{1} << place : std::uint32_t{1} << 26;
}

constexpr std::uint32_t kLettersReadAtStart = [] {
  std::uint32_t letters = 0;
  for (const std::string_view name : kReadAtStart) letters |= letter_of(name);
  return letters;
}();

bool is_known_to_be_read(std::string_view name) {
  return !name.empty() && (letter_of(name) & kLettersReadAtStart) != 0 &&
         std::ranges::any_of(kReadAtStart, [name](std::string_view known) {
           return known.ends_with('_') ? name.starts_with(known) : name == known;
         });
}

bool is_constant(std::string_view name) {
  for (const std::string_view constant : kConstantNames) {
    if (name == constant) return true;
  }
  return false;
}

// Calls see(name, value, entry) for each variable until it returns false.
template <typename See>
void for_each(std::string_view environment, const See& see) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    if (!see(entry.substr(0, equals), entry.substr(equals + 1))) return;
  }
}

}  // namespace

bool is_read_at_start(std::string_view name, config::Level level) {
  if (cgi::is_ours(name)) return false;
  if (name == cgi::kFolderVariable) return true;  // the zygote starts in that folder
  const auto reason = cgi::forbidden_name(name);
  if (level == config::Level::linked) {
    return reason && (*reason == "loader" || name.starts_with("MALLOC_"));
  }
  return reason || is_known_to_be_read(name);
}

ConstantVariables constant_variables(std::string_view environment) {
  ConstantVariables constants;
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(entry.size() + 1);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (is_constant(name)) constants.emplace(name, entry.substr(name.size() + 1));
  }
  return constants;
}

LaunchVariables launch_variables(const ConstantVariables& constants,
                                 const config::ProgramSettings& settings,
                                 const std::vector<std::string>& assignments) {
  LaunchVariables variables = {{"PATH", std::string(cgi::kDefaultPath)}};
  for (const auto& [name, value] : settings.fallback_env) variables[name] = value;
  for (const auto& [name, value] : constants) variables[name] = value;
  for (const auto& [name, value] : settings.env) variables[name] = value;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    variables[assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  return variables;
}

// ---- for a generation ----

StartVariables::StartVariables(LaunchVariables launched,
                               const std::vector<std::string>& assignments, bool through_shell)
    : launched_(std::move(launched)), through_shell_(through_shell) {
  for (const std::string& assignment : assignments) {
    assigned_.insert(assignment.substr(0, assignment.find('=')));
  }
}

void StartVariables::note_read(std::string_view lines) {
  while (!lines.empty() && read_.size() < kReadNamesMax) {
    const std::string_view name = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(name.size() + 1, lines.size()));
    if (name.empty() || cgi::is_ours(name)) continue;
    read_.emplace(name);
    letters_read_ |= letter_of(name);
  }
}

// Node makes V8 read the time zone again for each request.
bool StartVariables::counts(std::string_view name, worker::Language language,
                            config::Level level) const {
  if (language == worker::Language::node && name == "TZ") return false;
  const bool may_be_read = !name.empty() && (letter_of(name) & letters_read_) != 0;
  return ((may_be_read && read_.contains(name)) || is_read_at_start(name, level)) &&
         !assigned_.contains(name);
}

std::string StartVariables::misfit(std::string_view environment, worker::Language language,
                                   config::Level level) const {
  std::string found;
  std::vector<std::string_view> names;
  for_each(environment, [&](std::string_view name, std::string_view value) {
    if (name.starts_with("HTTP_")) return true;
    const bool bars =
        through_shell_ && (router::means_something_to_shells(name) || name == cgi::kFolderVariable);
    if (bars) {
      found = name;
      return false;
    }
    if (!counts(name, language, level)) return true;
    const auto launched = launched_.find(name);
    if (launched == launched_.end() || launched->second != value) {
      found = name;
      return false;
    }
    names.push_back(name);
    return true;
  });
  if (!found.empty()) return found;
  for (const auto& [name, value] : launched_) {
    if (counts(name, language, level) && std::ranges::find(names, name) == names.end()) return name;
  }
  return {};
}

// ---- for a program ----

void StartChoice::take(std::string_view environment) {
  constants_ = constant_variables(environment);
  is_known_ = !environment.empty();
  is_guess_ = !is_known_;
  first_.clear();
  // Every request has it (cgi/environment.h).
  if (is_guess_) constants_.emplace("GATEWAY_INTERFACE", "CGI/1.1");
  for_each(environment, [this](std::string_view name, std::string_view value) {
    if (is_read_at_start(name, config::Level::compiled) || read_.contains(name)) {
      constants_.emplace(name, value);
    }
    return true;
  });
}

bool StartChoice::follow_first_request() {
  if (!is_guess_ || first_.empty()) return false;
  take(std::exchange(first_, {}));
  return true;
}

void StartChoice::count_fit() {
  is_known_ = true;
  vote_.count_own();
}

bool StartChoice::count_misfit(std::string_view environment, const ReadNames& read,
                               base::TimePoint now) {
  bool unforeseen = !is_known_;
  std::string values;
  for_each(environment, [&](std::string_view name, std::string_view value) {
    const bool known = is_read_at_start(name, config::Level::compiled) || read_.contains(name);
    if (!known && !read.contains(name)) return true;
    // The zygote was launched before it was known that the program reads this.
    unforeseen = unforeseen || (!known && !constants_.contains(name));
    values.append(name).append("=").append(value).push_back('\0');
    return true;
  });
  read_.insert(read.begin(), read.end());
  if (!vote_.count_other(values, now) && !unforeseen) return false;
  vote_.start_anew(now);
  return true;
}

}  // namespace policy
