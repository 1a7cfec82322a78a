// BRIDGE_ASSERT: a programmer's error ends the daemon at the place it is noticed, in release
// builds as well. Never for what the world or a peer can cause.
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
