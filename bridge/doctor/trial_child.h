// Tries something in a process of its own, which may lose rights, be killed or hang.
#pragma once

#include <functional>

#include "base/clock.h"
#include "doctor/observations.h"

namespace doctor {

// A trial's outcome at a step that failed, with errno.
Trial failed_at(const char* step);

// What act returned in a child, which is killed after patience.
Trial in_child(const std::function<Trial()>& act, base::Duration patience);

// For use in a child: takes on that user, and none of the former rights.
Trial become(const Who& who);

}  // namespace doctor
