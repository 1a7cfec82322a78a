// Starts a program: fork and exec in one step, with the given descriptors, folder and environment.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "limits/cgroup.h"
#include "limits/terms.h"

namespace worker {

// What execve() gets. The views and descriptors are borrowed for the duration of the call.
struct LaunchSpec {
  const std::string& file;               // absolute path of the file to execute
  const std::vector<std::string>& argv;  // including argv[0]
  base::ByteView environment;            // "K=V\0K=V\0..."
  std::uint32_t environment_count;
  const std::string& cwd;
  int stdin_fd;
  int stdout_fd;
  int stderr_fd;
  int control_fd = -1;         // stays open in the program as kControlFd; -1: none
  int death_signal = SIGTERM;  // sent to it when the bridge dies; 0: none
  const limits::Terms& terms = limits::kOwnTerms;
  limits::Cgroup* cgroup = nullptr;  // entered before it runs; nullptr: it stays in ours
};

// The descriptor number at which a zygote finds its control channel.
constexpr int kControlFd = 3;

// Starts the program as the leader of its own process group, with every signal at its default and
// none blocked, with descriptors 0 to 2 (and kControlFd) as given and no others. When the bridge is
// killed, nobody waits for the program any more: the kernel sends it death_signal (but not to a
// setuid program, nor to any of its children: PR_SET_PDEATHSIG, prctl(2)). Returns once the
// program's exec() has taken place, or the reason why it could not. The caller owns the process: it
// must be reaped (Processes). Uses vfork(): the bridge's pages are not copied, however large it is.
//
// To run as another user, or in a sandbox, cgibridge-step-down is executed first, and becomes the
// program (adapters/step_down/ says why). If anything fails from there on, it writes a line to
// stderr_fd and exits.
base::Result<pid_t> launch(const LaunchSpec& spec);

// Raises this process's limit of open descriptors as far as allowed; programs that launch() starts
// keep the limit that the bridge was started with. Called once, by main.
void raise_descriptor_limit();

}  // namespace worker
