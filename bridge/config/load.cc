#include "config/load.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/assert.h"
#include "config/rules.h"
#include "config/section.h"
#include "config/toml_text.h"

namespace config {
namespace {

constexpr std::size_t kFileMax = 1 * base::kMiB;

class Reading {
 public:
  Reading(const toml::value& root, const std::string& file_name)
      : root_(root), problems_(file_name) {}

  LoadOutcome run() {
    check_section_names();
    read_bridge();
    read_defaults();
    read_programs();
    if (!problems_.empty()) return LoadOutcome(problems_.take());
    return LoadOutcome(std::move(settings_));
  }

 private:
  const toml::value* find(const std::string& name) const {
    const toml::table& table = root_.as_table(std::nothrow);
    auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
  }

  void check_section_names() {
    static const std::vector<std::string> known = {"bridge", "defaults", "program"};
    for (const auto& [key, value] : root_.as_table(std::nothrow)) {
      if (std::ranges::find(known, key) != known.end()) continue;
      problems_.add_at_key(value, key, shown_key(key), "is no section" + hint(key, known));
    }
  }

  void read_bridge() {
    const toml::value* table = find("bridge");
    Section section(table == nullptr ? root_ : *table, "bridge", problems_);
    if (table != nullptr) section.read(Section::slots(bridge_fields(), settings_.bridge));
    check_bridge(section, settings_.bridge);
  }

  void read_defaults() {
    const toml::value* table = find("defaults");
    if (table == nullptr) return;
    Section section(*table, "defaults", problems_);
    section.read(Section::slots(defaults_fields(), settings_.defaults));
    check_program(section, settings_.defaults);
  }

  void read_programs() {
    const toml::value* list = find("program");
    if (list == nullptr) return;
    if (!list->is_array()) {
      return problems_.add(*list, "program", "is " + describe_type(*list) + ": write [[program]]");
    }
    for (const toml::value& table : list->as_array(std::nothrow)) read_program(table);
  }

  void read_program(const toml::value& table) {
    ProgramSettings program = settings_.defaults;
    std::string number = std::to_string(settings_.programs.size() + 1);
    Section section(table, "program[" + number + ']', problems_);
    section.read(Section::slots(program_fields(), program));
    if (table.is_table()) {
      check_program(section, program);
      check_naming(section, program, settings_.programs);
    }
    settings_.programs.push_back(std::move(program));
  }

  const toml::value& root_;
  Problems problems_;
  Settings settings_;
};

LoadOutcome failure(const std::string& file_name, std::string message) {
  return LoadOutcome(std::vector<Problem>{{file_name, 0, 0, "", std::move(message)}});
}

}  // namespace

std::string to_string(const Problem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) {
    text += ':' + std::to_string(problem.line) + ':' + std::to_string(problem.column);
  }
  text += ": ";
  if (!problem.path.empty()) text += problem.path + ": ";
  return text + problem.message;
}

const Settings& LoadOutcome::settings() const {
  BRIDGE_ASSERT(ok());
  return std::get<0>(state_);
}

Settings LoadOutcome::take() {
  BRIDGE_ASSERT(ok());
  return std::move(std::get<0>(state_));
}

const std::vector<Problem>& LoadOutcome::problems() const {
  BRIDGE_ASSERT(!ok());
  return std::get<1>(state_);
}

LoadOutcome load_file(const std::string& path) {
  std::error_code error;
  auto status = std::filesystem::status(path, error);
  if (error) return failure(path, "cannot be read: " + error.message());
  if (!std::filesystem::is_regular_file(status)) return failure(path, "is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(path, std::string("cannot be read: ") + std::strerror(errno));
  std::string text(kFileMax + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (file.bad()) return failure(path, "cannot be read to its end");
  text.resize(std::size_t(file.gcount()));
  return parse(text, path);
}

LoadOutcome parse(std::string_view text, const std::string& file_name) {
  if (text.size() > kFileMax) return failure(file_name, "is longer than 1 MiB");
  try {
    auto document = read_toml(text, file_name);
    if (auto* problem = std::get_if<Problem>(&document)) {
      return LoadOutcome(std::vector<Problem>{std::move(*problem)});
    }
    return Reading(std::get<toml::value>(document), file_name).run();
  } catch (const std::exception& error) {
    return failure(file_name, std::string("cannot be understood: ") + error.what());
  }
}

}  // namespace config
