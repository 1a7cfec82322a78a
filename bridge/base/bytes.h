// Names for raw bytes. A ByteView is borrowed: the interface that gives it says how long it lasts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace base {

using ByteView = std::string_view;
using ByteString = std::string;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kGiB = 1024 * kMiB;

}  // namespace base
