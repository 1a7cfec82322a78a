#include "journal/form_parts.h"

#include <algorithm>
#include <optional>

#include "cgi/header_field.h"
#include "journal/spelling.h"

namespace journal {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kWhite = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kWhite), text.size()));
  return text.substr(0, text.find_last_not_of(kWhite) + 1);
}

// The place of the ";" that ends the parameter that text begins with, or its end.
std::size_t end_of_parameter(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && quoted) {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == ';' && !quoted) {
      return i;
    }
  }
  return text.size();
}

std::string parameter_value(std::string_view text) {
  if (!text.starts_with('"')) return std::string(text);
  std::string value;
  for (std::size_t i = 1; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    value += text[i];
  }
  return value;
}

// The value of a parameter of a header's value: NAME=VALUE, NAME="VALUE", or as in RFC 2231
// NAME*=charset'language'VALUE and NAME*0=VALUE; NAME*1=VALUE. None: it is not there, or is there
// twice.
std::optional<std::string> parameter(std::string_view header, std::string_view name) {
  std::optional<std::string> found;
  bool continued = false;
  while (!header.empty()) {
    const std::size_t end = end_of_parameter(header);
    const std::string_view pair = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view key = trimmed(pair.substr(0, equals));
    const std::size_t star = std::min(key.find('*'), key.size());
    if (equals == pair.size() || !cgi::same_name(key.substr(0, star), name)) continue;
    std::string value = parameter_value(trimmed(pair.substr(equals + 1)));
    // charset'language'
    const std::size_t mark =
        key.ends_with('*') ? value.find('\'', value.find('\'') + 1) : value.npos;
    if (mark != value.npos) value.erase(0, mark + 1);
    const bool continues = star + 1 < key.size();
    if (found && !(continued && continues)) return std::nullopt;
    found = found.value_or("") + value;
    continued = continues;
  }
  return found;
}

struct PartHead {
  std::string name, content_type;
};

// The head's fields; a line that begins with a blank belongs to the one before it.
PartHead read_head(std::string_view head) {
  PartHead read;
  unsigned dispositions = 0;
  std::string line;
  const auto end_line = [&] {
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view field = trimmed(std::string_view(line).substr(0, colon));
    const std::string_view value = std::string_view(line).substr(std::min(colon + 1, line.size()));
    if (cgi::same_name(field, "Content-Type")) read.content_type = trimmed(value);
    if (cgi::same_name(field, "Content-Disposition")) {
      read.name = Spelling(parameter(value, "name").value_or("")).text();
      dispositions += 1;
    }
    line.clear();
  };
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    if (kBlanks.find(head.front()) == kBlanks.npos) end_line();
    line += head.substr(0, end);
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  end_line();
  if (dispositions > 1) read.name.clear();
  return read;
}

// Delimiters are whole lines; returns the place of the next one's first "-", or npos.
std::size_t find_delimiter(std::string_view body, std::string_view delimiter, std::size_t at) {
  for (;; ++at) {
    at = body.find(delimiter, at);
    if (at == body.npos) return at;
    const std::string_view rest = body.substr(at + delimiter.size());
    const bool begins_line = at == 0 || body[at - 1] == '\n';
    const bool ends_line =
        rest.empty() || rest.starts_with("--") || kWhite.find(rest.front()) != kWhite.npos;
    if (begins_line && ends_line) return at;
  }
}

// Where the content of the part with this head and content begins: after the blank line.
std::optional<std::size_t> end_of_head(std::string_view part) {
  const std::size_t lf = part.find("\n\n"), crlf = part.find("\n\r\n");
  if (lf == part.npos && crlf == part.npos) return std::nullopt;
  return lf < crlf ? lf + 2 : crlf + 3;
}

// The delimiter that the body begins with, if it can be one.
std::string_view first_delimiter(std::string_view body) {
  const std::size_t begin = std::min(body.find_first_not_of(kWhite), body.size());
  body.remove_prefix(begin);
  return body.starts_with("--") ? trimmed(body.substr(0, body.find('\n'))) : std::string_view();
}

std::string delimiter_of(std::string_view body, std::string_view content_type) {
  const std::string named = "--" + parameter(content_type, "boundary").value_or("");
  if (named.size() > 2 && find_delimiter(body, named, 0) != body.npos) return named;
  return std::string(first_delimiter(body));
}

// part: what is between two delimiters, from the end of the first one on.
FormPart read_part(std::string_view part) {
  const auto content = end_of_head(part);
  if (!content) return {{}, {}, 0, part.size()};
  const std::size_t line = part.find('\n') + 1;  // the delimiter's own ends there
  PartHead head = read_head(part.substr(line, *content - line));
  std::size_t end = part.size();
  // The line end before a delimiter belongs to the delimiter.
  if (end > *content && part[end - 1] == '\n') end -= 1;
  if (end > *content && part[end - 1] == '\r') end -= 1;
  if (end <= *content) return {};
  return {std::move(head.name), std::move(head.content_type), *content, end - *content};
}

}  // namespace

bool is_multipart(std::string_view body, std::string_view content_type) {
  if (cgi::same_name(trimmed(content_type).substr(0, 10), "multipart/")) return true;
  return !first_delimiter(body).empty() && contains(body, "content-disposition");
}

std::vector<FormPart> form_parts(std::string_view body, std::string_view content_type) {
  const std::string delimiter = delimiter_of(body, content_type);
  std::vector<FormPart> parts;
  const auto add = [&](FormPart part, std::size_t offset) {
    part.begin += offset;
    const std::string_view content = body.substr(part.begin, part.length);
    if (!trimmed(content).empty()) parts.push_back(std::move(part));
  };
  if (delimiter.empty()) {
    add({{}, {}, 0, body.size()}, 0);
    return parts;
  }
  std::size_t at = find_delimiter(body, delimiter, 0);
  add({{}, {}, 0, std::min(at, body.size())}, 0);
  while (at != body.npos) {
    const std::size_t begin = at + delimiter.size();
    at = find_delimiter(body, delimiter, begin);
    const std::string_view part = body.substr(begin, at - begin);
    // RFC 2046 §5.1.1: "--" after the last delimiter.
    if (part.starts_with("--")) {
      add({{}, {}, 2, part.size() - 2}, begin);
    } else {
      add(read_part(part), begin);
    }
  }
  return parts;
}

}  // namespace journal
