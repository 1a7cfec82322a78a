// Collects what is wrong with one file, with the place of each.
#pragma once

#include <string>
#include <toml.hpp>
#include <vector>

#include "config/load.h"

namespace config {

class Problems {
 public:
  explicit Problems(std::string file_name) : file_name_(std::move(file_name)) {}

  // Reports a problem where value begins.
  void add(const toml::value& value, std::string path, std::string message);

  // Reports a problem where the key of value is.
  void add_at_key(const toml::value& value, const std::string& key, std::string path,
                  std::string message);

  bool empty() const { return problems_.empty(); }

  // All of them in the order of the file; leaves this empty.
  std::vector<Problem> take();

 private:
  std::string file_name_;
  std::vector<Problem> problems_;
};

// ", did you mean "max"?" if one of names is similar to the wrong one, otherwise empty.
std::string hint(const std::string& wrong, const std::vector<std::string>& names);

}  // namespace config
