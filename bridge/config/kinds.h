// The kinds of values that a setting can have: how each is read from TOML, checked, and printed.
// A kind knows nothing about the setting that has it; fields.cc puts the two together.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "config/show.h"
#include "config/toml_text.h"

namespace config {

// Called with what is wrong: the value at fault, where it is below the setting ("", "[2]",
// ".LANG"), and a sentence that begins with the value.
using Complain = std::function<void(const toml::value& at, const std::string& below,
                                    const std::string& message)>;

template <typename T>
struct Kind {
  std::string type;   // for the reference: "duration"
  std::string range;  // for the reference: "1s to 1h"; may be empty
  // Puts the value into out, or complains and leaves out as it was (a list or table is left
  // incomplete).
  std::function<void(const toml::value&, T& out, const Complain&)> read;
  // As a TOML value on one line, which read() turns back into the same value.
  std::function<std::string(const T&)> print;
};

// A check of a text; nullptr checks nothing. The error begins with the text.
using TextCheck = base::Status (*)(std::string_view);

// Numbers from least to most, inclusive. For durations and sizes that may also be 0 to mean "no
// limit", least is 0.
Kind<unsigned> count(unsigned least, unsigned most);
Kind<Bytes> size(Bytes least, Bytes most);
Kind<Duration> duration(Duration least, Duration most);

// A share or a difference: a number (10, 0.5) or a text ("0.1%"); printed as the number.
Kind<double> per_cent(double least, double most);

// true or false.
Kind<bool> yes_or_no();

// The permission bits of a file, as octal digits in a string: "0660".
Kind<::mode_t> permissions();

// Any text without NUL that check accepts; range describes that for the reference.
Kind<std::string> text(std::string type, std::string range, TextCheck check);

Kind<ListenAddress> listen_address();

// Address = path of a program, printed in the order of the addresses.
Kind<std::vector<BoundAddress>> bound_addresses(const Kind<std::string>& path);

// Name = text. The table's entries are added to what out has: a [[program]] adds to [defaults].
Kind<std::map<std::string, std::string>> environment();

// Name of a folder as a WebAssembly module sees it = its path. The table's entries are added to
// what out has.
Kind<std::map<std::string, std::string>> folders(const Kind<std::string>& path);

// A folder's name in a WebAssembly module: absolute, plain, without '='.
base::Status folder_name(std::string_view name);

// "an integer", "a string", ...: for "is ..., but ... is wanted".
std::string describe_type(const toml::value& value);

// key as it appears in a problem's path: quoted if it contains more than letters, digits, _ and -.
std::string shown_key(const std::string& key);

// All parts, joined by commas.
std::string join(const std::vector<std::string>& parts);

// One of a fixed list of words; E is an enumeration whose values index names from 0.
template <typename E, std::size_t N>
Kind<E> choice(const std::array<std::string_view, N>& names) {
  std::vector<std::string> quoted;
  for (std::string_view name : names) quoted.push_back(quote(name));
  Kind<E> kind;
  kind.type = "choice";
  kind.range = join(quoted);
  kind.read = [&names, range = kind.range](const toml::value& value, E& out,
                                           const Complain& complain) {
    if (!value.is_string()) {
      return complain(value, "",
                      "is " + describe_type(value) + ", but one of " + range + " is wanted");
    }
    const std::string& word = toml_text(value);
    for (std::size_t i = 0; i < N; ++i) {
      if (names[i] == word) return void(out = E(i));
    }
    complain(value, "", quote(word) + " is none of " + range);
  };
  kind.print = [&names](const E& chosen) { return quote(names[std::size_t(chosen)]); };
  return kind;
}

// A list of at least `least` different elements. The file's list replaces what out has.
template <typename T>
Kind<std::vector<T>> list_of(Kind<T> element, std::size_t least = 0) {
  Kind<std::vector<T>> kind;
  kind.type = "list of " + element.type;
  kind.range = least == 0 ? element.range : "at least " + std::to_string(least);
  kind.read = [element, least](const toml::value& value, std::vector<T>& out,
                               const Complain& complain) {
    if (!value.is_array()) {
      return complain(value, "", "is " + describe_type(value) + ", but a list [...] is wanted");
    }
    const toml::array& array = value.as_array(std::nothrow);
    if (array.size() < least) {
      complain(value, "", "is too short: it needs at least " + std::to_string(least));
    }
    out.clear();
    std::set<std::string> seen;
    for (const toml::value& item : array) {
      std::string below = '[' + std::to_string(&item - array.data() + 1) + ']';
      bool good = true;
      T one{};
      element.read(item, one,
                   [&](const toml::value& at, const std::string& deeper, const std::string& why) {
                     good = false;
                     complain(at, below + deeper, why);
                   });
      if (!good) continue;
      if (!seen.insert(element.print(one)).second) {
        complain(item, below, element.print(one) + " is there twice");
      }
      out.push_back(std::move(one));
    }
  };
  kind.print = [element](const std::vector<T>& list) {
    std::vector<std::string> printed;
    for (const T& one : list) printed.push_back(element.print(one));
    return '[' + join(printed) + ']';
  };
  return kind;
}

}  // namespace config
