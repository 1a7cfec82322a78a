// A program's whole answer, as far as two of them are compared.
#pragma once

#include <cstdint>
#include <string>

#include "compare/namespace.h"

namespace compare {

struct Answer {
  int status = 0;    // 0: no proper head
  std::string head;  // "Name: value\n" for each field but Status, in the program's order
  std::string body;
  std::uint32_t exit_code = 0;
  std::string ended_by;  // "killed by signal 11"; empty: by itself
};

}  // namespace compare
