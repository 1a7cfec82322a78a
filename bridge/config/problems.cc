#include "config/problems.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "config/toml_text.h"

namespace config {
namespace {

bool is_key_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
}

bool stands_alone(std::string_view line, std::size_t at, std::size_t size) {
  bool before = at > 0 && is_key_byte(line[at - 1]);
  bool after = at + size < line.size() && is_key_byte(line[at + size]);
  return !before && !after;
}

// toml11 keeps only the places of values. A key is before its value on the same line, or in
// the header [...] that the value of a table points to. Counts from 0; npos if it is written
// otherwise.
std::size_t find_key(std::string_view line, std::size_t value_at, const std::string& key) {
  for (std::size_t end = value_at; end > 0;) {
    std::size_t at = line.rfind(key, end - 1);
    if (at == std::string_view::npos) break;
    if (at + key.size() <= value_at && stands_alone(line, at, key.size())) return at;
    end = at;
  }
  for (std::size_t at = line.find(key, value_at); at != std::string_view::npos;
       at = line.find(key, at + 1)) {
    if (stands_alone(line, at, key.size())) return at;
  }
  return std::string_view::npos;
}

// The number of bytes to add, drop, replace or swap with a neighbour.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

void Problems::add(const toml::value& value, std::string path, std::string message) {
  const TomlPlace place = toml_place(value.location());
  problems_.push_back({file_name_, place.line, place.column, std::move(path), std::move(message)});
}

void Problems::add_at_key(const toml::value& value, const std::string& key, std::string path,
                          std::string message) {
  const TomlPlace place = toml_place(value.location());
  const std::size_t at = key.empty() ? std::string::npos : find_key(place.text, place.at, key);
  // The text may begin within its line.
  const unsigned before = place.column - unsigned(place.at);
  const unsigned column = at == std::string::npos ? place.column : unsigned(at) + before;
  problems_.push_back({file_name_, place.line, column, std::move(path), std::move(message)});
}

std::vector<Problem> Problems::take() {
  std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  return std::exchange(problems_, {});
}

std::string hint(const std::string& wrong, const std::vector<std::string>& names) {
  if (wrong.size() > 64) return "";
  const std::string* nearest = nullptr;
  std::size_t least = std::max<std::size_t>(wrong.size() / 3, 1) + 1;
  for (const std::string& name : names) {
    std::size_t steps = distance(wrong, name);
    if (steps < least) {
      least = steps;
      nearest = &name;
    }
  }
  return nearest == nullptr ? "" : ", did you mean \"" + *nearest + "\"?";
}

}  // namespace config
