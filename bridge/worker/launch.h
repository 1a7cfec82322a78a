// Starts a program: fork and exec in one step, with the descriptors, folder and environment given.
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

// What execve() gets. The views and descriptors are borrowed for the call.
struct LaunchSpec {
  const std::string& file;               // absolute path of what is executed
  const std::vector<std::string>& argv;  // argv[0] included
  base::ByteView environment;            // "K=V\0K=V\0..."
  std::uint32_t environment_count;
  const std::string& cwd;
  int stdin_fd;
  int stdout_fd;
  int stderr_fd;
  int control_fd = -1;         // stays open in the program under kControlFd; -1: none
  int death_signal = SIGTERM;  // that it gets when the bridge dies; 0: none
  const limits::Terms& terms = limits::kOwnTerms;
  limits::Cgroup* cgroup = nullptr;  // that it enters before it runs; nullptr: it stays in ours
};

// The number under which a zygote finds its control channel.
constexpr int kControlFd = 3;

// Starts the program as the leader of its own process group, with every signal at its default and
// none blocked, descriptors 0 to 2 (and kControlFd) as given and no others. When the bridge is
// killed, nobody waits for the program any more: the kernel tells it by death_signal (not a setuid
// program, and none of its children: PR_SET_PDEATHSIG, prctl(2)). Returns once the
// program's exec() took place, or with why it could not. The caller owns the process: it must be
// reaped (Processes). Uses vfork(): the bridge's pages are not copied, whatever its size.
//
// As another user, or in a sandbox, it is cgibridge-step-down that is executed, and becomes the
// program (adapters/step_down/ says why). What fails from there on is a line on stderr_fd, and its
// exit.
base::Result<pid_t> launch(const LaunchSpec& spec);

// Raises this process's limit of open descriptors as far as it may; programs that launch() starts
// keep the limit that the bridge was started with. Called once, by main.
void raise_descriptor_limit();

}  // namespace worker
