// What `cgibridge status` shows, as a table for people to read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace admin {

// status: as status_json() made it, perhaps with add_memory(). Throws json's exception if another
// version made it and something is missing.
std::string status_table(const nlohmann::json& status);

}  // namespace admin
