#include "loop/without_rings.h"

#include <uv.h>

#include "base/assert.h"

namespace loop {

namespace {

constexpr const char* kVariable = "UV_USE_IO_URING";

std::optional<std::string> value_of(const char* name) {
  std::string value(1, '\0');
  std::size_t size = value.size();
  int result = uv_os_getenv(name, value.data(), &size);
  if (result == UV_ENOBUFS) {
    value.resize(size);  // now with the NUL
    result = uv_os_getenv(name, value.data(), &size);
  }
  if (result != 0) return std::nullopt;
  value.resize(size);
  return value;
}

}  // namespace

WithoutRings::WithoutRings() : before_(value_of(kVariable)) {
  BRIDGE_ASSERT(uv_os_setenv(kVariable, "0") == 0);
}

WithoutRings::~WithoutRings() {
  if (before_) {
    uv_os_setenv(kVariable, before_->c_str());
  } else {
    uv_os_unsetenv(kVariable);
  }
}

}  // namespace loop
