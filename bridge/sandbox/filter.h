// A filter of system calls, while it is being built with libseccomp.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace sandbox {

struct ReleaseFilter {
  void operator()(void* filter) const;
};
// A scmp_filter_ctx.
using Filter = std::unique_ptr<void, ReleaseFilter>;

// What the kernel is given: struct sock_filter..., as bytes.
base::Result<std::string> instructions_of(const Filter& filter);

}  // namespace sandbox
