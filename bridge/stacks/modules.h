// The files that a program has mapped: their symbols and, with these, the program's native stack.
#pragma once

#include <elfutils/libdwfl.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "stacks/stopped_program.h"

namespace stacks {

// Uses libdw. Made before the program is stopped, because reading symbols is most of the work.
class Modules {
 public:
  // Looks for these symbols.
  static base::Result<Modules> of(pid_t pid, const std::vector<std::string_view>& names);

  // Where the symbol is in the program's memory.
  std::optional<Address> symbol(std::string_view name) const;

  // The frames of the program's first thread, innermost first, as "function (file:line)" or
  // "function (module)". The program must be stopped.
  std::vector<std::string> frames(pid_t pid) const;

 private:
  struct End {
    void operator()(Dwfl* dwfl) const { ::dwfl_end(dwfl); }
  };
  explicit Modules(Dwfl* dwfl) : dwfl_(dwfl) {}

  std::unique_ptr<Dwfl, End> dwfl_;
  std::unordered_map<std::string_view, Address> symbols_;  // the names are the caller's constants
};

}  // namespace stacks
