#include "doctor/proc_texts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace doctor {
namespace {

constexpr std::size_t kNameBytesMax = 15;

struct Known {
  std::string_view file, name;
};
constexpr std::array kServers = {
    Known{"nginx", "nginx"}, Known{"apache2", "Apache"},    Known{"httpd", "Apache"},
    Known{"caddy", "Caddy"}, Known{"lighttpd", "lighttpd"}, Known{"haproxy", "HAProxy"},
    Known{"h2o", "h2o"},
};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\n";
  for (std::size_t at = line.find_first_not_of(kBlanks); at != line.npos;
       at = line.find_first_not_of(kBlanks, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// Calls act with each line, until it says false.
template <typename Act>
void each_line(std::string_view text, const Act& act) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!act(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

template <typename Number>
std::optional<Number> number(std::string_view word, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<ProcessStatus> parse_status(std::string_view text) {
  ProcessStatus status;
  bool has_uid = false;
  each_line(text, [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return true;
    const std::string_view key = line.substr(0, colon);
    const auto words = words_of(line.substr(colon + 1));
    if (key == "Name") status.name = line.substr(std::min(colon + 2, line.size()));
    if (key == "PPid" && !words.empty()) status.parent = number<::pid_t>(words[0]).value_or(0);
    if (key == "Uid" && words.size() > 1) {
      status.uid = number<::uid_t>(words[1]).value_or(0);
      has_uid = true;
    }
    if (key == "Gid" && words.size() > 1) status.gid = number<::gid_t>(words[1]).value_or(0);
    if (key == "Groups") {
      for (const auto word : words) status.groups.push_back(number<::gid_t>(word).value_or(0));
    }
    if (key == "CapPrm" && !words.empty()) {
      status.capabilities = number<std::uint64_t>(words[0], 16).value_or(0);
    }
    if (key == "NSpid") status.in_container = words.size() > 1;
    return true;
  });
  return has_uid ? std::optional(std::move(status)) : std::nullopt;
}

std::string_view web_server_of(std::string_view name, std::string_view executable) {
  for (const Known& known : kServers) {
    const bool is_it =
        executable.empty() ? known.file.substr(0, kNameBytesMax) == name : known.file == executable;
    if (is_it) return known.name;
  }
  return {};
}

bool hides_processes(std::string_view mountinfo) {
  bool hides = false;
  each_line(mountinfo, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 5 || words[4] != "/proc") return true;
    const std::size_t option = line.find("hidepid=");
    const std::string_view value = option == line.npos ? "0" : line.substr(option + 8);
    hides = !value.starts_with('0') && !value.starts_with("off");
    return true;  // the last mount counts
  });
  return hides;
}

bool accepts_at_path(std::string_view net_unix, std::string_view path) {
  constexpr std::size_t kFlags = 3, kPath = 7;
  constexpr unsigned kAccepts = 0x10000;  // __SO_ACCEPTCON
  bool found = false;
  each_line(net_unix, [&](std::string_view line) {
    if (!line.ends_with(path)) return true;
    const auto words = words_of(line);
    const bool is_it = words.size() > kPath && line.substr(line.size() - path.size() - 1, 1) == " ";
    found = is_it && (number<unsigned>(words[kFlags], 16).value_or(0) & kAccepts) != 0;
    return !found;
  });
  return found;
}

bool accepts_on_port(std::string_view net_tcp, std::uint16_t port) {
  bool found = false;
  each_line(net_tcp, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 4 || words[3] != "0A") return true;
    const std::string_view digits = words[1].substr(words[1].rfind(':') + 1);
    found = number<std::uint16_t>(digits, 16) == port;
    return !found;
  });
  return found;
}

std::optional<std::uint64_t> open_files_limit(std::string_view limits) {
  constexpr std::string_view kLabel = "Max open files";
  const std::size_t at = limits.find(kLabel);
  if (at == limits.npos) return std::nullopt;
  const auto words = words_of(limits.substr(at + kLabel.size(), 64));
  return words.empty() ? std::nullopt : number<std::uint64_t>(words[0]);
}

std::optional<std::int64_t> seconds_since_start(std::string_view stat, std::string_view uptime,
                                                long ticks_per_second) {
  // The name before it may contain blanks and parentheses.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return std::nullopt;
  const auto words = words_of(stat.substr(name_end + 1));
  constexpr std::size_t kStartTime = 19;
  if (words.size() <= kStartTime || ticks_per_second <= 0) return std::nullopt;
  const auto start = number<std::int64_t>(words[kStartTime]);
  const auto up = number<std::int64_t>(uptime.substr(0, uptime.find('.')));
  if (!start || !up) return std::nullopt;
  return std::max<std::int64_t>(0, *up - *start / ticks_per_second);
}

}  // namespace doctor
