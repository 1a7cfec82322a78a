#include "journal/secret_fields.h"

#include <algorithm>
#include <cstdlib>

#include "cgi/header_field.h"

namespace journal {
namespace {

// The value of NAME=VALUE or NAME="VALUE" in a header's value; empty: not found.
std::string parameter(std::string_view value, std::string_view name) {
  for (std::size_t at = value.find(';'); at != value.npos; at = value.find(';', at + 1)) {
    std::string_view rest = value.substr(at + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const std::size_t equals = rest.find('=');
    if (equals == rest.npos || !cgi::same_name(rest.substr(0, equals), name)) continue;
    rest.remove_prefix(equals + 1);
    if (rest.starts_with('"')) return std::string(rest.substr(1, rest.find('"', 1) - 1));
    return std::string(rest.substr(0, rest.find_first_of("; \t")));
  }
  return {};
}

// The name in a part's head.
std::string name_of_part(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 1, head.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto field = cgi::parse_header_field(line);
    if (field && cgi::same_name(field->name, "Content-Disposition")) {
      return parameter(field->value, "name");
    }
  }
  return {};
}

// The place after the blank line that ends the head that begins there.
std::size_t behind_head(std::string_view body, std::size_t at) {
  const std::size_t crlf = body.find("\r\n\r\n", at);
  const std::size_t lf = body.find("\n\n", at);
  if (crlf == body.npos && lf == body.npos) return body.size();
  return crlf < lf ? crlf + 4 : lf + 2;
}

// What a JSON text means, as far as names need it: escapes of non-ASCII characters become "?".
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[++i] != 'u') {
      out += text[i];
    } else {
      const std::string digits(text.substr(i + 1, 4));
      const unsigned long code = std::strtoul(digits.c_str(), nullptr, 16);
      out += code > 0 && code < 0x80 ? static_cast<char>(code) : '?';
      i += digits.size();
    }
  }
  return out;
}

// A walk through JSON that requires only that texts end and brackets close.
class JsonWalk {
 public:
  JsonWalk(std::string_view body, const std::function<bool(std::string_view)>& wanted)
      : body_(body), wanted_(wanted) {}

  std::vector<Field> fields() {
    while (at_ < body_.size()) step();
    return std::move(found_);
  }

 private:
  void step() {
    const char c = body_[at_];
    if (c == '"') return take_text();
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
    while (end < body_.size() && body_[end] != '"') end += body_[end] == '\\' ? 2 : 1;
    end = std::min(end, body_.size());
    at_ = std::min(end + 1, body_.size());
    const std::size_t next = body_.find_first_not_of(" \t\r\n", at_);
    if (next == body_.npos || body_[next] != ':') return found(begin, end - begin);
    at_ = next + 1;
    const std::string_view name = body_.substr(begin, end - begin);
    if (!name_.empty()) return;
    const bool escaped = name.find('\\') != name.npos;
    if (escaped ? wanted_(decoded(name)) : wanted_(name)) name_ = name;
  }

  void take_number() {
    const std::size_t begin = at_;
    at_ = std::min(body_.find_first_not_of("+-.0123456789eE", at_), body_.size());
    found(begin, at_ - begin);
  }

  void found(std::size_t begin, std::size_t length) {
    if (!name_.empty()) found_.push_back({std::string(name_), begin, length});
  }

  std::string_view body_;
  const std::function<bool(std::string_view)>& wanted_;
  std::size_t at_ = 0;
  std::string_view name_;                // the wanted name that the next value follows, or none
  std::vector<std::string_view> outer_;  // the same for each object and list around it
  std::vector<Field> found_;
};

}  // namespace

std::string multipart_boundary(std::string_view content_type) {
  if (!cgi::same_name(content_type.substr(0, 10), "multipart/")) return {};
  return parameter(content_type, "boundary");
}

std::vector<Field> multipart_fields(std::string_view body, std::string_view boundary) {
  const std::string delimiter = "--" + std::string(boundary);
  std::vector<Field> fields;
  std::size_t at = body.find(delimiter);
  while (at != body.npos) {
    const std::size_t head = at + delimiter.size();
    const std::size_t content = behind_head(body, head);
    at = body.find("\n" + delimiter, head);
    std::size_t end = std::min(at, body.size());
    if (at != body.npos) at += 1;
    if (content > end) continue;
    if (end < body.size() && end > content && body[end - 1] == '\r') end -= 1;
    const std::string name = name_of_part(body.substr(head, content - head));
    if (!name.empty()) fields.push_back({name, content, end - content});
  }
  return fields;
}

std::vector<Field> json_fields(std::string_view body,
                               const std::function<bool(std::string_view)>& wanted) {
  return JsonWalk(body, wanted).fields();
}

}  // namespace journal
