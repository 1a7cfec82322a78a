#include "config/section.h"

#include <algorithm>

#include "config/retired.h"

namespace config {
namespace {

// The names that are allowed directly below prefix: "min", "max" below "workers.".
std::vector<std::string> names_below(const std::string& prefix,
                                     const std::vector<Section::Slot>& slots) {
  std::vector<std::string> names;
  for (const Section::Slot& slot : slots) {
    if (!slot.name.starts_with(prefix)) continue;
    std::string_view rest = slot.name.substr(prefix.size());
    std::string name(rest.substr(0, rest.find('.')));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

// For a key that is one table too high: `timeout` for "queue.timeout".
std::string deeper_hint(const std::string& key, const std::vector<Section::Slot>& slots) {
  for (const Section::Slot& slot : slots) {
    if (slot.name.ends_with('.' + key)) return ", did you mean " + quote(slot.name) + "?";
  }
  return "";
}

// Helps somebody who wrote a key that is not a setting.
std::string more_on(const std::string& name, const std::string& key,
                    const std::vector<std::string>& known,
                    const std::vector<Section::Slot>& slots) {
  const std::string_view replaced = what_replaced(name);
  if (!replaced.empty()) return " any more: " + std::string(replaced);
  const std::string meant = hint(key, known);
  return meant.empty() ? deeper_hint(key, slots) : meant;
}

}  // namespace

void Section::read(const std::vector<Slot>& slots) {
  if (!value_.is_table()) {
    problems_.add(value_, path_, "is " + describe_type(value_) + ", but a table is wanted");
    return;
  }
  read_table(value_, "", slots);
}

void Section::read_table(const toml::value& table, const std::string& prefix,
                         const std::vector<Slot>& slots) {
  std::vector<std::string> known = names_below(prefix, slots);
  for (const auto& [key, value] : table.as_table(std::nothrow)) {
    std::string name = prefix + key;
    auto slot = std::ranges::find(slots, name, &Slot::name);
    if (slot != slots.end()) {
      read_slot(*slot, value);
    } else if (std::ranges::find(known, key) == known.end()) {
      problems_.add_at_key(value, key, path_ + '.' + prefix + shown_key(key),
                           "is no setting" + more_on(name, key, known, slots));
    } else if (value.is_table()) {
      read_table(value, name + '.', slots);
    } else {
      std::string what = "a table { " + join(names_below(name + '.', slots)) + " }";
      problems_.add(value, path_ + '.' + name,
                    "is " + describe_type(value) + ", but " + what + " is wanted");
    }
  }
}

void Section::read_slot(const Slot& slot, const toml::value& value) {
  std::string name(slot.name);
  given_[name] = &value;
  slot.read(value,
            [&](const toml::value& at, const std::string& below, const std::string& message) {
              refused_.insert(name);
              problems_.add(at, path_ + '.' + name + below, message);
            });
}

const toml::value* Section::given(std::string_view name) const {
  auto found = given_.find(name);
  return found == given_.end() ? nullptr : found->second;
}

void Section::complain(std::string_view name, std::string message) {
  const toml::value* value = given(name);
  problems_.add(value == nullptr ? value_ : *value, path_ + '.' + std::string(name),
                std::move(message));
}

}  // namespace config
