// Edits of a file, and the difference that they make as a patch. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "migrate/place.h"

namespace migrate {

// text after these edits. Equal edits are made once; an edit that overlaps an earlier one is
// left out, and refused says how many were.
struct Edited {
  std::string text;
  std::size_t refused = 0;
};
Edited with_edits(std::string_view text, std::vector<Edit> edits);

// What patch(1) applies with -p1 in "/": a unified diff with three lines around each change, bytes
// unchanged. path: absolute. before: nullptr if the file is made by the patch. Empty if nothing
// differs.
std::string patch_of(std::string_view path, const std::string* before, std::string_view after);

// Why no patch can name this path; empty: one can.
std::string_view why_no_patch(std::string_view path);

}  // namespace migrate
