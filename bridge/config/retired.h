// Settings that a file may still name because earlier versions had them.
#pragma once

#include <string_view>

namespace config {

// What the bridge does now instead, as the end of a sentence that says that `name` ("workers.kind",
// without its section) is no setting any more. Empty: it never was one.
std::string_view what_replaced(std::string_view name);

}  // namespace config
