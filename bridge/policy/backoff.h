// How long to wait before what failed is tried again.
#pragma once

#include "base/clock.h"

namespace policy {

// Failures in a row double the pause, up to most; a success makes them forgotten.
class Backoff {
 public:
  // at_once: so many failures in a row are followed by another try without a pause.
  Backoff(base::Duration first, base::Duration most, unsigned at_once = 0)
      : first_(first), most_(most), at_once_(at_once) {}

  // It has failed: how long to wait now.
  base::Duration failed();
  void succeeded() { failures_ = 0; }

  unsigned failures() const { return failures_; }

 private:
  const base::Duration first_;
  const base::Duration most_;
  const unsigned at_once_;
  unsigned failures_ = 0;
};

}  // namespace policy
