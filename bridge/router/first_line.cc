#include "router/first_line.h"

#include <algorithm>

#include "router/env_command.h"

namespace router {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view last_segment(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The line between "#!" and its end as the kernel sees it; none if it would refuse the file.
std::optional<std::string_view> line_in(std::string_view start) {
  constexpr std::string_view kMagic = "#!";
  start = start.substr(0, kFirstLineBytes);
  if (!start.starts_with(kMagic)) return std::nullopt;
  const bool is_whole_file = start.size() < kFirstLineBytes;
  const std::size_t newline = start.find('\n');
  const std::size_t nul = start.find('\0');
  if (newline < nul) return start.substr(2, newline - 2);

  // The kernel's buffer is zero after a short file, and its last byte counts as a NUL. A line
  // without an end is accepted only if the interpreter's name ends within the buffer.
  const std::string_view line = start.substr(2, std::min(nul, kFirstLineBytes - 1) - 2);
  const std::size_t name = line.find_first_not_of(kBlanks);
  if (name == std::string_view::npos) return std::nullopt;
  const bool name_ends =
      start.find_first_of(kBlanks, 2 + name) < nul || nul < kFirstLineBytes - 1 || is_whole_file;
  return name_ends ? std::optional(line) : std::nullopt;
}

}  // namespace

std::optional<FirstLine> parse_first_line(std::string_view file_start) {
  std::optional<std::string_view> line = line_in(file_start);
  if (!line) return std::nullopt;
  const std::size_t name = line->find_first_not_of(kBlanks);
  if (name == std::string_view::npos) return std::nullopt;
  *line = line->substr(name, line->find_last_not_of(kBlanks) - name + 1);
  // C strings end at a NUL: nothing can follow it.
  const std::size_t name_end = std::min(line->find_first_of(kBlanks), line->size());
  FirstLine first_line{std::string(line->substr(0, name_end)), std::nullopt};
  const std::size_t argument = line->find_first_not_of(kBlanks, name_end);
  if (argument != std::string_view::npos) first_line.argument = line->substr(argument);
  return first_line;
}

base::Result<Interpreter> interpreter_of(const FirstLine& line) {
  if (last_segment(line.interpreter) == "env" && line.argument) {
    return interpreter_behind_env(*line.argument);
  }
  Interpreter interpreter;
  interpreter.interpreter = line.interpreter;
  if (line.argument) interpreter.words.push_back(*line.argument);
  return interpreter;
}

}  // namespace router
