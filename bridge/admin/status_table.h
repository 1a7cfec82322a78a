// What `cgibridge status` shows, as a table for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace admin {

// status: as status_json() made it, perhaps with add_memory().
std::string status_table(const nlohmann::json& status);

}  // namespace admin
