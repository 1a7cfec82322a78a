// What `cgibridge status` shows, as a table for people to read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace admin {

// status: as status_json() made it, perhaps with add_memory(). Throws json's exception if another
// version made it and something is missing.
std::string status_table(const nlohmann::json& status);

// Why a program of such a status is not warm, or not as warm as it could be: what the table says
// below its row, in printable text. Throws as well.
std::vector<std::string> reasons_of(const nlohmann::json& program);

}  // namespace admin
