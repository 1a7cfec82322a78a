// What has to be done for a sandbox that the settings ask for, with what this machine offers. Pure:
// values in, values out.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "config/program_settings.h"
#include "sandbox/step_list.h"

namespace sandbox {

using Wish = config::ProgramSettings::Sandbox;

// For which user namespaces are made, and where things are.
struct Place {
  bool root = false;  // the bridge is root; otherwise a user namespace is needed
  ::uid_t uid = 0;
  ::gid_t gid = 0;
  // Folders that stay visible although they are below a private one: the program's, the adapters'.
  std::vector<std::string> kept;
};

// Descriptors of a program's namespaces; -1: it has none of that kind.
struct NamespaceFds {
  int users = -1;
  int mounts = -1;
  int network = -1;
  int root = -1;  // "/" inside
};

// The ways to enforce wishes, in the order in which they are tried: the first is the better one.
struct Ways {
  bool namespaces = false;  // for mounts and network, as wished
  unsigned landlock = 0;    // the kernel's version of it; 0: none
  bool operator==(const Ways&) const = default;
};

// Whether wish needs namespaces to be enforced in full.
bool wants_namespaces(const Wish& wish);

// Which wishes these ways cannot enforce, by name: "private_tmp".
std::vector<std::string> not_held(const Wish& wish, const Ways& ways);
// How the others are enforced, for the log: "read_only (mounts, Landlock), network (namespace)".
std::string in_words(const Wish& wish, const Ways& ways);

// The steps that make the namespaces.
StepList to_make(const Wish& wish, const Place& place);

// The steps that enter the namespaces, or do without. filters: as system_calls.h makes them, each
// one the bytes of its instructions.
StepList to_enter(const Wish& wish, const Place& place, const Ways& ways, const NamespaceFds& fds,
                  const std::vector<std::string>& filters);

}  // namespace sandbox
