// How much of an answer's body is passed on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/bytes.h"

namespace gateway {

// No more than its Content-Length says. mod_fcgid and mod_cgi send both to the client as they are,
// so what follows would be the beginning of the connection's next answer: a program that counts
// characters instead of bytes would let a visitor's words forge it.
class BodyMeasure {
 public:
  void announce(std::optional<std::uint64_t> length) { announced_ = length; }

  std::uint64_t left() const {
    if (!announced_) return std::numeric_limits<std::uint64_t>::max();
    return *announced_ - std::min(*announced_, passed_);
  }

  // The part of bytes that is passed on, from now on.
  base::ByteView take(base::ByteView bytes) {
    const base::ByteView taken = bytes.substr(0, left());
    passed_ += taken.size();
    is_cut_ |= taken.size() < bytes.size();
    return taken;
  }

  bool is_whole() const { return left() == 0; }
  bool is_cut() const { return is_cut_; }

 private:
  std::optional<std::uint64_t> announced_;
  std::uint64_t passed_ = 0;
  bool is_cut_ = false;
};

}  // namespace gateway
