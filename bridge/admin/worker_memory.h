// How much memory a program's workers and its zygote take.
#pragma once

#include <nlohmann/json.hpp>

namespace admin {

// Adds to each program of a status what /proc says now: "memory" with "pss_kib" for all processes
// together, "zygote_kib", and "workers_kib", {"PID": KiB}. PSS: a page that several processes share
// counts in part for each of them. What cannot be read (the process has ended, or belongs to
// another user) is left out, and pss_kib is null if nothing could be read. Reading takes the kernel
// up to a millisecond per worker, so the command that shows a status does it, and not the daemon.
void add_memory(nlohmann::json& status);

}  // namespace admin
