// Bytes on their way out: written at the end, sent from the front.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "base/assert.h"
#include "base/bytes.h"

namespace base {

// Grows as needed; its user limits how much it may hold. read(2) can write straight into the space
// that room() gives, so only the kernel copies bytes.
class OutBuffer {
 public:
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  ByteView bytes() const { return {data_.get() + begin_, size()}; }

  // At least count writable bytes after the last one; valid until the next call of any member.
  char* room(std::size_t count);

  // Makes the first count bytes of the room part of the buffer.
  void commit(std::size_t count) {
    BRIDGE_ASSERT(count <= capacity_ - end_);
    end_ += count;
    needed_ = size();
  }

  void append(ByteView more) {
    if (more.empty()) return;
    std::memcpy(room(more.size()), more.data(), more.size());
    commit(more.size());
  }

  // How many of the bytes, from the front, somebody needs: all of them, unless a smaller number was
  // set, which holds until more are appended.
  std::size_t needed() const { return needed_; }
  void need_only(std::size_t count) {
    BRIDGE_ASSERT(count <= needed_);
    needed_ = count;
  }

  // Removes the first count bytes.
  void consume(std::size_t count);

 private:
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t needed_ = 0;
};

}  // namespace base
