// Hashes that nobody outside can foresee. A visitor chooses the names of header fields, and with
// std::hash, which is the same everywhere, could choose many thousands that share one slot of a
// hash table; each look-up would then go through all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace base {

// The finalizer of splitmix64: different numbers give different results.
std::uint64_t mixed(std::uint64_t number);

// From the kernel, another one at each call.
std::uint64_t drawn_number();

// With a key that is drawn once for this process.
struct KeyedHash {
  std::size_t operator()(std::string_view text) const;
};

}  // namespace base
