// Why the bridge itself answers a request instead of a program.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace cgi {

// status is the HTTP status of the answer; reason is a sentence for the log, never for the client,
// because it may name paths.
struct Refusal {
  int status;
  std::string reason;
};

// Holds a T, or the refusal in its place. Asking for the one that it does not hold is a programmer
// error and aborts.
template <typename T>
class [[nodiscard]] OrRefusal {
 public:
  OrRefusal(T value) : state_(std::in_place_index<0>, std::move(value)) {}            // NOLINT
  OrRefusal(Refusal refusal) : state_(std::in_place_index<1>, std::move(refusal)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() {
    BRIDGE_ASSERT(ok());
    return std::get<0>(state_);
  }
  const T& value() const {
    BRIDGE_ASSERT(ok());
    return std::get<0>(state_);
  }
  T take() { return std::move(value()); }

  const Refusal& refusal() const {
    BRIDGE_ASSERT(!ok());
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Refusal> state_;
};

}  // namespace cgi
