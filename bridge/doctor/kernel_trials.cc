#include "doctor/kernel_trials.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/unique_fd.h"
#include "doctor/proc_texts.h"
#include "doctor/process_look.h"
#include "doctor/trial_child.h"
#include "limits/cgroup.h"

namespace doctor {
namespace {

constexpr base::Duration kPatience{3000};
constexpr std::size_t kPageBytes = 4096;

// From linux/userfaultfd.h, fs.h, prctl.h and landlock.h as of Linux 6.7; Debian 12's are older.
constexpr int kUserModeOnly = 1;
constexpr std::uint64_t kNotesWrites = (1ull << 15) | (1ull << 13);  // WP_ASYNC, WP_UNPOPULATED
struct PageScan {
  std::uint64_t size, flags, start, end, walk_end, runs, runs_max, pages_max;
  std::uint64_t inverted, all_of, any_of, returned;
};
struct PageRun {
  std::uint64_t start, end, categories;
};
constexpr std::uint64_t kWritten = 1ull << 1;
constexpr int kUserDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH
constexpr unsigned long kDispatchOff = 0, kDispatchOn = 1;
constexpr std::uint64_t kSoftDirty = 1ull << 55;

char* some_pages() {
  void* pages =
      ::mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<char*>(pages);
}

void write_to(char* page) {
  *static_cast<volatile char*>(page) = 1;
}

// How many runs of written pages there are; -1: errno says why not.
long written_runs(int pagemap, const char* pages) {
  std::array<PageRun, 4> runs{};
  PageScan call{};
  call.size = sizeof call;
  call.start = reinterpret_cast<std::uintptr_t>(pages);
  call.end = call.start + 2 * kPageBytes;
  call.runs = reinterpret_cast<std::uintptr_t>(runs.data());
  call.runs_max = runs.size();
  call.all_of = call.returned = kWritten;
  return ::ioctl(pagemap, _IOWR('f', 16, PageScan), &call);
}

// As adapters/checkpoint/rewind/tracking_scan.c does it.
Trial try_scan() {
  const base::UniqueFd faults(
      static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly)));
  if (!faults) return failed_at("userfaultfd");
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = kNotesWrites;
  if (::ioctl(faults.get(), UFFDIO_API, &api) != 0) return failed_at("UFFDIO_API");
  char* pages = some_pages();
  if (pages == nullptr) return failed_at("mmap");
  write_to(pages);
  const uffdio_range range{reinterpret_cast<std::uintptr_t>(pages), 2 * kPageBytes};
  uffdio_register registration{};
  registration.range = range;
  registration.mode = UFFDIO_REGISTER_MODE_WP;
  if (::ioctl(faults.get(), UFFDIO_REGISTER, &registration) != 0) {
    return failed_at("UFFDIO_REGISTER");
  }
  uffdio_writeprotect protection{};
  protection.range = range;
  protection.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  if (::ioctl(faults.get(), UFFDIO_WRITEPROTECT, &protection) != 0) {
    return failed_at("UFFDIO_WRITEPROTECT");
  }
  const base::UniqueFd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap) return failed_at("/proc/self/pagemap");
  const long before = written_runs(pagemap.get(), pages);
  if (before < 0) return failed_at("PAGEMAP_SCAN");
  write_to(pages);
  const long after = written_runs(pagemap.get(), pages);
  return {.works = before == 0 && after == 1, .step = "PAGEMAP_SCAN"};
}

// -1: errno.
int is_dirty(int pagemap, const char* page) {
  std::uint64_t entry = 0;
  const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(page) / kPageBytes * 8);
  if (::pread(pagemap, &entry, sizeof entry, at) != sizeof entry) return -1;
  return (entry & kSoftDirty) != 0 ? 1 : 0;
}

// As adapters/checkpoint/rewind/tracking_soft_dirty.c does it.
Trial try_soft_dirty() {
  const base::UniqueFd clear(::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
  if (!clear) return failed_at("/proc/self/clear_refs");
  const base::UniqueFd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap) return failed_at("/proc/self/pagemap");
  char* page = some_pages();
  if (page == nullptr) return failed_at("mmap");
  write_to(page);
  if (::pwrite(clear.get(), "4", 1, 0) != 1) return failed_at("/proc/self/clear_refs");
  const int before = is_dirty(pagemap.get(), page);
  write_to(page);
  const int after = is_dirty(pagemap.get(), page);
  if (before < 0 || after < 0) return failed_at("/proc/self/pagemap");
  return {.works = before == 0 && after == 1, .step = "/proc/self/clear_refs"};
}

Trial try_dispatch() {
  static char selector = 0;  // SYSCALL_DISPATCH_FILTER_ALLOW
  if (::prctl(kUserDispatch, kDispatchOn, 0UL, 0UL, &selector) != 0) return failed_at("prctl");
  if (::prctl(kUserDispatch, kDispatchOff, 0UL, 0UL, 0UL) != 0) return failed_at("prctl");
  return {.works = true};
}

// Traces a child, as the reader of stacks does.
Trial try_ptrace() {
  const pid_t child = ::fork();
  if (child < 0) return failed_at("fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0L, 0L, 0L);
    for (;;) ::pause();
  }
  Trial trial{.works = true};
  if (::ptrace(PTRACE_SEIZE, child, nullptr, nullptr) != 0) trial = failed_at("ptrace");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return trial;
}

Trial try_seccomp() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0) return failed_at("prctl");
  sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  const sock_fprog program{1, &allow};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0L, 0L) != 0) {
    return failed_at("seccomp");
  }
  return {.works = true};
}

unsigned landlock_version() {
#ifdef SYS_landlock_create_ruleset
  constexpr unsigned kAskVersion = 1;
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  return version > 0 ? static_cast<unsigned>(version) : 0;
#else
  return 0;
#endif
}

}  // namespace

Kernel try_kernel(const std::optional<Who>& who) {
  const auto in_its_place = [&who](Trial (*act)()) {
    return in_child(
        [&who, act] {
          const Trial changed = who ? become(*who) : Trial{.works = true};
          return changed.works ? act() : changed;
        },
        kPatience);
  };
  Kernel kernel;
  kernel.tried_as = who ? who->name : who_is(::geteuid(), ::getegid(), {}).name;
  kernel.scan = in_its_place(try_scan);
  kernel.soft_dirty = in_its_place(try_soft_dirty);
  kernel.dispatch = in_its_place(try_dispatch);
  kernel.ptrace = in_its_place(try_ptrace);
  kernel.seccomp = in_its_place(try_seccomp);
  kernel.landlock = landlock_version();
  kernel.hides_processes = hides_processes(limits::read_small_file("/proc/self/mountinfo"));
  return kernel;
}

}  // namespace doctor
