// A request as a line of the access log.
#pragma once

#include <string>

#include "config/settings.h"
#include "journal/entry.h"
#include "journal/secrets.h"

namespace journal {

// With its line end. text: the line that web servers write (the common log format), and behind it
// NAME=VALUE for who answered and what it took, "-" for what is not known; nothing a client sends
// can make a second line or a second field of it. json: an object with the same, null for what is
// not known. Secrets in the query are masked.
std::string access_line(const Entry& entry, config::AccessFormat format, const Secrets& secrets);

}  // namespace journal
