#include "base/address_block.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace base {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

// RFC 4291 §2.5.5.2
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned kMappedBits = 96;

bool is_ipv4(const Bytes& bytes) {
  return std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
}

std::optional<Bytes> parse_address(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  std::string terminated(text);
  Bytes bytes{};
  if (text.find(':') != std::string_view::npos) {
    if (::inet_pton(AF_INET6, terminated.c_str(), bytes.data()) != 1) return std::nullopt;
    return bytes;
  }
  std::copy(kMapped.begin(), kMapped.end(), bytes.begin());
  if (::inet_pton(AF_INET, terminated.c_str(), bytes.data() + kMapped.size()) != 1) {
    return std::nullopt;
  }
  return bytes;
}

std::optional<unsigned> parse_prefix(std::string_view digits, unsigned most) {
  unsigned bits = 0;
  const char* end = digits.data() + digits.size();
  auto [rest, failure] = std::from_chars(digits.data(), end, bits);
  bool padded = digits.size() > 1 && digits.front() == '0';
  if (failure != std::errc() || rest != end || padded || bits > most) return std::nullopt;
  return bits;
}

// Mask of the bits in the i-th byte that the prefix covers.
std::uint8_t covered(unsigned prefix_bits, std::size_t i) {
  unsigned before = unsigned(i) * 8;
  if (prefix_bits >= before + 8) return 0xff;
  if (prefix_bits <= before) return 0;
  return std::uint8_t(0xff << (before + 8 - prefix_bits));
}

Error bad(std::string_view text, const std::string& why) {
  return Error{'"' + std::string(text) + "\" " + why};
}

}  // namespace

Result<AddressBlock> AddressBlock::parse(std::string_view text) {
  AddressBlock block;
  if (text == "unix") {
    block.unix_peer_ = true;
    return block;
  }
  std::size_t slash = text.find('/');
  std::string_view address = text.substr(0, slash);
  auto bytes = parse_address(address);
  if (!bytes) return bad(text, "is no address like 127.0.0.1, ::1, 10.0.0.0/8, fd00::/8, or unix");
  block.bytes_ = *bytes;
  if (slash == std::string_view::npos) return block;

  bool dotted = address.find(':') == std::string_view::npos;
  unsigned most = dotted ? 32 : 128;
  auto bits = parse_prefix(text.substr(slash + 1), most);
  if (!bits) return bad(text, "has no prefix from 0 to " + std::to_string(most) + " after the /");
  block.prefix_bits_ = *bits + (dotted ? kMappedBits : 0);
  for (std::size_t i = 0; i < block.bytes_.size(); ++i) {
    if ((block.bytes_[i] & ~covered(block.prefix_bits_, i)) != 0) {
      return bad(text, "has bits of its address beyond the prefix");
    }
  }
  return block;
}

bool AddressBlock::contains(std::string_view address) const {
  if (address.empty() || address == "unix:") return unix_peer_;
  // Apache adds the zone to a link-local address (RFC 4007 §11).
  auto bytes = parse_address(address.substr(0, address.find('%')));
  if (unix_peer_ || !bytes) return false;
  if (is_ipv4(*bytes) && prefix_bits_ < kMappedBits) return false;  // ::/0 means IPv6 only
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (((bytes_[i] ^ (*bytes)[i]) & covered(prefix_bits_, i)) != 0) return false;
  }
  return true;
}

bool any_contains(const std::vector<std::string>& blocks, std::string_view address) {
  return std::any_of(blocks.begin(), blocks.end(), [address](const std::string& text) {
    auto block = AddressBlock::parse(text);
    return block && block.value().contains(address);
  });
}

}  // namespace base
