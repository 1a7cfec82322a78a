// Which source line a Python function is at.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace stacks {

// table: co_linetable of CPython 3.11 and newer (Objects/locations.md there); first_line:
// co_firstlineno; unit: how many code units precede the one being run. None: the code has no line
// there, or the table ends before it. A program may have written anything there.
std::optional<std::int64_t> python_line(std::span<const std::uint8_t> table,
                                        std::int64_t first_line, std::uint64_t unit);

}  // namespace stacks
