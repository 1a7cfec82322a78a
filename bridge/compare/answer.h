// The parts of a program's answer that are compared.
#pragma once

#include <cstdint>
#include <string>

#include "compare/namespace.h"

namespace compare {

struct Answer {
  int status = 0;    // 0: no proper head
  std::string head;  // "Name: value\n" for each field except Status, in order
  std::string body;
  std::uint32_t exit_code = 0;
  std::string ended_by;  // "killed by signal 11"; empty: by itself
};

}  // namespace compare
