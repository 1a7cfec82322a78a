// The parts of a program's answer that are compared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compare/namespace.h"

namespace compare {

struct Answer {
  int status = 0;    // 0: no proper head
  std::string head;  // "Name: value\n" for each field except Status, as sorted() has them
  std::string body;
  std::uint32_t exit_code = 0;
  std::string ended_by;  // "killed by signal 11"; empty: it ended by itself
};

// The fields ("Name: value\n" each) in the order of their names: the order of different ones means
// nothing (RFC 9110 §5.3), and programs that keep them in a hash change it each time. Fields of one
// name stay as the program ordered them.
std::string sorted(std::string_view fields);

}  // namespace compare
