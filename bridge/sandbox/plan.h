// What is to be done for a sandbox that the settings ask for, on a machine that offers so much.
// Pure: values in, values out.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "config/program_settings.h"
#include "sandbox/step_list.h"

namespace sandbox {

using Wish = config::ProgramSettings::Sandbox;

// Whom namespaces are made for, and where things are.
struct Place {
  bool root = false;  // the bridge is; else it takes a namespace of users
  ::uid_t uid = 0;
  ::gid_t gid = 0;
  // Folders that stay to be seen though they lie below a private one: the program's, the adapters'.
  std::vector<std::string> kept;
};

// Descriptors of a program's namespaces; -1: it has none of that kind.
struct NamespaceFds {
  int users = -1;
  int mounts = -1;
  int network = -1;
  int root = -1;  // "/" inside
};

// How each wish is held. Ordered as tried: the first is the better one.
struct Ways {
  bool namespaces = false;  // mounts and network, as wished
  unsigned landlock = 0;    // the version of the kernel's; 0: none
  bool operator==(const Ways&) const = default;
};

// Whether it takes namespaces of its own to hold it in full.
bool wants_namespaces(const Wish& wish);

// Which wishes these ways cannot hold, by name: "private_tmp".
std::vector<std::string> not_held(const Wish& wish, const Ways& ways);
// How those are held that are, for the log: "read_only (mounts, Landlock), network (namespace)".
std::string in_words(const Wish& wish, const Ways& ways);

// The steps that make the namespaces.
StepList to_make(const Wish& wish, const Place& place);

// The steps that enter them, or do without. filters: as system_calls.h makes them, each the bytes
// of its instructions.
StepList to_enter(const Wish& wish, const Place& place, const Ways& ways, const NamespaceFds& fds,
                  const std::vector<std::string>& filters);

}  // namespace sandbox
