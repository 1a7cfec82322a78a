// What files of /proc say (proc(5)). Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doctor {

// /proc/PID/status
struct ProcessStatus {
  std::string name;  // cut after 15 bytes, and chosen by the process
  ::pid_t parent = 0;
  ::uid_t uid = 0;  // effective, as the other ids
  ::gid_t gid = 0;
  std::vector<::gid_t> groups;
  std::uint64_t capabilities = 0;  // permitted
  bool in_container = false;       // it has another number in a pid namespace of its own
};
std::optional<ProcessStatus> parse_status(std::string_view text);

// The name of the web server that such a process belongs to, as people write it; "" if none.
// executable: its file's name; "": not known, then its own name counts.
std::string_view web_server_of(std::string_view name, std::string_view executable);

// /proc/self/mountinfo: whether /proc hides the processes of other users.
bool hides_processes(std::string_view mountinfo);

// /proc/net/unix: whether a process accepts connections at that path.
bool accepts_at_path(std::string_view net_unix, std::string_view path);

// /proc/net/tcp and tcp6: whether one does on that port, on any address.
bool accepts_on_port(std::string_view net_tcp, std::uint16_t port);

// /proc/PID/limits: the soft limit of open files.
std::optional<std::uint64_t> open_files_limit(std::string_view limits);

// /proc/PID/stat and /proc/uptime: how many seconds it has been running.
std::optional<std::int64_t> seconds_since_start(std::string_view stat, std::string_view uptime,
                                                long ticks_per_second);

}  // namespace doctor
