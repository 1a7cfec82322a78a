// Reads one section of a settings file, [bridge], [defaults] or a [[program]], with the fields
// that it may have, and remembers which of them the file gave.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <toml.hpp>
#include <vector>

#include "config/fields.h"
#include "config/problems.h"

namespace config {

class Section {
 public:
  // A field with the struct that it fills; target outlives the Section's read().
  struct Slot {
    std::string_view name;
    std::function<void(const toml::value&, const Complain&)> read;
  };
  template <typename S>
  static std::vector<Slot> slots(const std::vector<Field<S>>& fields, S& target);

  // Refers to value and problems, which must outlive this. path begins every problem's path:
  // "program[2]".
  Section(const toml::value& value, std::string path, Problems& problems)
      : value_(value), path_(std::move(path)), problems_(problems) {}

  // Fills the slots that the section names. Unknown names and bad values become problems.
  void read(const std::vector<Slot>& slots);

  // Where the file gives name in this section, otherwise nullptr.
  const toml::value* given(std::string_view name) const;

  // Whether name was given and its value refused, so that nothing more is to be said about it.
  bool refused(std::string_view name) const { return refused_.contains(name); }

  // Reports a problem with a setting: at its value if it was given, otherwise at the section's
  // beginning.
  void complain(std::string_view name, std::string message);

 private:
  void read_table(const toml::value& table, const std::string& prefix,
                  const std::vector<Slot>& slots);
  void read_slot(const Slot& slot, const toml::value& value);

  const toml::value& value_;
  std::string path_;
  Problems& problems_;
  std::map<std::string, const toml::value*, std::less<>> given_;
  std::set<std::string, std::less<>> refused_;
};

template <typename S>
std::vector<Section::Slot> Section::slots(const std::vector<Field<S>>& fields, S& target) {
  std::vector<Slot> slots;
  for (const Field<S>& field : fields) {
    slots.push_back(
        {field.name, [&field, &target](const toml::value& value, const Complain& complain) {
           field.read(value, target, complain);
         }});
  }
  return slots;
}

}  // namespace config
