// How much memory a program's workers and its zygote take.
#pragma once

#include <nlohmann/json.hpp>

namespace admin {

// Adds to each program of a status what /proc says now: "memory" with "pss_kib" of all together,
// "zygote_kib", and "workers_kib", {"PID": KiB}. PSS: a page that several share counts for each by
// its part. What cannot be read (it has ended, or belongs to another user) is left out, and pss_kib
// is null if nothing could.
// Reading takes the kernel up to a millisecond a worker, so the command that shows a status does it
// and not the daemon.
void add_memory(nlohmann::json& status);

}  // namespace admin
