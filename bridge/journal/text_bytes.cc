#include "journal/text_bytes.h"

#include "base/utf8.h"

namespace journal {
namespace {

constexpr const char* kLatin1 = "latin1";

unsigned char byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

std::string from_latin1(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return text;
}

std::optional<std::string> to_latin1(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char first = byte_at(text, i);
    if (first < 0x80) {
      bytes += text[i];
      continue;
    }
    if ((first != 0xc2 && first != 0xc3) || i + 1 == text.size()) return std::nullopt;
    bytes += static_cast<char>((first & 3) << 6 | (byte_at(text, ++i) & 0x3f));
  }
  return bytes;
}

}  // namespace

bool is_text(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos &&
         base::find_not_utf8(bytes) == std::string_view::npos;
}

std::string shown_text(std::string_view bytes) {
  return is_text(bytes) ? std::string(bytes) : from_latin1(bytes);
}

nlohmann::json json_of_bytes(std::string_view bytes) {
  if (is_text(bytes)) return std::string(bytes);
  return {{kLatin1, from_latin1(bytes)}};
}

std::optional<std::string> bytes_of_json(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || !value.contains(kLatin1)) return std::nullopt;
  const nlohmann::json& text = value.at(kLatin1);
  return text.is_string() ? to_latin1(text.get<std::string>()) : std::nullopt;
}

}  // namespace journal
