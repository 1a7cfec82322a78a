// What a request leads to.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cgi/environment.h"
#include "compare/arm.h"
#include "config/settings.h"

namespace gateway {

// A program, and what it is given. Filled from the request's params; if they lead to no program,
// only the first fields are filled.
struct Target {
  std::shared_ptr<const config::Settings> keep_alive;  // keeps settings alive
  const config::ProgramSettings* settings = nullptr;
  std::string program;  // its path; empty: there is none
  cgi::Environment environment;
  bool has_chunked_body = false;  // perhaps: its length is known only at its end
  std::vector<std::string> query_words;
  compare::Side side = compare::Side::persistent;

  // Its name in the log: "program=/usr/lib/cgi-bin/a.pl".
  std::string subject() const { return program.empty() ? "request" : "program=" + program; }

  void add_variable(std::string_view name, std::string_view value) {
    environment.block.append(name).append("=").append(value).push_back('\0');
    environment.count += 1;
  }
};

}  // namespace gateway
