// Read before the first `namespace compare`, by every header of this room: fmt 9 calls its own
// compare() unqualified, in places where it would find a namespace of that name instead.
#pragma once

#include <fmt/format.h>
