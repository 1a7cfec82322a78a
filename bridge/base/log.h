// The log: one line an event, on standard error (a service manager takes it from there) or in a
// file. Whatever stands in an event, it stays on its one line: control bytes are shown as \n, \x1b.
// Grammar: what failed, on what, why, what happens next.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace base {

enum class LogLevel { debug, info, warn, error };

// The line as it was put together; written if its level is asked for. (spdlog writes it. Its own
// functions would compile all of fmt into each of our files: two thirds of their build time.)
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

// From here on lines below this level are not written.
void set_log_level(std::string_view level);

// From here on the log is written to that file; empty: to standard error. What the file does not
// take (a full disk) goes to standard error. On failure all stays as it was.
Status set_log_file(const std::string& path);
// Opens the file anew, behind a rotation.
Status reopen_log();
// Lines that the file did not take.
std::uint64_t log_lines_dropped();

// text with control bytes shown as \n, \x1b and so on, cut after bytes_max: what a program or a
// peer wrote may stand in a log line, but may not forge one.
std::string printable(std::string_view text, std::size_t bytes_max = 1000);

}  // namespace base
