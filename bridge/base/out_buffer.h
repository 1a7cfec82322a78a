// Bytes on their way out: written at the end, sent from the front.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "base/assert.h"
#include "base/bytes.h"

namespace base {

// Grows as it must and never shrinks below what it holds; how much it may hold is its user's limit.
// Room that room() gives can be filled by read(2) itself, so bytes are copied only by the kernel.
class OutBuffer {
 public:
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  ByteView bytes() const { return {data_.get() + begin_, size()}; }

  // At least count writable bytes behind the last one; valid until the next call of any kind.
  char* room(std::size_t count);

  // The first count bytes of the room are part of the buffer now.
  void commit(std::size_t count) {
    BRIDGE_ASSERT(count <= capacity_ - end_);
    end_ += count;
  }

  void append(ByteView more) {
    if (more.empty()) return;
    std::memcpy(room(more.size()), more.data(), more.size());
    commit(more.size());
  }

  // The first count bytes are gone.
  void consume(std::size_t count);

 private:
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace base
