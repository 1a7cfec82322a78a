#include "journal/access_line.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "journal/request_name.h"
#include "journal/text_bytes.h"

namespace journal {
namespace {

using nlohmann::json;

std::int64_t microseconds(compare::Microseconds time) {
  return time.count();
}

std::tm utc_of(std::int64_t unix_ms) {
  return fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000));
}

// 0 means "not known".
std::string known(std::uint64_t value) {
  return value == 0 ? "-" : std::to_string(value);
}

// Whether a program was started at all.
bool ran(const Entry& entry) {
  return entry.pid > 0;
}

std::string text_line(const Entry& entry, const std::string& uri) {
  const compare::Observation& seen = entry.seen;
  std::string line = fmt::format(
      "{} - {} [{:%d/%b/%Y:%H:%M:%S} +0000] \"{} {} {}\" {} {}",
      log_word(value_of(entry.params, "REMOTE_ADDR")),
      log_word(value_of(entry.params, "REMOTE_USER")), utc_of(entry.began_ms),
      log_word(value_of(entry.params, "REQUEST_METHOD")), log_word(uri),
      log_word(value_of(entry.params, "SERVER_PROTOCOL")), known(seen.status), seen.bytes_out);
  const auto add = [&line](std::string_view name, const std::string& value) {
    line.append(" ").append(name).append("=").append(value);
  };
  add("program", log_word(entry.program));
  add("arm", ran(entry) ? std::string(compare::to_string(seen.arm)) : "-");
  add("level", log_word(entry.level));
  add("pid", ran(entry) ? std::to_string(entry.pid) : "-");
  add("id", log_word(entry.id));
  add("latency_us", std::to_string(microseconds(seen.latency)));
  add("queue_us", std::to_string(microseconds(seen.queue)));
  add("run_us", std::to_string(microseconds(seen.latency - seen.queue)));
  add("cpu_us", known(static_cast<std::uint64_t>(microseconds(seen.cpu))));
  add("peak_kib", known(seen.peak_kib));
  add("received", std::to_string(seen.bytes_in));
  add("exit", entry.exit_code ? std::to_string(*entry.exit_code) : "-");
  add("failure", std::string(compare::to_string(seen.failure)));
  return line + "\n";
}

json or_null(bool is_known, json value) {
  return is_known ? std::move(value) : json();
}

std::string json_line(const Entry& entry, const std::string& uri) {
  const compare::Observation& seen = entry.seen;
  const auto param = [&entry](std::string_view name) {
    const std::string_view value = value_of(entry.params, name);
    return or_null(!value.empty(), shown_text(value));
  };
  nlohmann::ordered_json line;
  line["time"] =
      fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", utc_of(entry.began_ms), entry.began_ms % 1000);
  line["remote_addr"] = param("REMOTE_ADDR");
  line["remote_user"] = param("REMOTE_USER");
  line["method"] = param("REQUEST_METHOD");
  line["uri"] = shown_text(uri);
  line["protocol"] = param("SERVER_PROTOCOL");
  line["status"] = or_null(seen.status != 0, seen.status);
  line["sent_bytes"] = seen.bytes_out;
  line["received_bytes"] = seen.bytes_in;
  line["program"] = or_null(!entry.program.empty(), shown_text(entry.program));
  line["arm"] = or_null(ran(entry), compare::to_string(seen.arm));
  line["level"] = or_null(!entry.level.empty(), entry.level);
  line["pid"] = or_null(ran(entry), entry.pid);
  line["id"] = or_null(!entry.id.empty(), entry.id);
  line["latency_us"] = microseconds(seen.latency);
  line["queue_us"] = microseconds(seen.queue);
  line["run_us"] = microseconds(seen.latency - seen.queue);
  line["cpu_us"] = or_null(seen.cpu.count() > 0, microseconds(seen.cpu));
  line["peak_kib"] = or_null(seen.peak_kib > 0, seen.peak_kib);
  line["exit_code"] = or_null(entry.exit_code.has_value(), entry.exit_code.value_or(0));
  line["failure"] = compare::to_string(seen.failure);
  return ascii_json(line) + "\n";
}

}  // namespace

std::string access_line(const Entry& entry, config::AccessFormat format, const Secrets& secrets) {
  std::string uri(value_of(entry.params, "REQUEST_URI"));
  (void)secrets.mask_text(uri);
  return format == config::AccessFormat::json ? json_line(entry, uri) : text_line(entry, uri);
}

}  // namespace journal
