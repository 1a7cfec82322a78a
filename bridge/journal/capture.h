// A request that failed, as a file from which it can be run again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/entry.h"
#include "journal/secrets.h"

namespace journal {

// What `cgibridge replay` needs, and what it says beside it.
struct Capture {
  std::string time;                 // when the request came
  std::string program;              // its path
  std::string settings_file;        // that it ran under; empty: not known
  Params params;                    // masked
  std::string body;                 // masked; the first of it
  std::uint64_t body_bytes = 0;     // that came
  std::vector<std::string> masked;  // the names of what is not as it was
  std::string arm, failure, why, ended_by;
  std::string id;  // of the request then; empty: not known
  int status = 0;
  std::optional<std::uint32_t> exit_code;  // none: not known
};

// Whether a request is worth a capture: its program was begun and failed. What was refused for
// want of room, or left by its client, says nothing of its program.
bool worth_capturing(const Entry& entry);

// The file's text: JSON, a param a line. settings_file: of the bridge.
std::string capture_text(const Entry& entry, const Secrets& secrets,
                         const std::string& settings_file = {});

// The error is a sentence, without the file's name.
base::Result<Capture> parse_capture(const std::string& text);

}  // namespace journal
