// The log: one line an event, on standard error (a service manager or a file takes it from there).
// Whatever stands in an event, it stays on its one line: control bytes are shown as \n, \x1b.
// Grammar: what failed, on what, why, what happens next.
#pragma once

#include <spdlog/spdlog.h>

#include <string>
#include <string_view>

namespace base {

// Sets up the process's log. level: "debug", "info", "warn" or "error". Called once, by main.
void start_log(std::string_view level);

// text with control bytes shown as \n, \x1b and so on, cut after bytes_max: what a program or a
// peer wrote may stand in a log line, but may not forge one.
std::string printable(std::string_view text, std::size_t bytes_max = 1000);

}  // namespace base
