#include "journal/secrets.h"

#include <algorithm>
#include <array>

#include "cgi/header_field.h"
#include "journal/secret_fields.h"
#include "journal/secret_text.h"

namespace journal {
namespace {

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

char lower(char c) {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || is_upper(c) || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Letters and digits alone; but "[" stays, because it begins a name in user[pass].
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (is_plain(c) || c == '[') out += lower(c);
  }
  while (out.ends_with('[')) out.pop_back();  // of user[pass][]
  return out;
}

// Looked for in a name as plain() returns it. "auth" alone would match every author; "sessi" also
// matches PHPSESSID.
constexpr std::array<std::string_view, 18> kInside = {
    "passw",      "passphrase", "passcode",   "pwd",           "secret",         "token",
    "apikey",     "accesskey",  "privatekey", "authorization", "credential",     "sessi",
    "cardnumber", "csrf",       "creditcard", "debitcard",     "socialsecurity", "authdigest"};
constexpr std::array<std::string_view, 3> kWhole = {"auth", "key", "code"};
// Also as a word of a name: user_pass, newPin2.
constexpr std::array<std::string_view, 9> kWords = {"pass", "pin", "sid",  "pw", "cvc",
                                                    "cvv",  "otp", "iban", "ssn"};
// How CGI writes a header's name.
constexpr std::string_view kHeader = "http";

// Schemes of Authorization (IANA's registry, and what is in use): they say how to read the rest.
constexpr std::array<std::string_view, 16> kSchemes = {
    "Basic", "Bearer",          "Digest",    "DPoP",        "GNAP",          "HOBA",  "Mutual",
    "NTLM",  "OAuth",           "Negotiate", "SCRAM-SHA-1", "SCRAM-SHA-256", "Token", "ApiKey",
    "Hawk",  "AWS4-HMAC-SHA256"};

// Whether some word of the name is one of kWords. Words end where no letter or digit is, at a
// digit, and before a capital after a small letter.
bool has_secret_word(std::string_view name) {
  std::string word;
  const auto is_secret = [&word] { return std::ranges::find(kWords, word) != kWords.end(); };
  char before = '\0';
  for (const char c : name) {
    const bool is_letter = is_plain(c) && !(c >= '0' && c <= '9');
    if (!is_letter || (is_upper(c) && !is_upper(before))) {
      if (is_secret()) return true;
      word.clear();
    }
    if (is_letter) word += lower(c);
    before = c;
  }
  return is_secret();
}

void mask(std::string& text, const Field& field) {
  std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(field.begin), field.length, field.with);
}

bool is_header(std::string_view plain_name, std::string_view header) {
  return plain_name.ends_with(header) &&
         plain_name.find(kHeader) != plain_name.npos;  // HTTP_..., REDIRECT_HTTP_...
}

// Where an authorization's secret begins: after a scheme that is known.
std::size_t after_scheme(std::string_view value) {
  const std::string_view scheme = value.substr(0, value.find(' '));
  const bool known = std::ranges::any_of(
      kSchemes, [scheme](std::string_view one) { return cgi::same_name(one, scheme); });
  return known && scheme.size() < value.size() ? scheme.size() + 1 : 0;
}

// Keeps the names of NAME=VALUE (RFC 6265 §4.1.1), but masks all of what has no proper name.
void mask_cookies(std::string& value) {
  for (std::size_t at = 0; at < value.size();) {
    at = std::min(value.find_first_not_of(" \t;", at), value.size());
    const std::size_t name_end = std::min(value.find_first_of("= \t;,\"", at), value.size());
    const bool has_name = name_end > at && name_end < value.size() && value[name_end] == '=';
    const std::size_t begin = has_name ? name_end + 1 : at;
    std::size_t end = value.find(';', begin);
    // A value in quotes may contain the separator.
    if (begin < value.size() && value[begin] == '"') {
      const std::size_t quote = value.find('"', begin + 1);
      end = quote == value.npos ? value.npos : value.find(';', quote);
    }
    end = std::min(end, value.size());
    mask(value, {{}, begin, end - begin});
    at = end;
  }
}

}  // namespace

Secrets::Secrets(const std::vector<std::string>& more) {
  for (const std::string& name : more) more_.push_back(plain(name));
}

bool Secrets::is_secret(std::string_view name) const {
  const std::string word = plain(name);
  const auto inside = [&word](std::string_view part) { return word.find(part) != word.npos; };
  if (std::ranges::any_of(kInside, inside) || has_secret_word(name)) return true;
  // The word alone, or as a form or a header wraps it: user[key], HTTP_KEY, HTTP_X_KEY.
  const auto ends = [&word](std::string_view whole) {
    if (!word.ends_with(whole)) return false;
    const std::string_view before = std::string_view(word).substr(0, word.size() - whole.size());
    return before.empty() || before.ends_with('[') || before == kHeader || before == "httpx";
  };
  return std::ranges::any_of(kWhole, ends) || std::ranges::any_of(more_, ends);
}

Secrets::Masked Secrets::mask_fields(std::string& text, const std::vector<Field>& fields) const {
  Masked masked;
  for (const Field& field : fields) {
    mask(text, field);
    masked.push_back(field.name);
  }
  return masked;
}

Secrets::Masked Secrets::mask_text(std::string& text) const {
  return mask_fields(text, text_fields(text, wanted()));
}

Secrets::Masked Secrets::mask_body(std::string& body, std::string_view content_type) const {
  return mask_fields(body, secret_fields(body, content_type, wanted()));
}

Secrets::Masked Secrets::mask_params(Params& params) const {
  Masked masked;
  for (auto& [name, value] : params) {
    const std::string word = plain(name);
    if (value.empty()) continue;
    if (is_header(word, "cookie") || is_header(word, "cookie2")) {
      mask_cookies(value);
      masked.push_back(name);
    } else if (is_secret(name)) {
      const std::size_t begin = is_header(word, "authorization") ? after_scheme(value) : 0;
      mask(value, {{}, begin, value.size() - begin});
      masked.push_back(name);
    } else {
      for (const std::string& field : mask_text(value)) masked.push_back(name + ":" + field);
    }
  }
  return masked;
}

}  // namespace journal
