// BRIDGE_ASSERT: a programmer error aborts the daemon where it is noticed, in release builds too.
// Never used for anything that the outside world or a peer can cause.
#pragma once

#include <cstdio>
#include <cstdlib>

#define BRIDGE_ASSERT(condition)                                                             \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      std::fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
