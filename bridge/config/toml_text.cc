#include "config/toml_text.h"

#include <exception>
#include <sstream>
#include <utility>

#include "config/text_guard.h"

namespace config {
namespace {

Problem problem_at(std::string_view text, std::size_t at, const std::string& file_name,
                   std::string message) {
  Problem problem{file_name, 1, 1, "", std::move(message)};
  for (char byte : text.substr(0, at)) {
    ++problem.column;
    if (byte == '\n') {
      ++problem.line;
      problem.column = 1;
    }
  }
  return problem;
}

// " 12 | " gives 12; other lines give 0.
unsigned pictured_line(std::string_view line, std::size_t bar) {
  unsigned number = 0;
  for (char byte : line.substr(0, bar)) {
    if (byte != ' ' && (byte < '0' || byte > '9')) return 0;
    if (byte != ' ') number = number * 10 + unsigned(byte - '0');
  }
  return number;
}

// Takes place and comment of the last mark out of toml11's picture, which is nearer to the mistake
// than the exception's location():
//    2 | b = = 2
//      |     ^--- here
void take_marked_place(std::istringstream& picture, Problem& problem) {
  unsigned line_number = 0;
  std::string comment;
  for (std::string line; std::getline(picture, line);) {
    std::size_t bar = line.find(" | ");
    if (bar == std::string::npos) continue;
    unsigned number = pictured_line(line, bar);
    if (number != 0) {
      line_number = number;
      continue;
    }
    std::size_t mark = line.find_first_of("^~", bar);
    if (mark == std::string::npos || line_number == 0) continue;
    problem.line = line_number;
    problem.column = unsigned(mark - (bar + 3) + 1);
    std::size_t blank = line.find(' ', mark);
    comment = blank == std::string::npos ? "" : line.substr(blank + 1);
  }
  if (!comment.empty() && comment != "here") problem.message += ": " + comment;
}

Problem syntax_problem(const toml::exception& error, const std::string& file_name) {
  Problem problem{file_name, error.location().line(), error.location().column(), "", ""};
  std::istringstream picture(error.what());
  std::string title;
  std::getline(picture, title);
  for (std::string_view prefix : {"[error] ", "toml::"}) {
    if (title.starts_with(prefix)) title.erase(0, prefix.size());
  }
  if (title.ends_with('.')) title.pop_back();
  problem.message = "syntax: " + title;
  take_marked_place(picture, problem);
  if (title.find("unknown value appeared") != std::string::npos) {
    problem.message += " (a text stands in quotes)";
  }
  return problem;
}

}  // namespace

std::variant<toml::value, Problem> read_toml(std::string_view text, const std::string& file_name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark shifts columns
  if (auto flaw = find_flaw(text)) {
    return problem_at(text, flaw->at, file_name, "syntax: " + flaw->message);
  }
  try {
    std::istringstream stream{std::string(text)};
    return toml::parse(stream, file_name);
  } catch (const toml::exception& error) {
    return syntax_problem(error, file_name);
  } catch (const std::exception& error) {
    return Problem{file_name, 1, 1, "", std::string("syntax: ") + error.what()};
  }
}

}  // namespace config
