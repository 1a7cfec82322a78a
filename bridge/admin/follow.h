// The command `follow`: what became of one request that an operator sends with a marker.
#pragma once

#include <nlohmann/json.hpp>

#include "admin/control_server.h"
#include "journal/followers.h"

namespace admin {

// {"command": "follow", "marker": "..."}. After the answer the client gets two more lines, when the
// request that brings the marker begins and when it has ended: began_json() and ended_json().
// It follows until its connection ends.
nlohmann::json follow(journal::Followers& followers, const nlohmann::json& arguments,
                      ControlClient& client);

// What the web server sent: {"event": "began", "id": ..., "params": {...}}, with the params that
// say which program is meant.
nlohmann::json began_json(const journal::Entry& entry);
// What became of it: {"event": "ended", "status": ..., "program": ..., "arm": ..., "why": ...}.
nlohmann::json ended_json(const journal::Entry& entry);

}  // namespace admin
