#include "config/toml_text.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>
#include <utility>

#include "base/utf8.h"

namespace config {
namespace {

// How many brackets may be open at once, and how many dots one key may have.
constexpr unsigned kNestingMax = 16;

struct Flaw {
  std::size_t at;  // in the text, from 0
  std::string message;
};

// Walks over text as far as needed to know which brackets and dots are TOML's and which are in
// strings or comments. A text that is not TOML may be misjudged, and is refused either way.
class NestingScan {
 public:
  explicit NestingScan(std::string_view text) : text_(text) {}

  // The place of the first bracket or dot that is too deep, or npos.
  std::size_t find_too_deep() {
    while (at_ < text_.size()) {
      char byte = text_[at_];
      if (byte == '"' || byte == '\'') {
        skip_string(byte);
        continue;
      }
      if (byte == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      count(byte);
      if (open_ > kNestingMax || dots_ > kNestingMax) return at_;
      ++at_;
    }
    return std::string_view::npos;
  }

 private:
  void count(char byte) {
    if (byte == '[' || byte == '{') ++open_;
    if ((byte == ']' || byte == '}') && open_ > 0) --open_;
    if (byte == '.') ++dots_;
    if (byte == '=' || byte == '\n' || byte == ',') dots_ = 0;
  }

  // Leaves at_ after the closing quotes, or at the line's or text's end if there are none.
  void skip_string(char quote) {
    std::string_view three = quote == '"' ? R"(""")" : "'''";
    bool many_lines = text_.substr(at_, 3) == three;
    at_ += many_lines ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\' && quote == '"') {
        ++at_;
      } else if (many_lines && text_.substr(at_, 3) == three) {
        at_ += 3;
        return;
      } else if (!many_lines && text_[at_] == quote) {
        ++at_;
        return;
      } else if (!many_lines && text_[at_] == '\n') {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned open_ = 0;
  unsigned dots_ = 0;
};

// TOML has them nowhere, except tab and the ends of lines.
bool is_control(char byte) {
  return (byte >= 0 && byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
}

// What toml11 must not be given, because it would read out of bounds, recurse until the stack
// overflows, or never end: bytes that are not UTF-8 (in a literal string), deep nesting, control
// characters (in a comment; 4.4).
std::optional<Flaw> find_flaw(std::string_view text) {
  std::size_t bad = base::find_not_utf8(text);
  if (bad != std::string_view::npos) return Flaw{bad, "a byte that is not UTF-8"};
  const auto* const control = std::find_if(text.begin(), text.end(), is_control);
  if (control != text.end()) {
    return Flaw{static_cast<std::size_t>(control - text.begin()), "a control character"};
  }
  std::size_t deep = NestingScan(text).find_too_deep();
  if (deep != std::string_view::npos) {
    return Flaw{deep, "tables and lists are nested too deeply"};
  }
  return std::nullopt;
}

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

// What toml11 calls a mistake: without its own functions' names, and with what it says about the
// place.
void add_comment(Problem& problem, const std::string& comment) {
  for (const std::string_view prefix : {"[error] ", "toml::"}) {
    if (problem.message.starts_with(prefix)) problem.message.erase(0, prefix.size());
  }
  if (problem.message.ends_with('.')) problem.message.pop_back();
  if (!comment.empty() && comment != "here") problem.message += ": " + comment;
}

#ifdef CGIBRIDGE_TOML11_4

// Title, place and comment of the first mistake; the others usually follow from it.
Problem mistake_of(const toml::exception& error, const std::string& file_name) {
  Problem problem{file_name, 1, 1, "", error.what()};
  const auto* syntax = dynamic_cast<const toml::syntax_error*>(&error);
  if (syntax == nullptr || syntax->errors().empty()) return problem;
  const toml::error_info& first = syntax->errors().front();
  problem.message = first.title();
  if (first.locations().empty()) return problem;
  const auto& [location, comment] = first.locations().front();
  const TomlPlace place = toml_place(location);
  problem.line = place.line;
  problem.column = place.column;
  add_comment(problem, comment);
  return problem;
}

#else

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
  add_comment(problem, comment);
}

Problem mistake_of(const toml::exception& error, const std::string& file_name) {
  Problem problem{file_name, error.location().line(), error.location().column(), "", ""};
  std::istringstream picture(error.what());
  std::getline(picture, problem.message);
  take_marked_place(picture, problem);
  return problem;
}

#endif

Problem syntax_problem(const toml::exception& error, const std::string& file_name) {
  Problem problem = mistake_of(error, file_name);
  problem.message = "syntax: " + problem.message;
  if (problem.message.find("unknown value appeared") != std::string::npos) {
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
