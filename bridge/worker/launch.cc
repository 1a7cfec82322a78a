#include "worker/launch.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/unique_fd.h"
#include "router/unrunnable.h"

#if defined(__SANITIZE_ADDRESS__)
#define CGIBRIDGE_ASAN  // knows that vfork() shares a stack, and nothing else about it
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CGIBRIDGE_ASAN
#endif
#endif

namespace worker {
namespace {

// The limit of open descriptors that programs get back; set when the bridge raises its own.
rlimit original_limit{};
bool limit_raised = false;

// Which step of the child failed, and how. The child writes it into the parent's memory: vfork.
struct ChildFailure {
  const char* step = nullptr;
  int error_number = 0;
};

constexpr const char* kEnterCgroup = "enter its cgroup";
constexpr const char* kExecute = "execute it";

bool write_zero(const char* file) {
  const int fd = ::open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, "0", 1) == 1;
  const int error_number = errno;
  ::close(fd);
  errno = error_number;
  return written;
}

// How the child has entered, or will enter, its v2 cgroup, if it has one.
enum class UnifiedEntry { made_inside, by_writing };

bool enter(const limits::Cgroup& cgroup, UnifiedEntry entry) {
  for (const std::string& tasks : cgroup.tasks_files()) {
    if (!write_zero(tasks.c_str())) return false;
  }
  const bool writes = entry == UnifiedEntry::by_writing && !cgroup.unified().empty();
  return !writes || write_zero(cgroup.unified_procs().c_str());
}

// Everything between vfork() and exec(): system calls only.
[[noreturn]] void become(const LaunchSpec& spec, char* const* argv, char* const* envp,
                         UnifiedEntry entry, volatile ChildFailure& failure) {
  const bool steps_down = spec.terms.steps_down();
  const auto fail = [&failure](const char* step) {
    failure.step = step;
    failure.error_number = errno;
    ::_exit(127);
  };
  if (spec.cgroup != nullptr && !enter(*spec.cgroup, entry)) fail(kEnterCgroup);
  ::setpgid(0, 0);
  ::signal(SIGPIPE, SIG_DFL);
  if (limit_raised) ::setrlimit(RLIMIT_NOFILE, &original_limit);
  const int fds[] = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd, spec.control_fd};
  for (int number = 0; number <= kControlFd; ++number) {
    if (fds[number] < 0) continue;
    if (fds[number] == number) {
      ::fcntl(number, F_SETFD, 0);
    } else if (::dup2(fds[number], number) < 0) {
      fail("dup2");
    }
  }
  if (spec.terms.sandbox) {
    for (const int fd : spec.terms.sandbox->fds()) ::fcntl(fd, F_SETFD, 0);
  }
  if (!steps_down && ::chdir(spec.cwd.c_str()) != 0) fail("enter its folder");
  if (const char* action = limits::apply(spec.terms)) fail(action);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Last of all, because a change of user would clear it.
  if (spec.death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(spec.death_signal));
  }
  ::execve(steps_down ? argv[0] : spec.file.c_str(), argv, envp);
  fail(steps_down ? "execute cgibridge-step-down" : kExecute);
  __builtin_unreachable();
}

std::vector<char*> environment_pointers(const LaunchSpec& spec) {
  std::vector<char*> pointers;
  pointers.reserve(spec.environment_count + 1);
  const char* at = spec.environment.data();
  const char* end = at + spec.environment.size();
  for (; at < end; at += std::strlen(at) + 1) pointers.push_back(const_cast<char*>(at));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<char*> argv_pointers(const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  pointers.reserve(argv.size() + 1);
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Like vfork(), but the child is in that cgroup of v2 from the beginning: a write to cgroup.procs
// makes every fork and exit on the machine wait (README.md has figures). The call is inline,
// because the child goes on in this frame, on the same stack; it never returns from here. -1: errno
// says why; ENOSYS where this way does not exist.
[[gnu::noinline]] pid_t start_inside([[maybe_unused]] int cgroup,
                                     [[maybe_unused]] const LaunchSpec& spec,
                                     [[maybe_unused]] char* const* argv,
                                     [[maybe_unused]] char* const* envp,
                                     [[maybe_unused]] volatile ChildFailure& failure) {
#if defined(__x86_64__) && defined(CLONE_INTO_CGROUP) && !defined(CGIBRIDGE_ASAN)
  clone_args wanted{};
  wanted.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP;
  wanted.exit_signal = SIGCHLD;
  wanted.cgroup = static_cast<unsigned>(cgroup);
  long pid = 0;
  __asm__ volatile("syscall"
                   : "=a"(pid)
                   : "a"(SYS_clone3), "D"(&wanted), "S"(sizeof wanted)
                   : "rcx", "r11", "memory");
  if (pid == 0) become(spec, argv, envp, UnifiedEntry::made_inside, failure);
  if (pid > 0) return static_cast<pid_t>(pid);
  errno = static_cast<int>(-pid);
#else
  errno = ENOSYS;
#endif
  return -1;
}

pid_t start_process(const LaunchSpec& spec, char* const* argv, char* const* envp,
                    volatile ChildFailure& failure) {
  if (spec.cgroup != nullptr && !spec.cgroup->unified().empty()) {
    const base::UniqueFd folder(
        ::open(spec.cgroup->unified().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const pid_t pid = folder ? start_inside(folder.get(), spec, argv, envp, failure) : -1;
    if (pid > 0) return pid;
    if (!folder || errno == ENODEV) {
      failure.step = kEnterCgroup;
      failure.error_number = errno;
      return -1;
    }
    // clone3 with a cgroup needs Linux 5.7; a container may forbid it.
    if (errno != ENOSYS && errno != EINVAL && errno != EPERM) return -1;
  }
  const pid_t pid = ::vfork();
  if (pid == 0) become(spec, argv, envp, UnifiedEntry::by_writing, failure);
  return pid;
}

// The kernel has one error number for a script whose interpreter is missing, a script with Windows
// line ends, and a loader that is missing.
void explain(const LaunchSpec& spec, int error_number, base::Error& error) {
  if (error_number == ETXTBSY) error.message += ": something still has it open for writing";
  for (const int about_the_file : {ENOENT, ENOTDIR, EACCES, ENOEXEC, ELOOP, EINVAL, EPERM}) {
    if (error_number != about_the_file) continue;
    const std::string why =
        router::why_unrunnable(spec.file, router::search_path_in(spec.environment));
    if (!why.empty()) error.message += ": " + why;
  }
}

base::Result<pid_t> launch_once(const LaunchSpec& spec, volatile ChildFailure& failure) {
  std::vector<std::string> steps;
  if (spec.terms.steps_down()) {
    steps = limits::step_down_argv(spec.terms, spec.cwd, spec.file, spec.argv);
  }
  if (spec.terms.identity) {
    const int streams[] = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd};
    limits::give_streams(*spec.terms.identity, streams, 3);
  }
  const std::vector<char*> argv = argv_pointers(steps.empty() ? spec.argv : steps);
  const std::vector<char*> envp = environment_pointers(spec);

  // The child shares this memory until exec(): no handler of ours may run in it.
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = start_process(spec, argv.data(), envp.data(), failure);
  const int fork_error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);

  if (pid < 0 && failure.step == nullptr) {
    return base::errno_error("cannot start a process", fork_error);
  }
  if (failure.step != nullptr) {
    // The failed child is reaped like any other: nobody knows its pid, so nobody waits for it.
    const int error_number = failure.error_number;
    const char* const step = failure.step;
    auto error = base::errno_error(std::string("cannot ") + step, error_number);
    if (step == kExecute) explain(spec, error_number, error);
    return error;
  }
  return pid;
}

}  // namespace

base::Result<pid_t> launch(const LaunchSpec& spec) {
  volatile ChildFailure failure;
  auto pid = launch_once(spec, failure);
  // Another bridge of the same name has removed the empty cgroup as it ended.
  const bool removed = !pid && failure.step == kEnterCgroup &&
                       (failure.error_number == ENOENT || failure.error_number == ENODEV);
  if (!removed || !spec.cgroup->make()) return pid;
  volatile ChildFailure second;
  return launch_once(spec, second);
}

void raise_descriptor_limit() {
  if (::getrlimit(RLIMIT_NOFILE, &original_limit) != 0) return;
  rlimit raised = original_limit;
  raised.rlim_cur = raised.rlim_max;
  limit_raised = ::setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

}  // namespace worker
