#include "journal/request_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "journal/secrets.h"

namespace journal {
namespace {

bool is_id(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return !text.empty() && text.size() <= RequestName::kIdBytesMax &&
         text.find_first_not_of(kLetters) == text.npos;
}

// The finalizer of splitmix64: different numbers give different results.
std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

std::uint64_t draw() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) == 0) return number;
  std::random_device device;
  return std::uint64_t(device()) << 32 | device();
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

RequestNames::RequestNames() : first_key_(draw()), second_key_(draw()) {}

std::string RequestNames::make_id() {
  ++count_;
  return fmt::format("{:016x}{:016x}", mixed(first_key_ + count_), mixed(second_key_ + count_));
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
