#include "router/env_command.h"

#include <optional>
#include <utility>

namespace router {
namespace {

using base::Error;
using Words = std::vector<std::string>;

constexpr std::string_view kBlanks = " \t\n\v\f\r";

bool is_blank(char c) {
  return kBlanks.find(c) != std::string_view::npos;
}

// coreutils' env -S: words between blanks, '...' and "..." quotes, backslash escapes, # comments.
class SplitString {
 public:
  explicit SplitString(std::string_view text) : text_(text) {}

  base::Result<Words> split() {
    while (at_ < text_.size() && !is_ended_) {
      const char c = text_[at_++];
      if (auto error = take(c)) return *std::move(error);
    }
    if (quote_ != '\0') return Error{"env -S: a quote is not closed"};
    end_word();
    return std::move(words_);
  }

 private:
  std::optional<Error> take(char c) {
    if (c == quote_ && quote_ != '\0') {
      quote_ = '\0';
    } else if (quote_ == '\0' && (c == '\'' || c == '"')) {
      quote_ = c;
      is_in_word_ = true;
    } else if (quote_ == '\0' && is_blank(c)) {
      end_word();
    } else if (quote_ == '\0' && c == '#' && !is_in_word_) {
      is_ended_ = true;
    } else if (c == '\\') {
      return take_escape();
    } else if (c == '$' && quote_ != '\'') {
      return Error{"env -S: ${NAME} is for env itself to expand"};
    } else {
      add(c);
    }
    return std::nullopt;
  }

  std::optional<Error> take_escape() {
    if (at_ == text_.size()) return Error{"env -S: a backslash ends the line"};
    const char c = text_[at_++];
    if (quote_ == '\'') {
      // Within single quotes only these two are escapes.
      if (c != '\\' && c != '\'') add('\\');
      add(c);
      return std::nullopt;
    }
    switch (c) {
      case '_':  // a blank that separates words; within quotes, just a blank
        quote_ == '"' ? add(' ') : end_word();
        return std::nullopt;
      case 'c':
        if (quote_ == '"') return Error{"env -S: \\c within double quotes"};
        is_ended_ = true;
        return std::nullopt;
      case '"':
      case '#':
      case '$':
      case '\'':
      case '\\':
        add(c);
        return std::nullopt;
    }
    constexpr std::string_view kNames = "fnrtv", kValues = "\f\n\r\t\v";
    const std::size_t place = kNames.find(c);
    if (place == std::string_view::npos) return Error{std::string("env -S: unknown escape \\") + c};
    add(kValues[place]);
    return std::nullopt;
  }

  void add(char c) {
    word_ += c;
    is_in_word_ = true;
  }

  void end_word() {
    if (is_in_word_) words_.push_back(std::move(word_));
    word_.clear();
    is_in_word_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  char quote_ = '\0';
  bool is_in_word_ = false;
  bool is_ended_ = false;
  std::string word_;
  Words words_;
};

// What follows -S, -vS or --split-string; none if argument is not such an option.
std::optional<std::string_view> split_string_in(std::string_view argument) {
  for (const std::string_view option : {"--split-string=", "-S", "-vS"}) {
    if (argument.starts_with(option)) return argument.substr(option.size());
  }
  return std::nullopt;
}

}  // namespace

base::Result<Interpreter> interpreter_behind_env(std::string_view argument) {
  Words words{std::string(argument)};
  if (const auto text = split_string_in(argument)) {
    base::Result<Words> split = SplitString(*text).split();
    if (!split) return split.error();
    words = split.take();
  }

  Interpreter interpreter;
  auto word = words.begin();
  if (word != words.end() && *word == "--") {
    ++word;
  } else if (word != words.end() && word->starts_with('-')) {
    return Error{"env: option " + *word + " is for env itself to carry out"};
  }
  // A name is never empty and contains no '=', so everything with one is an assignment.
  for (; word != words.end() && word->find('=') != std::string::npos; ++word) {
    interpreter.assignments.push_back(std::move(*word));
  }
  if (word == words.end() || word->empty()) return Error{"env: no interpreter after it"};
  interpreter.lookup = word->find('/') == std::string::npos ? Lookup::search_path : Lookup::path;
  interpreter.interpreter = std::move(*word);
  interpreter.words.assign(std::make_move_iterator(word + 1), std::make_move_iterator(words.end()));
  return interpreter;
}

}  // namespace router
