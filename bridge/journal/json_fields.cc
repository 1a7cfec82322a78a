#include "journal/json_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "journal/spelling.h"

namespace journal {
namespace {

bool is_in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

// A walk through JSON that requires only that texts end and brackets close. Names and texts may be
// in single quotes, and names in none, as in JavaScript.
class JsonWalk {
 public:
  JsonWalk(std::string_view body, const Wanted& wanted) : body_(body), wanted_(wanted) {}

  std::vector<Field> fields() {
    while (at_ < body_.size()) step();
    return std::move(found_);
  }

 private:
  void step() {
    const char c = body_[at_];
    if (c == '"' || c == '\'') return take_text();
    if (is_in_word(c) && !(c >= '0' && c <= '9')) return take_word();
    if (c == '-' || (c >= '0' && c <= '9')) return take_number();
    if (c == '{' || c == '[') {
      // What is inside belongs to the wanted name before it, if there is one.
      outer_.push_back(name_);
    } else if (c == '}' || c == ']') {
      if (!outer_.empty()) outer_.pop_back();
    }
    if (c == '{' || c == '[' || c == '}' || c == ']' || c == ',') {
      name_ = outer_.empty() ? std::string_view() : outer_.back();
    }
    at_ += 1;
  }

  void take_text() {
    const std::size_t begin = at_ + 1;
    std::size_t end = begin;
    while (end < body_.size() && body_[end] != body_[at_]) end += body_[end] == '\\' ? 2 : 1;
    end = std::min(end, body_.size());
    at_ = std::min(end + 1, body_.size());
    const std::string_view text = body_.substr(begin, end - begin);
    if (take_name(text)) return;
    if (!name_.empty()) return found(begin, end - begin, 'x');
    for (Field& field : text_fields(text, wanted_)) {
      field.begin += begin;
      found_.push_back(std::move(field));
    }
  }

  void take_word() {
    const std::size_t begin = at_;
    while (at_ < body_.size() && is_in_word(body_[at_])) ++at_;
    take_name(body_.substr(begin, at_ - begin));
  }

  // Whether text, which ends at at_, is a name; what comes next is then its value.
  bool take_name(std::string_view text) {
    const std::size_t next = body_.find_first_not_of(" \t\r\n", at_);
    if (next == body_.npos || body_[next] != ':') return false;
    at_ = next + 1;
    if (name_.empty() && wanted_(Spelling(text).text())) name_ = text;
    return true;
  }

  void take_number() {
    const std::size_t begin = at_;
    at_ = std::min(body_.find_first_not_of("+-.0123456789eE", at_), body_.size());
    found(begin, at_ - begin, '1');
  }

  void found(std::size_t begin, std::size_t length, char with) {
    if (name_.empty() || length == 0) return;
    found_.push_back({Spelling(name_).text(), begin, length, with});
  }

  std::string_view body_;
  const Wanted& wanted_;
  std::size_t at_ = 0;
  std::string_view name_;                // the wanted name that the next value follows, or none
  std::vector<std::string_view> outer_;  // the same for each object and list around it
  std::vector<Field> found_;
};

}  // namespace

bool is_json(std::string_view body, std::string_view content_type) {
  if (contains(content_type, "json")) return true;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (body.starts_with(kByteOrderMark)) body.remove_prefix(kByteOrderMark.size());
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  return begin != body.npos && std::string_view("{[\"").find(body[begin]) != std::string_view::npos;
}

std::vector<Field> json_fields(std::string_view body, const Wanted& wanted) {
  std::vector<Field> fields = JsonWalk(body, wanted).fields();
  if (nlohmann::json::accept(body)) return fields;
  // It may not be JSON at all.
  for (Field& field : text_fields(body, wanted)) fields.push_back(std::move(field));
  return fields;
}

}  // namespace journal
