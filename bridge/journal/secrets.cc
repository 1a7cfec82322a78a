#include "journal/secrets.h"

#include <algorithm>
#include <array>

#include "cgi/percent.h"
#include "journal/secret_fields.h"

namespace journal {
namespace {

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// Looked for in a name as plain() returns it. "auth" alone would match every author; "sessi" also
// matches PHPSESSID.
constexpr std::array<std::string_view, 17> kInside = {
    "passw",      "passphrase", "passcode",   "pwd",           "secret",        "token",
    "apikey",     "accesskey",  "privatekey", "authorization", "credential",    "sessi",
    "cardnumber", "csrf",       "creditcard", "debitcard",     "socialsecurity"};
constexpr std::array<std::string_view, 13> kWhole = {
    "auth", "pass", "pin", "sid", "pw", "key", "code", "cvc", "cvv", "otp", "iban", "ssn", "cvv2"};
// How CGI writes a header's name.
constexpr std::string_view kHeader = "http";

// Position and length of a part of a text.
using Part = std::pair<std::size_t, std::size_t>;

void mask(std::string& text, Part part, char with = 'x') {
  std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(part.first), part.second, with);
}

// Calls seen(name, value's part) for each NAME=VALUE; separators: those between the pairs.
template <typename Seen>
void for_each_pair(const std::string& text, std::size_t begin, std::string_view separators,
                   const Seen& seen) {
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    const std::size_t equals = text.find('=', begin);
    if (equals < end) {
      const std::size_t name_begin = std::min(text.find_first_not_of(' ', begin), equals);
      seen(std::string_view(text).substr(name_begin, equals - name_begin),
           Part{equals + 1, end - equals - 1});
    }
    begin = end + 1;
  }
}

bool is_header(std::string_view plain_name, std::string_view header) {
  return plain_name.ends_with(header) &&
         plain_name.find(kHeader) != plain_name.npos;  // HTTP_..., REDIRECT_HTTP_...
}

}  // namespace

Secrets::Secrets(const std::vector<std::string>& more) {
  for (const std::string& name : more) more_.push_back(plain(name));
}

bool Secrets::is_secret(std::string_view name) const {
  std::string word = plain(name);
  const auto inside = [&word](std::string_view part) { return word.find(part) != word.npos; };
  if (std::any_of(kInside.begin(), kInside.end(), inside)) return true;
  // What a form wraps around its fields: user[pass].
  while (!word.empty() && word.back() == ']') word.pop_back();
  const auto ends = [&word](std::string_view whole) {
    if (!word.ends_with(whole)) return false;
    return word.size() == whole.size() || word[word.size() - whole.size() - 1] == '[';
  };
  if (std::any_of(kWhole.begin(), kWhole.end(), ends)) return true;
  if (word.ends_with("authpw")) return true;  // PHP_AUTH_PW
  return std::any_of(more_.begin(), more_.end(), [&](const std::string& own) {
    return ends(own) || word == std::string(kHeader) + own;
  });
}

Secrets::Masked Secrets::mask_query(std::string& query) const {
  Masked masked;
  std::vector<Part> parts;
  for_each_pair(query, 0, "&;", [&](std::string_view name, Part value) {
    const std::string decoded = cgi::percent_decode(name).value_or(std::string(name));
    if (value.second == 0 || !is_secret(decoded)) return;
    masked.push_back(decoded);
    parts.push_back(value);
  });
  for (const Part& part : parts) mask(query, part);
  return masked;
}

Secrets::Masked Secrets::mask_url(std::string& url) const {
  const std::size_t question = url.find('?');
  if (question == url.npos) return {};
  std::string query = url.substr(question + 1);
  Masked masked = mask_query(query);
  url.replace(question + 1, url.npos, query);
  return masked;
}

Secrets::Masked Secrets::mask_params(Params& params) const {
  Masked masked;
  for (auto& [name, value] : params) {
    const std::string word = plain(name);
    if (value.empty()) continue;
    if (is_header(word, "cookie") || is_header(word, "cookie2")) {
      std::vector<Part> parts;
      for_each_pair(value, 0, ";,", [&](std::string_view, Part part) { parts.push_back(part); });
      if (parts.empty()) parts.emplace_back(0, value.size());
      for (const Part& part : parts) mask(value, part);
      masked.push_back(name);
    } else if (word.ends_with("querystring")) {
      for (const std::string& field : mask_query(value)) masked.push_back(name + ":" + field);
    } else if (is_secret(name)) {
      // "Basic", "Bearer": the scheme says how it was meant.
      const bool scheme = is_header(word, "authorization");
      const std::size_t blank = scheme ? value.find(' ') : value.npos;
      const std::size_t begin = blank == value.npos ? 0 : blank + 1;
      mask(value, {begin, value.size() - begin});
      masked.push_back(name);
    } else {
      for (const std::string& field : mask_url(value)) masked.push_back(name + ":" + field);
    }
  }
  return masked;
}

Secrets::Masked Secrets::mask_body(std::string& body, std::string_view content_type) const {
  Masked masked;
  if (const std::string boundary = multipart_boundary(content_type); !boundary.empty()) {
    for (const Field& field : multipart_fields(body, boundary)) {
      if (field.length == 0 || !is_secret(field.name)) continue;
      mask(body, {field.begin, field.length});
      masked.push_back(field.name);
    }
  } else if (content_type.find("json") != content_type.npos) {
    const auto wanted = [this](std::string_view name) { return is_secret(name); };
    for (const Field& field : json_fields(body, wanted)) {
      const bool is_text = field.begin > 0 && body[field.begin - 1] == '"';
      mask(body, {field.begin, field.length}, is_text ? 'x' : '1');
      masked.push_back(field.name);
    }
  } else {
    masked = mask_query(body);
  }
  return masked;
}

}  // namespace journal
