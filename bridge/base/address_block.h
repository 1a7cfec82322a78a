// The addresses that a setting names: single ones and blocks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace base {

// One IPv4 or IPv6 address ("127.0.0.1", "::1") or block ("10.0.0.0/8", RFC 4632; "fd00::/8", RFC
// 4291 §2.3), or "unix": a peer without an address (REMOTE_ADDR is empty, or "unix:", which nginx
// sends for a unix socket). An IPv4 address mapped into IPv6 (RFC 4291 §2.5.5.2) is the IPv4
// address.
class AddressBlock {
 public:
  // The error begins with the text. The address bits after the prefix must be 0.
  static Result<AddressBlock> parse(std::string_view text);

  // Whether address, written as in REMOTE_ADDR, is in the block. Text that is not an address is in
  // no block. An IPv6 block with a prefix under 96 bits ("::/0") contains no IPv4 address.
  bool contains(std::string_view address) const;

 private:
  bool unix_peer_ = false;
  std::array<std::uint8_t, 16> bytes_{};
  unsigned prefix_bits_ = 128;
};

// Whether one of the blocks contains address. Texts that are not valid blocks contain nothing.
bool any_contains(const std::vector<std::string>& blocks, std::string_view address);

}  // namespace base
