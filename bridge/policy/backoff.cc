#include "policy/backoff.h"

namespace policy {

base::Duration Backoff::failed() {
  failures_ += 1;
  if (failures_ <= at_once_) return base::Duration::zero();
  base::Duration pause = first_;
  for (unsigned i = at_once_ + 1; i < failures_ && pause < most_; ++i) pause *= 2;
  return pause < most_ ? pause : most_;
}

}  // namespace policy
