// What is noted about one request, from its params to its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "compare/figures.h"
#include "journal/request_name.h"
#include "worker/worker_state.h"

namespace journal {

// Name and value, as the web server sent them.
using Params = std::vector<std::pair<std::string, std::string>>;

// The value of name; if it was sent twice, the last one; "" if it is missing.
inline std::string_view value_of(const Params& params, std::string_view name) {
  const auto found = std::find_if(params.rbegin(), params.rend(),
                                  [name](const auto& param) { return param.first == name; });
  return found == params.rend() ? std::string_view() : std::string_view(found->second);
}

// Owned by its request. Only what is needed is kept: see Journal::begin().
struct Entry {
  std::int64_t began_ms = 0;  // when its params came, wall clock since 1970
  std::string id;             // see RequestName
  Params params;
  std::string program;  // its path; empty: the request led to none
  std::string level;    // of its worker's checkpoint; empty: it ran classic
  std::int64_t pid = 0;
  compare::Observation seen;                 // bytes_in is what arrived of the body
  std::optional<std::uint32_t> exit_code{};  // none: not known, or nothing was started
  std::string ended_by{};      // "killed by signal 11 (...)"; empty: it ended by itself
  std::string why{};           // what the log says, if the bridge answered itself
  std::string last_error{};    // the last line that the program wrote to its standard error
  std::uint64_t received = 0;  // of its body
  std::string body{};          // its beginning
  std::size_t body_max = 0;
  std::string followed{};  // the marker of an operator who follows it (followers.h); empty: nobody

  void program_ended(const worker::Ending& ending) {
    exit_code = ending.app_status;
    ended_by = ending.description;
    seen.cpu = ending.cpu;
    seen.peak_kib = ending.peak_kib;
  }

  void add_body(base::ByteView piece) {
    received += piece.size();
    body += piece.substr(0, std::min(piece.size(), body_max - body.size()));
  }
};

}  // namespace journal
