#include "base/keyed_hash.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace base {

std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

std::uint64_t drawn_number() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) == 0) return number;
  std::random_device device;
  return std::uint64_t(device()) << 32 | device();
}

std::size_t KeyedHash::operator()(std::string_view text) const {
  static const std::uint64_t key = drawn_number();
  std::uint64_t hash = mixed(key ^ text.size());
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t size = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), size);
    text.remove_prefix(size);
    hash = mixed(hash ^ word);
  }
  return hash;
}

}  // namespace base
