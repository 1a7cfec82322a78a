// A request as a line of the access log.
#pragma once

#include <string>

#include "config/settings.h"
#include "journal/entry.h"
#include "journal/secrets.h"

namespace journal {

// Includes the line end. text: the line that web servers write (the common log format), followed by
// NAME=VALUE pairs for what answered and what it cost, "-" for unknown values; nothing that a
// client sends can create a second line or field. json: an object with the same values, null for
// unknown ones. Secrets in the query are masked.
std::string access_line(const Entry& entry, config::AccessFormat format, const Secrets& secrets);

}  // namespace journal
