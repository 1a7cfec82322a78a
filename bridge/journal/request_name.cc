#include "journal/request_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/keyed_hash.h"
#include "journal/secrets.h"

namespace journal {
namespace {

bool is_id(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return !text.empty() && text.size() <= RequestName::kIdBytesMax &&
         text.find_first_not_of(kLetters) == text.npos;
}

}  // namespace

std::string log_word(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out.empty() ? "-" : out;
}

std::string id_and_client(const RequestName& name) {
  return fmt::format("id={} client={}", name.id, log_word(name.client));
}

std::string text_of(const RequestName& name, const Secrets& secrets) {
  std::string uri = name.uri;
  (void)secrets.mask_text(uri);
  std::string text = id_and_client(name) + " uri=" + log_word(uri);
  if (name.uri_bytes > uri.size()) text += fmt::format("...({}_bytes)", name.uri_bytes);
  return text;
}

RequestNames::RequestNames()
    : first_key_(base::drawn_number()), second_key_(base::drawn_number()) {}

std::string RequestNames::make_id() {
  ++count_;
  return fmt::format("{:016x}{:016x}", base::mixed(first_key_ + count_),
                     base::mixed(second_key_ + count_));
}

RequestName RequestNames::of(const cgi::Variables& variables) {
  RequestName name;
  for (const std::string_view param : {"REQUEST_ID", "UNIQUE_ID"}) {
    const std::string_view sent = cgi::value_or_empty(variables, param);
    if (name.id.empty() && is_id(sent)) name.id = sent;
  }
  if (name.id.empty()) name.id = make_id();
  name.client =
      cgi::value_or_empty(variables, "REMOTE_ADDR").substr(0, RequestName::kClientBytesMax);
  const std::string_view uri = cgi::value_or_empty(variables, "REQUEST_URI");
  name.uri_bytes = uri.size();
  name.uri = uri.substr(0, RequestName::kUriBytesMax);
  return name;
}

}  // namespace journal
