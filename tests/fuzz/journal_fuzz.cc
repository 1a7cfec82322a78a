// Any request in the access log and as a capture. In the log it is one line, however it was
// spelled, from which a reader gets the fields back. A capture is read back as it was masked, every
// value as long as it was, and masking again changes nothing. Fields: the body, its type, the
// program, the last error, then NAME, VALUE and so on.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/assert.h"
#include "fuzz/fields.h"
#include "journal/access_line.h"
#include "journal/capture.h"
#include "journal/text_bytes.h"

namespace {

using journal::Entry;
using journal::Secrets;

Entry entry_of(const std::vector<std::string_view>& parts) {
  Entry entry;
  entry.began_ms = 1700000000123;
  entry.body = parts[0];
  entry.received = entry.seen.bytes_in = parts[0].size();
  entry.program = "/" + std::string(parts[2]);
  entry.last_error = parts[3];
  entry.pid = 4711;
  entry.seen.failure = compare::Failure::exit_code;
  entry.params.emplace_back("CONTENT_TYPE", parts[1]);
  for (std::size_t i = 4; i + 1 < parts.size(); i += 2) {
    entry.params.emplace_back(parts[i], parts[i + 1]);
  }
  return entry;
}

void demand_one_line(const std::string& line) {
  BRIDGE_ASSERT(line.ends_with('\n') && line.find('\n') == line.size() - 1);
  for (const char c : line.substr(0, line.size() - 1)) {
    BRIDGE_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
}

void demand_access_lines(const Entry& entry, const Secrets& secrets) {
  const std::string text = journal::access_line(entry, config::AccessFormat::text, secrets);
  demand_one_line(text);
  BRIDGE_ASSERT(std::count(text.begin(), text.end(), ' ') == 22);
  BRIDGE_ASSERT(std::count(text.begin(), text.end(), '"') == 2);

  const std::string json = journal::access_line(entry, config::AccessFormat::json, secrets);
  BRIDGE_ASSERT(json.ends_with('\n') && json.find('\n') == json.size() - 1);
  const auto object = nlohmann::json::parse(json, nullptr, false);
  BRIDGE_ASSERT(object.is_object() && object.size() == 21);
  BRIDGE_ASSERT(object["program"] == journal::shown_text(entry.program));
}

void demand_capture(const Entry& entry, const Secrets& secrets) {
  const auto read = journal::parse_capture(journal::capture_text(entry, secrets));
  BRIDGE_ASSERT(read.ok());
  const journal::Capture& capture = read.value();
  journal::Params params = entry.params;
  const auto masked = secrets.mask_params(params);
  BRIDGE_ASSERT(capture.params == params && capture.body.size() == entry.body.size());
  BRIDGE_ASSERT(capture.body_bytes == entry.body.size());
  BRIDGE_ASSERT(capture.masked.size() <= entry.params.size() * 100 + entry.body.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    const auto& [name, value] = params[i];
    const std::string& before = entry.params[i].second;
    BRIDGE_ASSERT(value.size() == before.size() && name == entry.params[i].first);
    if (value != before) BRIDGE_ASSERT(!masked.empty());
    // A value that is secret by its name keeps no byte, except for the scheme of an authorization.
    const bool has_scheme =
        name.find("uthorization") != name.npos || name.find("AUTHORIZATION") != name.npos;
    const bool is_cookie = name.find("OOKIE") != name.npos || name.find("ookie") != name.npos ||
                           name.find("UERY") != name.npos || name.find("uery") != name.npos;
    if (!secrets.is_secret(name) || has_scheme || is_cookie) continue;
    if (name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != name.npos) continue;
    BRIDGE_ASSERT(value == std::string(value.size(), 'x'));
  }
  journal::Params again = params;
  (void)secrets.mask_params(again);
  BRIDGE_ASSERT(again == params);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = fuzz::fields(data, size);
  if (parts.size() < 4) return 0;
  const Entry entry = entry_of(parts);
  const Secrets secrets({"own_name"});
  demand_access_lines(entry, secrets);
  demand_capture(entry, secrets);
  return 0;
}
