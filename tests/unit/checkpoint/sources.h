// Whether the code for which a model's actions stand is still there: if it has changed, the model
// is to be looked at again.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "explorer.h"

namespace model {

// With each run of white space as one space.
inline std::string in_one_line(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string line, word;
  while (words >> word) line += (line.empty() ? "" : " ") + word;
  return line;
}

// From the line that begins its definition to the brace in the first column; or nothing.
inline std::string text_of_function(const std::string& source, std::string_view function) {
  const std::string name = std::string(function) + "(";
  for (std::size_t at = source.find(name); at != std::string::npos;
       at = source.find(name, at + 1)) {
    std::size_t line = source.rfind('\n', at) + 1, brace = source.find('{', at);
    bool is_definition = source[line] != ' ' && source.find(';', at) > brace;
    if (is_definition) return source.substr(line, source.find("\n}\n", at) - line);
  }
  return {};
}

inline void expect_in_sources(const Found& found) {
  testing::Test::RecordProperty("states", static_cast<int>(found.states));
  for (const Step* step : found.steps) {
    if (step->file.empty()) continue;
    std::ifstream file(std::string(CGIBRIDGE_CHECKPOINT_SOURCES "/") + std::string(step->file));
    std::stringstream source;
    source << file.rdbuf();
    std::string text = in_one_line(text_of_function(source.str(), step->function));
    EXPECT_NE(text.find(in_one_line(step->code)), std::string::npos)
        << step->file << ": " << step->function << "() has no \"" << step->code << "\", which is \""
        << step->what << "\" in the model";
  }
}

inline void expect_no_fault(const Found& found) {
  EXPECT_EQ(found.fault, "") << found.path;
  expect_in_sources(found);
}

}  // namespace model
