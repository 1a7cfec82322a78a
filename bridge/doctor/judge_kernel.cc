// What the kernel offers, and what the bridge may do on this machine.
#include <fmt/format.h>

#include <cerrno>
#include <set>

#include "doctor/judges.h"

namespace doctor {
namespace {

void add(Findings& findings, Mark mark, std::string what, std::string to_do = {}) {
  findings.push_back({Area::kernel, mark, std::move(what), std::move(to_do)});
}

std::string help_for_scan(const Trial& scan) {
  if (scan.error == EPERM || scan.error == EACCES) {
    return "a seccomp filter forbids it, as the default ones of containers and systemd's "
           "SystemCallFilter= do: allow userfaultfd there";
  }
  return "Linux 6.7 or newer has it";
}

void judge_tracking(const Observations& seen, Findings& findings) {
  const Kernel& kernel = seen.kernel;
  if (kernel.scan.works) {
    add(findings, Mark::ok,
        fmt::format("Workers can find changed pages by scan, the fastest way (userfaultfd and "
                    "PAGEMAP_SCAN, tried as {}).",
                    kernel.tried_as));
  } else if (kernel.soft_dirty.works) {
    add(findings, Mark::note,
        fmt::format("Workers can find changed pages by soft-dirty bits; scan, which is faster, is "
                    "not possible here ({}).",
                    kernel.scan.why()),
        help_for_scan(kernel.scan));
  } else {
    add(findings, Mark::note,
        fmt::format("Workers have to compare every page after each request: neither scan ({}) nor "
                    "soft-dirty ({}) is possible here.",
                    kernel.scan.why(), kernel.soft_dirty.why()),
        help_for_scan(kernel.scan));
  }
  const std::string& wanted = seen.needs.tracking;
  const bool missing = (wanted == "scan" && !kernel.scan.works) ||
                       (wanted == "soft-dirty" && !kernel.soft_dirty.works);
  if (missing) {
    add(findings, Mark::note,
        fmt::format("The settings ask for rewind.tracking = \"{}\", which is not possible here: "
                    "every page is compared.",
                    wanted),
        "remove that line: \"auto\" takes the best way that there is");
  }
}

// The running bridge may be under a filter that does not apply here.
void judge_used_tracking(const Observations& seen, Findings& findings) {
  const nlohmann::json none = nlohmann::json::array();
  const nlohmann::json& status = seen.bridge.status;
  if (!seen.kernel.scan.works || seen.needs.tracking != "auto" || !status.is_object()) return;
  std::size_t rewinding = 0;
  std::set<std::string> used;
  for (const auto& program : status.value("programs", none)) {
    const nlohmann::json rewind = program.value("rewind", nlohmann::json::object());
    if (rewind.value("rewinds", 0u) == 0) continue;
    ++rewinding;
    used.insert(rewind.value("tracking", ""));
  }
  // Where many pages change, comparing them all may well be the fastest way.
  if (rewinding < 2 || used.contains("scan")) return;
  add(findings, Mark::note,
      fmt::format("Scan is possible here, but no worker of the running bridge uses it (but {}).",
                  *used.begin()),
      "compare the bridge's service with this shell: SystemCallFilter=, a container's profile");
}

// Everything that only some programs need: one line for what there is, one for each thing missing.
void judge_the_rest(const Kernel& kernel, Findings& findings) {
  std::vector<std::string> there;
  const auto look = [&](const Trial& trial, std::string_view for_what, std::string_view without,
                        std::string_view to_do) {
    if (trial.works) return there.push_back(std::string(for_what));
    add(findings, Mark::note, fmt::format("{} ({}).", without, trial.why()), std::string(to_do));
  };
  look(kernel.dispatch, "static and Go programs can be warm (Syscall User Dispatch)",
       "Static and Go executables run classic: there is no Syscall User Dispatch",
       "Linux 5.11 on x86-64 has it, if no seccomp filter forbids prctl");
  look(kernel.ptrace, "the slow log can read stacks (ptrace)",
       "The slow log cannot show stacks: ptrace is forbidden",
       "kernel.yama.ptrace_scope must be below 3, and seccomp must allow ptrace");
  look(kernel.seccomp, "sandbox.syscalls holds (seccomp)",
       "sandbox.syscalls cannot hold: there is no seccomp filter",
       "the kernel needs CONFIG_SECCOMP_FILTER");
  if (kernel.landlock > 0) {
    there.push_back(fmt::format("sandboxes have Landlock {}", kernel.landlock));
  } else {
    add(findings, Mark::note, "Sandboxes have no Landlock, only namespaces.",
        "Linux 5.13 has it; \"landlock\" must be in /sys/kernel/security/lsm");
  }
  if (kernel.hides_processes) {
    add(findings, Mark::note, "/proc hides the processes of other users (hidepid).",
        "as root, `cgibridge doctor` sees the web server's processes");
  }
  if (there.empty()) return;
  std::string all = first_of(there, there.size());
  all[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(all[0])));
  add(findings, Mark::ok, all + ".");
}

void judge_cgroups(const Observations& seen, Findings& findings) {
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json& status = seen.bridge.status;
  const nlohmann::json cgroups =
      status.is_object() ? status.value("bridge", none).value("cgroups", none) : none;
  const auto not_held = cgroups.value("not_held", std::vector<std::string>());
  for (const std::string& one : not_held) {
    add(findings, Mark::wrong, fmt::format("A limit is asked for and does not hold: {}.", one),
        "start the bridge as root, or under systemd with Delegate=yes");
  }
  if (!not_held.empty()) return;
  const std::string& hindrance = seen.rights.why_no_cgroups;
  if (!seen.needs.limits) {
    return add(findings, Mark::ok,
               hindrance.empty()
                   ? fmt::format("No limits that need cgroups are set; they could be made in {}.",
                                 seen.rights.cgroups)
                   : fmt::format("No limits that need cgroups are set; there could be none: {}.",
                                 hindrance));
  }
  const auto folders = cgroups.value("folders", std::vector<std::string>());
  if (!folders.empty()) {
    return add(findings, Mark::ok, fmt::format("Limits hold, in {}.", first_of(folders, 1)));
  }
  if (!hindrance.empty()) {
    return add(findings, Mark::wrong,
               fmt::format("The settings set limits that cannot hold here: {}.", hindrance),
               "start the bridge as root, or under systemd with Delegate=yes");
  }
  add(findings, Mark::ok, fmt::format("Limits can hold, in {}.", seen.rights.cgroups));
}

}  // namespace

void judge_kernel(const Observations& seen, Findings& findings) {
  judge_tracking(seen, findings);
  judge_used_tracking(seen, findings);
  judge_the_rest(seen.kernel, findings);
}

void judge_rights(const Observations& seen, Findings& findings) {
  const Rights& rights = seen.rights;
  if (!rights.missing_parts.empty()) {
    add(findings, Mark::wrong,
        fmt::format("Parts of cgibridge are missing: {}.", first_of(rights.missing_parts, 3)),
        "install it again, or set bridge.adapters to the folder that has them");
  }
  if (seen.needs.user && !rights.changes_users) {
    add(findings, rights.of == Rights::Of::own ? Mark::note : Mark::wrong,
        fmt::format("The settings say `user`, but a bridge that runs as {} cannot become another "
                    "user: such programs are answered with 500.",
                    rights.who.name),
        "start the bridge as root, or remove `user`");
  } else if (!seen.needs.user && rights.who.uid == 0 && rights.changes_users) {
    add(findings, Mark::note, "Programs run as root: neither [defaults] nor a program says `user`.",
        "[defaults] user = \"www-data\", or \"owner\"");
  }
  if (rights.of != Rights::Of::guessed) judge_cgroups(seen, findings);
  if (!rights.descriptors_suffice) {
    add(findings, Mark::note,
        fmt::format("{} descriptors (RLIMIT_NOFILE) are too few for connections_max = {}, "
                    "workers_max = {} and zygotes_max = {}: the bridge uses less of each.",
                    rights.descriptors, seen.needs.connections, seen.needs.workers,
                    seen.needs.zygotes),
        "LimitNOFILE=65536 in its service");
  }
  for (const auto& [held, text] : rights.sandboxes) {
    if (held) {
      add(findings, Mark::ok, text + ".");
    } else {
      add(findings, Mark::wrong, text + ".", "allow user namespaces, or sandbox.best_effort");
    }
  }
}

}  // namespace doctor
