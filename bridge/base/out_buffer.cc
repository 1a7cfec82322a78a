#include "base/out_buffer.h"

#include <algorithm>

namespace base {
namespace {
constexpr std::size_t kCapacityMin = 4 * kKiB;
// An empty buffer larger than this frees its memory.
constexpr std::size_t kCapacityKept = 160 * kKiB;
}  // namespace

char* OutBuffer::room(std::size_t count) {
  if (capacity_ - end_ >= count) return data_.get() + end_;
  if (begin_ > 0 && capacity_ - size() >= count) {
    std::memmove(data_.get(), data_.get() + begin_, size());
  } else {
    const std::size_t capacity = std::max({kCapacityMin, size() + count, size() * 2});
    // new char[] without (), so not zeroed: the bytes are about to be written.
    std::unique_ptr<char[]> data(new char[capacity]);
    if (!empty()) std::memcpy(data.get(), data_.get() + begin_, size());
    data_ = std::move(data);
    capacity_ = capacity;
  }
  end_ = size();
  begin_ = 0;
  return data_.get() + end_;
}

void OutBuffer::consume(std::size_t count) {
  BRIDGE_ASSERT(count <= size());
  begin_ += count;
  needed_ -= std::min(needed_, count);
  if (!empty()) return;
  begin_ = end_ = 0;
  if (capacity_ > kCapacityKept) {
    data_.reset();
    capacity_ = 0;
  }
}

}  // namespace base
