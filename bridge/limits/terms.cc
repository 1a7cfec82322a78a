#include "limits/terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace limits {
namespace {

void add(Terms& terms, int resource, std::uint64_t most, const char* action) {
  if (most == 0) return;
  terms.rlimits[terms.rlimit_count++] = {resource, most, most, action};
}

void add_soft(Terms& terms, int resource, std::uint64_t most, const char* action) {
  add(terms, resource, most, action);
  if (most > 0) terms.rlimits[terms.rlimit_count - 1].hard = RLIM_INFINITY;
}

std::string ids_of(const Terms& terms) {
  if (!terms.identity) return "-";
  const Identity& who = *terms.identity;
  return fmt::format("{}{} {} {}", terms.no_new_privileges ? "n" : "", who.uid, who.gid,
                     fmt::join(who.groups, ","));
}

}  // namespace

Terms terms_of(const config::ProgramSettings& settings) {
  const config::ProgramSettings::Limits& limits = settings.limits;
  Terms terms;
  terms.no_new_privileges = settings.no_new_privs;
  add(terms, RLIMIT_NOFILE, limits.open_files, "set limits.open_files");
  add(terms, RLIMIT_NPROC, limits.user_processes, "set limits.user_processes");
  add(terms, RLIMIT_AS, limits.address_space, "set limits.address_space");
  // For these two the hard limit stays: the snapshot of a zygote is a file as well, and a worker
  // starts its count again for each request. Both raise the soft limit.
  add_soft(terms, RLIMIT_FSIZE, limits.file_size, "set limits.file_size");
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limits.cpu_time).count();
  add_soft(terms, RLIMIT_CPU, static_cast<std::uint64_t>(seconds), "set limits.cpu_time");
  if (!limits.core) terms.rlimits[terms.rlimit_count++] = {RLIMIT_CORE, 0, 0, "set limits.core"};
  return terms;
}

void without_cpu_time(Terms& terms) {
  auto* const end = terms.rlimits.data() + terms.rlimit_count;
  auto* const kept = std::remove_if(
      terms.rlimits.data(), end, [](const Rlimit& limit) { return limit.resource == RLIMIT_CPU; });
  terms.rlimit_count = static_cast<std::size_t>(kept - terms.rlimits.data());
}

const char* apply(const Terms& terms) {
  for (std::size_t i = 0; i < terms.rlimit_count; ++i) {
    const Rlimit& wanted = terms.rlimits[i];
    rlimit limit{wanted.soft, wanted.hard};
    if (wanted.hard == RLIM_INFINITY) {
      rlimit now{};
      ::getrlimit(static_cast<__rlimit_resource>(wanted.resource), &now);
      limit.rlim_max = now.rlim_max;
      limit.rlim_cur = std::min(limit.rlim_cur, now.rlim_max);
    }
    if (::setrlimit(static_cast<__rlimit_resource>(wanted.resource), &limit) != 0) {
      return wanted.action;
    }
  }
  // If it were set here, root's exec() would give cgibridge-step-down no rights; so step-down sets
  // it itself.
  if (terms.steps_down()) return nullptr;
  if (terms.no_new_privileges && ::prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0) {
    return "set no_new_privs";
  }
  return nullptr;
}

std::vector<std::string> step_down_argv(const Terms& terms, const std::string& cwd,
                                        const std::string& file,
                                        const std::vector<std::string>& argv) {
  std::vector<std::string> words;
  words.reserve(argv.size() + 5);
  words.push_back(terms.step_down);
  words.push_back(ids_of(terms));
  words.push_back(terms.sandbox ? std::to_string(terms.sandbox->steps_fd()) : "-");
  words.push_back(cwd);
  words.push_back(file);
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

// By default a pipe belongs to its maker alone, and opening its name in /proc opens it again.
void give_streams(const Identity& identity, const int* fds, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    struct stat status = {};
    if (::fstat(fds[i], &status) != 0) continue;
    if (!S_ISFIFO(status.st_mode) && !S_ISREG(status.st_mode)) continue;
    (void)!::fchown(fds[i], identity.uid, identity.gid);
  }
}

}  // namespace limits
