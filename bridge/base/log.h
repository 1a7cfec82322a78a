// The log: one line per event, on standard error (where a service manager picks it up) or in a
// file. An event always stays on one line: control bytes in it are shown as \n, \x1b.
// Grammar: what failed, on what, why, what happens next.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace base {

enum class LogLevel { debug, info, warn, error };

// Formats the line, and writes it if its level is enabled. (spdlog writes it. Its own functions
// would compile all of fmt into each of our files, which is two thirds of their build time.)
void log_line(LogLevel level, fmt::string_view format, fmt::format_args arguments);

template <typename... Values>
void log(LogLevel level, fmt::format_string<Values...> format, Values&&... values) {
  log_line(level, format, fmt::make_format_args(values...));
}

template <typename... Values>
void log_debug(fmt::format_string<Values...> format, Values&&... values) {
  log_line(LogLevel::debug, format, fmt::make_format_args(values...));
}

template <typename... Values>
void log_info(fmt::format_string<Values...> format, Values&&... values) {
  log_line(LogLevel::info, format, fmt::make_format_args(values...));
}

template <typename... Values>
void log_warn(fmt::format_string<Values...> format, Values&&... values) {
  log_line(LogLevel::warn, format, fmt::make_format_args(values...));
}

template <typename... Values>
void log_error(fmt::format_string<Values...> format, Values&&... values) {
  log_line(LogLevel::error, format, fmt::make_format_args(values...));
}

// Sets up the process's log. level: "debug", "info", "warn" or "error". Called once, by main.
void start_log(std::string_view level);

// From now on, lines below this level are not written.
void set_log_level(std::string_view level);

// From now on, the log is written to that file, or to standard error if path is empty. Lines that
// the file does not accept (the disk is full) go to standard error. On failure nothing changes.
Status set_log_file(const std::string& path);
// Opens the file again after a rotation.
Status reopen_log();
// The number of lines that the file did not accept.
std::uint64_t log_lines_dropped();

// text in visible UTF-8, cut after bytes_max: control characters and bytes that form no character
// are shown as \n, \x1b and so on. So text from a program or a peer may appear in a log line or in
// a terminal, but can neither forge a line nor steer the terminal.
std::string printable(std::string_view text, std::size_t bytes_max = 1000);

}  // namespace base
