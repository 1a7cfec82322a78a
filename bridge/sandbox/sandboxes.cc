#include "sandbox/sandboxes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "sandbox/fence.h"
#include "sandbox/system_calls.h"

namespace sandbox {
namespace {

// After this time, a sandbox that could not be made is tried again.
constexpr std::chrono::seconds kRefusalHolds{2};

constexpr const char* kStepDown = "/cgibridge-step-down";

// The kernel's version of Landlock; 0: it has none, or it is switched off. linux/landlock.h.
unsigned landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1U);
  return version > 0 ? static_cast<unsigned>(version) : 0;
}

Place place_of(const std::string& adapters, const std::string& program) {
  Place place{::geteuid() == 0, ::geteuid(), ::getegid(), {adapters}};
  const std::size_t slash = program.rfind('/');
  if (slash == 0) place.kept.push_back(program);
  // If program is a link, both folders: the link's own, and the one that it leads to.
  std::error_code gone;
  const auto named = std::filesystem::canonical(program.substr(0, slash + 1), gone);
  if (!gone && slash > 0) place.kept.push_back(named.string());
  const auto real = std::filesystem::canonical(program, gone).parent_path();
  if (!gone && real != named && real != "/") place.kept.push_back(real.string());
  return place;
}

base::Result<std::vector<std::string>> filters_of(const Wish& wish, const Ways& ways) {
  std::vector<std::string> filters;
  auto fence = fence_of(wish.network      ? Sockets::all
                        : ways.namespaces ? Sockets::of_a_namespace
                                          : Sockets::files_alone);
  if (!fence) return fence.error();
  filters.push_back(fence.take());
  if (!wish.syscalls.empty()) {
    auto filter = filter_of(wish.syscalls);
    if (!filter) return filter.error();
    filters.push_back(filter.take());
  }
  return filters;
}

// A section that says the same as [defaults] is not reported again.
template <typename Do>
void for_each_section(const config::Settings& settings, const Do& act) {
  const Wish& all = settings.defaults.sandbox;
  if (all.any()) act("defaults", all);
  for (std::size_t i = 0; i < settings.programs.size(); ++i) {
    const Wish& wish = settings.programs[i].sandbox;
    if (wish.any() && !(wish == all)) act(fmt::format("program[{}]", i + 1), wish);
  }
}

}  // namespace

Sandbox::Sandbox(Namespaces namespaces, base::UniqueFd steps)
    : namespaces_(std::move(namespaces)), steps_(std::move(steps)) {
  const NamespaceFds all = namespaces_.fds();
  for (const int fd : {steps_.get(), all.users, all.mounts, all.network, all.root}) {
    if (fd >= 0) fds_.push_back(fd);
  }
}

Sandboxes::Sandboxes(const loop::Clock& clock, const std::string& adapters)
    : clock_(clock), adapters_(adapters) {}

cgi::OrRefusal<std::shared_ptr<const Sandbox>> Sandboxes::of(const Wish& wish,
                                                             const std::string& program) {
  if (!wish.any()) {
    programs_.erase(program);
    return std::shared_ptr<const Sandbox>();
  }
  const auto known = programs_.find(program);
  if (known != programs_.end() && known->second.wish == wish) {
    const Made& made = known->second;
    if (made.sandbox) return made.sandbox;
    if (clock_.now() - made.since < kRefusalHolds) return cgi::Refusal{500, made.why};
  }
  Made made = make(wish, program);
  if (made.sandbox) base::log_info("program={}: sandbox: {}", program, made.words);
  const Made& kept = programs_.insert_or_assign(program, std::move(made)).first->second;
  if (kept.sandbox) return kept.sandbox;
  return cgi::Refusal{500, kept.why};
}

std::string Sandboxes::words_of(const std::string& program) const {
  const auto known = programs_.find(program);
  if (known == programs_.end()) return {};
  return known->second.sandbox ? known->second.words : known->second.why;
}

Sandboxes::Made Sandboxes::make(const Wish& wish, const std::string& program) const {
  Made made{.wish = wish, .sandbox = nullptr, .why = {}, .words = {}, .since = clock_.now()};
  for (const std::string& path : wish.write) {
    if (::access(path.c_str(), F_OK) == 0) continue;
    made.why = base::errno_error("sandbox.write: " + path, errno).message;
    return made;
  }
  const Place place = place_of(adapters_, program);
  Ways ways{.namespaces = false, .landlock = landlock_version()};
  Namespaces namespaces;
  std::string why;
  if (wants_namespaces(wish)) {
    auto tried = make_namespaces(adapters_ + kStepDown, to_make(wish, place));
    ways.namespaces = tried.ok();
    if (tried) namespaces = tried.take();
    if (!ways.namespaces) why = tried.error().message;
  }
  const std::vector<std::string> missing = not_held(wish, ways);
  made.words = in_words(wish, ways);
  if (!missing.empty()) {
    made.why =
        fmt::format("sandbox: this machine cannot hold {}: {}", fmt::join(missing, ", "), why);
    if (!wish.best_effort) return made;
    made.words += fmt::format("; without {}: {} (best_effort)", fmt::join(missing, ", "), why);
  }
  const auto filters = filters_of(wish, ways);
  if (!filters) {
    made.why = filters.error().message;
    return made;
  }
  auto steps = to_enter(wish, place, ways, namespaces.fds(), filters.value()).sealed();
  if (!steps) {
    made.why = steps.error().message;
    return made;
  }
  made.sandbox = std::make_shared<const Sandbox>(std::move(namespaces), steps.take());
  return made;
}

std::vector<std::string> Sandboxes::problems_of(const config::Settings& settings) {
  std::vector<std::string> problems;
  for_each_section(settings, [&](const std::string& section, const Wish& wish) {
    const auto calls = allowed_calls(wish.syscalls);
    if (!calls) problems.push_back(section + ".sandbox.syscalls: " + calls.error().message);
  });
  return problems;
}

std::vector<Sandboxes::Word> Sandboxes::words_for(const config::Settings& settings) const {
  std::vector<Word> words;
  for_each_section(settings, [&](const std::string& section, const Wish& wish) {
    const Made made = make(wish, {});
    if (made.sandbox) {
      words.push_back({made.why.empty(), section + ".sandbox: " + made.words});
    } else {
      words.push_back(
          {false, fmt::format("{}.{}; its programs are answered with 500", section, made.why)});
    }
  });
  return words;
}

}  // namespace sandbox
