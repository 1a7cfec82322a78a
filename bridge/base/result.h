// The outcome of something that can fail for outside reasons: a value, or an Error that says why.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace base {

// Why something failed, as a sentence for a log: what failed, on what, why.
struct Error {
  std::string message;
};

// Holds a T or an Error. Asking for the one that it does not hold is a programmer error and aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

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

  const Error& error() const {
    BRIDGE_ASSERT(!ok());
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

// The value of something that returns nothing when it succeeds.
struct Done {};
using Status = Result<Done>;

}  // namespace base
