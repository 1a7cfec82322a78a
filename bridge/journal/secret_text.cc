#include "journal/secret_text.h"

#include <algorithm>
#include <utility>

#include "journal/spelling.h"

namespace journal {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kQuotes = "\"'";
// Nobody's password is longer than that and contains what ends a host.
constexpr std::size_t kUserinfoMax = 256;

bool is_one_of(char c, std::string_view some) {
  return some.find(c) != some.npos;
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool may_be_in_a_name(char c) {
  return is_letter_or_digit(c) || static_cast<unsigned char>(c) >= 0x80 ||
         is_one_of(c, "-_.[]$*% ");
}

// Whether text begins with NAME=, a name as forms have it.
bool begins_with_pair(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const auto is_other = [](char c) { return !may_be_in_a_name(c) && c != '+'; };
  const auto end = std::ranges::find_if(text, is_other);
  return end != text.begin() && end != text.end() && *end == '=';
}

// One piece of a text, in which no name ends before another's value. Positions are those of its
// decoded text.
class PieceScan {
 public:
  PieceScan(std::string_view piece, std::size_t offset, const Wanted& wanted,
            std::vector<Field>& found)
      : spelling_(piece),
        text_(spelling_.text()),
        offset_(offset),
        wanted_(wanted),
        found_(found) {}

  void run() {
    while (at_ < text_.size()) step();
  }

 private:
  struct Value {
    std::size_t begin, end;
    char with = 'x';
  };

  void step() {
    const char c = text_[at_];
    if (c == '=' || (c == ':' && !is_before_a_port())) return take_value();
    if (c == '/' && text_.substr(at_).starts_with("//")) return take_authority();
    if (!may_be_in_a_name(c) && !ends_quoted_name()) name_begin_ = at_ + 1;
    ++at_;
  }

  bool ends_quoted_name() const {
    if (!is_one_of(text_[at_], kQuotes)) return false;
    const std::size_t next = text_.find_first_not_of(kBlanks, at_ + 1);
    return next != text_.npos && (text_[next] == ':' || text_[next] == '=');
  }

  // example.org:8080
  bool is_before_a_port() const {
    const bool is_host = name().find('.') != std::string_view::npos;
    return is_host && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  }

  // What precedes at_, without blanks and quotes around it.
  std::string_view name() const {
    std::string_view name = text_.substr(name_begin_, at_ - name_begin_);
    constexpr std::string_view kAround = " \t\"'";
    name.remove_prefix(std::min(name.find_first_not_of(kAround), name.size()));
    return name.substr(0, name.find_last_not_of(kAround) + 1);
  }

  // The value after the separator at at_, if the name before that is wanted, as a whole or without
  // the words before it.
  void take_value() {
    const std::string_view all = name();
    const std::string_view last = all.substr(all.find_last_of(' ') + 1);
    const bool whole = wanted_(all);
    const bool is_wanted = !last.empty() && (whole || wanted_(last));
    Value value{at_ + 1, text_.size()};
    if (is_wanted && text_[at_] == ':') value = value_after_colon();
    at_ += 1;
    if (is_wanted && value.begin < value.end) {
      add(whole ? all : last, value);
      at_ = value.end;
    }
    name_begin_ = at_;
  }

  Value value_after_colon() const {
    const std::size_t begin = std::min(text_.find_first_not_of(kBlanks, at_ + 1), text_.size());
    if (begin == text_.size()) return {begin, begin};
    const char first = text_[begin];
    if (is_one_of(first, kQuotes)) return {begin + 1, end_of_quoted(begin)};
    if (first == '{' || first == '[') return {begin, text_.size()};
    const std::size_t end = std::min(text_.find_first_of(",}] \t\r\n", begin), text_.size());
    const std::string_view word = text_.substr(begin, end - begin);
    if (word == "true" || word == "false" || word == "null") return {begin, begin};
    if (word.find_first_not_of("+-.0123456789eE") == word.npos) return {begin, end, '1'};
    return {begin, std::min(text_.find_first_of("\r\n", begin), text_.size())};
  }

  // A quote that is not followed by what follows values was in the value, escaped.
  std::size_t end_of_quoted(std::size_t begin) const {
    for (std::size_t end = begin + 1;; ++end) {
      end = text_.find(text_[begin], end);
      if (end == text_.npos) return text_.size();
      const std::size_t next = text_.find_first_not_of(kBlanks, end + 1);
      if (next == text_.npos || is_one_of(text_[next], ",}]);\r\n")) return end;
    }
  }

  std::size_t end_of_authority(std::size_t begin) const {
    return std::min(text_.find_first_of("/?# \t\r\n\"'<>", begin), text_.size());
  }

  // RFC 3986 §3.2: USER:PASSWORD@HOST:PORT after "//".
  void take_authority() {
    const std::size_t begin = at_ + 2, end = end_of_authority(begin);
    const std::string_view authority = text_.substr(begin, end - begin);
    const std::size_t at_sign = authority.rfind('@'), colon = authority.find(':');
    at_ = name_begin_ = end;
    if (at_sign != authority.npos) {
      add("userinfo", {begin, begin + at_sign});
    } else if (colon != authority.npos && !authority.starts_with('[')) {
      take_odd_userinfo(begin, begin + colon + 1, end);
    }
  }

  // One with a password that contains what should have been encoded in it, or that was cut off
  // before its "@".
  void take_odd_userinfo(std::size_t begin, std::size_t password, std::size_t end) {
    const std::string_view port = text_.substr(password, end - password);
    if (!port.empty() && std::ranges::all_of(port, is_digit)) return;
    const std::size_t first = text_.substr(password, kUserinfoMax).find_first_of("@\r\n");
    if (first != text_.npos && text_[password + first] == '@') {
      at_ = name_begin_ = end_of_authority(password + first);
      add("userinfo", {begin, text_.rfind('@', at_ - 1)});
    } else if (end == text_.size() && !port.empty()) {
      add("userinfo", {begin, end});
    }
  }

  void add(std::string_view name, Value value) {
    const std::size_t begin = spelling_.source(value.begin);
    const std::size_t length = spelling_.source(value.end) - begin;
    if (length > 0) found_.push_back({std::string(name), offset_ + begin, length, value.with});
  }

  const Spelling spelling_;
  const std::string_view text_;
  const std::size_t offset_;
  const Wanted& wanted_;
  std::vector<Field>& found_;
  std::size_t at_ = 0, name_begin_ = 0;
};

}  // namespace

std::vector<Field> text_fields(std::string_view text, const Wanted& wanted) {
  std::vector<Field> found;
  // Most texts have none of these, and so no field.
  if (text.find_first_of("=:%/\\") == text.npos) return found;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const bool ends = at == text.size() || text[at] == '&' ||
                      (text[at] == ';' && begins_with_pair(text.substr(at + 1)));
    if (!ends) continue;
    PieceScan(text.substr(begin, at - begin), begin, wanted, found).run();
    begin = at + 1;
  }
  return found;
}

}  // namespace journal
