// A request that failed, as a file from which it can be run again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/entry.h"
#include "journal/secrets.h"

namespace journal {

// What `cgibridge replay` needs, and what else it shows.
struct Capture {
  std::string time;                 // when the request arrived
  std::string program;              // its path
  std::string settings_file;        // under which it ran; empty: not known
  Params params;                    // masked
  std::string body;                 // masked; its beginning
  std::uint64_t body_bytes = 0;     // received
  std::vector<std::string> masked;  // the names of masked values
  std::string arm, failure, why, ended_by;
  std::string id;  // of the captured request; empty: not known
  int status = 0;
  std::optional<std::uint32_t> exit_code;  // none: not known
};

// Whether a request is worth a capture: its program was started and failed. A request that was
// refused for lack of room, or abandoned by its client, says nothing about its program.
bool worth_capturing(const Entry& entry);

// The file's text: JSON, one param per line. settings_file: the bridge's.
std::string capture_text(const Entry& entry, const Secrets& secrets,
                         const std::string& settings_file = {});

// The error is a sentence, without the file's name.
base::Result<Capture> parse_capture(const std::string& text);

}  // namespace journal
