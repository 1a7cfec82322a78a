#include "journal/capture.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "journal/text_bytes.h"

namespace journal {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kVersion = "cgibridge_capture";

std::string time_of(std::int64_t unix_ms) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)), unix_ms % 1000);
}

// "" if it is not text.
std::string text_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

bool read_params(const json& list, Params& params) {
  if (!list.is_array()) return false;
  for (const json& pair : list) {
    if (!pair.is_array() || pair.size() != 2) return false;
    auto name = bytes_of_json(pair[0]), value = bytes_of_json(pair[1]);
    if (!name || !value) return false;
    params.emplace_back(std::move(*name), std::move(*value));
  }
  return true;
}

}  // namespace

bool worth_capturing(const Entry& entry) {
  const compare::Failure failure = entry.seen.failure;
  return !entry.program.empty() && compare::is_error(failure) &&
         failure != compare::Failure::refused;
}

std::string capture_text(const Entry& entry, const Secrets& secrets,
                         const std::string& settings_file) {
  Params params = entry.params;
  std::string body = entry.body;
  Secrets::Masked masked = secrets.mask_params(params);
  for (const std::string& name : secrets.mask_body(body, value_of(entry.params, "CONTENT_TYPE"))) {
    masked.push_back("body:" + name);
  }
  std::sort(masked.begin(), masked.end());
  masked.erase(std::unique(masked.begin(), masked.end()), masked.end());
  const compare::Observation& seen = entry.seen;
  ordered_json capture;
  capture[kVersion] = 1;
  capture["time"] = time_of(entry.began_ms);
  capture["id"] = entry.id;
  capture["program"] = shown_text(entry.program);
  if (!settings_file.empty()) capture["settings_file"] = json_of_bytes(settings_file);
  capture["arm"] = compare::to_string(seen.arm);
  capture["level"] = entry.level;
  capture["failure"] = compare::to_string(seen.failure);
  capture["status"] = seen.status;
  capture["exit_code"] = entry.exit_code ? json(*entry.exit_code) : json();
  capture["ended_by"] = entry.ended_by;
  capture["why"] = shown_text(entry.why);
  capture["last_error"] = shown_text(entry.last_error);
  capture["latency_us"] = seen.latency.count();
  capture["masked"] = ordered_json::array();
  for (const std::string& name : masked) capture["masked"].push_back(shown_text(name));
  capture["body_bytes"] = seen.bytes_in;
  capture["body"] = json_of_bytes(body);
  std::string text = ascii_json(capture, 1);
  // One param per line: like the rest, they are meant to be read by people.
  text.replace(text.rfind('\n'), text.npos, ",\n \"params\": [");
  for (std::size_t i = 0; i < params.size(); ++i) {
    const auto& [name, value] = params[i];
    text += i == 0 ? "\n  " : ",\n  ";
    text += ascii_json(json::array({json_of_bytes(name), json_of_bytes(value)}));
  }
  return text + "\n ]\n}\n";
}

base::Result<Capture> parse_capture(const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) return base::Error{"is no JSON, or not whole"};
  if (!object.is_object() || number_at(object, kVersion) != 1) {
    return base::Error{"is no capture of this version of the bridge"};
  }
  Capture capture;
  const auto params = object.find("params"), body = object.find("body");
  if (params == object.end() || !read_params(*params, capture.params)) {
    return base::Error{"\"params\" is no list of [name, value]"};
  }
  auto bytes = body == object.end() ? std::nullopt : bytes_of_json(*body);
  if (!bytes) return base::Error{"\"body\" is no text"};
  capture.body = std::move(*bytes);
  capture.time = text_at(object, "time");
  capture.id = text_at(object, "id");
  capture.program = text_at(object, "program");
  if (!capture.program.starts_with('/')) return base::Error{"\"program\" is no absolute path"};
  if (const auto file = object.find("settings_file"); file != object.end()) {
    capture.settings_file = bytes_of_json(*file).value_or(std::string());
  }
  capture.body_bytes = number_at(object, "body_bytes");
  capture.arm = text_at(object, "arm");
  capture.failure = text_at(object, "failure");
  capture.why = text_at(object, "why");
  capture.ended_by = text_at(object, "ended_by");
  capture.status = static_cast<int>(std::min<std::uint64_t>(number_at(object, "status"), 999));
  if (const auto code = object.find("exit_code"); code != object.end() && !code->is_null()) {
    capture.exit_code = static_cast<std::uint32_t>(number_at(object, "exit_code"));
  }
  const json masked = object.value("masked", json::array());
  for (const json& name : masked) {
    if (name.is_string()) capture.masked.push_back(name.get<std::string>());
  }
  return capture;
}

}  // namespace journal
