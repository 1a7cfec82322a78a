#include "config/kinds.h"

#include <cstdint>
#include <cstdio>

#include "config/units.h"

namespace config {
namespace {

std::string wanted(const toml::value& value, const std::string& what) {
  return "is " + describe_type(value) + ", but " + what + " is wanted";
}

std::string not_within(const std::string& shown, const std::string& range) {
  return shown + " is not within " + range;
}

constexpr std::string_view kKeyBytes =
    "-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

// A kind of string that parse understands and print returns unquoted.
template <typename T>
Kind<T> parsed_text(std::string type, std::string range, base::Result<T> (*parse)(std::string_view),
                    std::string (*print)(const T&)) {
  std::string what = "a string (" + type + ")";
  auto read = [what, parse](const toml::value& value, T& out, const Complain& complain) {
    if (!value.is_string()) return complain(value, "", wanted(value, what));
    auto result = parse(toml_text(value));
    if (!result) return complain(value, "", result.error().message);
    out = result.take();
  };
  auto quoted = [print](const T& one) { return quote(print(one)); };
  return {std::move(type), std::move(range), read, quoted};
}

base::Result<::mode_t> parse_permissions(std::string_view digits) {
  bool octal = digits.find_first_not_of("01234567") == std::string_view::npos;
  if (digits.size() < 3 || digits.size() > 4 || !octal ||
      (digits.size() == 4 && digits[0] != '0')) {
    return base::Error{quote(digits) + " is no octal permission like \"0660\""};
  }
  ::mode_t mode = 0;
  for (char digit : digits) mode = mode * 8 + ::mode_t(digit - '0');
  return mode;
}

std::string format_permissions(const ::mode_t& mode) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%04o", unsigned(mode));
  return digits;
}

}  // namespace

Kind<unsigned> count(unsigned least, unsigned most) {
  std::string range = std::to_string(least) + " to " + std::to_string(most);
  auto read = [=](const toml::value& value, unsigned& out, const Complain& complain) {
    if (!value.is_integer()) return complain(value, "", wanted(value, "a whole number"));
    std::int64_t number = value.as_integer(std::nothrow);
    if (number < std::int64_t(least) || number > std::int64_t(most)) {
      return complain(value, "", not_within(std::to_string(number), range));
    }
    out = unsigned(number);
  };
  return {"count", range, read, [](const unsigned& number) { return std::to_string(number); }};
}

Kind<Bytes> size(Bytes least, Bytes most) {
  std::string range = format_size(least) + " to " + format_size(most);
  auto read = [=](const toml::value& value, Bytes& out, const Complain& complain) {
    Bytes bytes = 0;
    std::string shown;
    if (value.is_integer()) {
      std::int64_t number = value.as_integer(std::nothrow);
      shown = std::to_string(number);
      if (number < 0) return complain(value, "", not_within(shown, range));
      bytes = Bytes(number);
    } else if (value.is_string()) {
      auto result = parse_size(toml_text(value));
      if (!result) return complain(value, "", result.error().message);
      bytes = result.value();
      shown = quote(toml_text(value));
    } else {
      return complain(value, "", wanted(value, "a size like \"1MiB\" or a number of bytes"));
    }
    if (bytes < least || bytes > most) return complain(value, "", not_within(shown, range));
    out = bytes;
  };
  auto print = [](const Bytes& bytes) {
    std::string shown = format_size(bytes);
    return shown.back() == 'B' ? quote(shown) : shown;
  };
  return {"size", range, read, print};
}

Kind<Duration> duration(Duration least, Duration most) {
  std::string range = format_duration(least) + " to " + format_duration(most);
  auto read = [=](const toml::value& value, Duration& out, const Complain& complain) {
    Duration length = Duration::zero();
    std::string shown = "0";
    if (value.is_string()) {
      auto result = parse_duration(toml_text(value));
      if (!result) return complain(value, "", result.error().message);
      length = result.value();
      shown = quote(toml_text(value));
    } else if (value.is_integer() && value.as_integer(std::nothrow) != 0) {
      std::string number = std::to_string(value.as_integer(std::nothrow));
      return complain(value, "", number + " has no unit: a duration is a string like \"5s\"");
    } else if (!value.is_integer()) {
      return complain(value, "", wanted(value, "a duration like \"5s\""));
    }
    if (length < least || length > most) return complain(value, "", not_within(shown, range));
    out = length;
  };
  auto print = [](const Duration& length) { return quote(format_duration(length)); };
  return {"duration", range, read, print};
}

Kind<double> per_cent(double least, double most) {
  std::string range = format_per_cent(least) + " to " + format_per_cent(most);
  auto read = [=](const toml::value& value, double& out, const Complain& complain) {
    double number = 0;
    if (value.is_integer()) {
      number = double(value.as_integer(std::nothrow));
    } else if (value.is_floating()) {
      number = value.as_floating(std::nothrow);
    } else if (value.is_string()) {
      auto result = parse_per_cent(toml_text(value));
      if (!result) return complain(value, "", result.error().message);
      number = result.value();
    } else {
      return complain(value, "", wanted(value, "per cent like 10, 0.5 or \"0.1%\""));
    }
    bool within = number >= least && number <= most;  // NaN is not
    std::string shown = value.is_string() ? quote(toml_text(value)) : format_per_cent(number);
    if (!within) return complain(value, "", not_within(shown, range));
    out = number;
  };
  return {"per cent", range, read, format_per_cent};
}

Kind<bool> yes_or_no() {
  auto read = [](const toml::value& value, bool& out, const Complain& complain) {
    if (!value.is_boolean()) return complain(value, "", wanted(value, "true or false"));
    out = value.as_boolean(std::nothrow);
  };
  return {"boolean", "true, false", read,
          [](const bool& yes) { return std::string(yes ? "true" : "false"); }};
}

Kind<::mode_t> permissions() {
  return parsed_text<::mode_t>("octal permissions", "\"0000\" to \"0777\"", parse_permissions,
                               format_permissions);
}

Kind<std::string> text(std::string type, std::string range, TextCheck check) {
  auto read = [check](const toml::value& value, std::string& out, const Complain& complain) {
    if (!value.is_string()) return complain(value, "", wanted(value, "a string"));
    const std::string& given = toml_text(value);
    if (given.find('\0') != std::string::npos) {
      return complain(value, "", quote(given) + " has a NUL byte in it");
    }
    if (check != nullptr) {
      if (auto status = check(given); !status) return complain(value, "", status.error().message);
    }
    out = given;
  };
  return {std::move(type), std::move(range), read,
          [](const std::string& one) { return quote(one); }};
}

Kind<ListenAddress> listen_address() {
  return parsed_text<ListenAddress>("address", "\"unix:/path\", \"127.0.0.1:9000\", \"[::1]:9000\"",
                                    parse_listen_address, to_string);
}

Kind<std::vector<BoundAddress>> bound_addresses(const Kind<std::string>& path) {
  auto read = [path](const toml::value& value, std::vector<BoundAddress>& out,
                     const Complain& complain) {
    if (!value.is_table()) {
      return complain(value, "", wanted(value, "a table { \"address\" = \"/path\" }"));
    }
    const toml::table& table = value.as_table(std::nothrow);
    const std::map<std::string, toml::value> entries(table.begin(), table.end());  // in order
    std::map<std::string, std::string> read_so_far;
    for (const auto& [key, item] : entries) {
      const std::string below = '.' + shown_key(key);
      const auto address = parse_listen_address(key);
      if (!address) {
        complain(item, below, "the key " + address.error().message);
        continue;
      }
      const auto [entry, is_new] = read_so_far.try_emplace(to_string(address.value()));
      if (!is_new) complain(item, below, quote(entry->first) + " is there twice");
      path.read(item, entry->second,
                [&](const toml::value& at, const std::string&, const std::string& why) {
                  complain(at, below, why);
                });
    }
    out.clear();
    for (auto& [address, program] : read_so_far) {
      out.push_back({parse_listen_address(address).value(), std::move(program)});
    }
  };
  auto print = [](const std::vector<BoundAddress>& bound) {
    std::vector<std::string> parts;
    for (const auto& [address, program] : bound) {
      parts.push_back(quote(to_string(address)) + " = " + quote(program));
    }
    return parts.empty() ? std::string("{}") : "{ " + join(parts) + " }";
  };
  return {"table of paths", "", read, print};
}

namespace {

// Name = text. check_name: what a name may be; its error is about the name.
Kind<std::map<std::string, std::string>> table_of_texts(std::string type, const char* example,
                                                        TextCheck check_name,
                                                        const Kind<std::string>& value_kind) {
  using Table = std::map<std::string, std::string>;
  auto read = [=](const toml::value& value, Table& out, const Complain& complain) {
    if (!value.is_table()) return complain(value, "", wanted(value, example));
    for (const auto& [name, item] : value.as_table(std::nothrow)) {
      std::string below = '.' + shown_key(name);
      if (auto status = check_name(name); !status) {
        complain(item, below, status.error().message);
        continue;
      }
      value_kind.read(item, out[name],
                      [&](const toml::value& at, const std::string&, const std::string& why) {
                        complain(at, below, why);
                      });
    }
  };
  auto print = [](const Table& table) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : table) parts.push_back(shown_key(name) + " = " + quote(value));
    return parts.empty() ? std::string("{}") : "{ " + join(parts) + " }";
  };
  return {std::move(type), "", read, print};
}

base::Status variable_name(std::string_view name) {
  if (is_environment_name(name)) return base::Done{};
  return base::Error{"is no name of letters, digits and _"};
}

}  // namespace

base::Status folder_name(std::string_view name) {
  const bool plain = name.find("//") == name.npos && name.find("/.") == name.npos &&
                     name.find_first_of("=\n") == name.npos;
  const bool whole = name == "/" || !name.ends_with('/');
  if (name.starts_with('/') && plain && whole) return base::Done{};
  return base::Error{quote(name) + " is no folder's name like \"/data\""};
}

Kind<std::map<std::string, std::string>> environment() {
  return table_of_texts("table of strings", "a table { NAME = \"text\" }", variable_name,
                        text("string", "", nullptr));
}

Kind<std::map<std::string, std::string>> folders(const Kind<std::string>& path) {
  return table_of_texts("table of paths", "a table { \"/data\" = \"/path\" }", folder_name, path);
}

std::string describe_type(const toml::value& value) {
  switch (value.type()) {
    case toml::value_t::boolean:
      return "a boolean";
    case toml::value_t::integer:
      return "an integer";
    case toml::value_t::floating:
      return "a float";
    case toml::value_t::string:
      return "a string";
    case toml::value_t::array:
      return "a list";
    case toml::value_t::table:
      return "a table";
    default:
      return "a date or time";
  }
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (char byte : text) {
    auto code = static_cast<unsigned char>(byte);
    if (byte == '"' || byte == '\\') {
      quoted += '\\';
      quoted += byte;
    } else if (code < 0x20 || code == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04X", unsigned(code));
      quoted += escape;
    } else {
      quoted += byte;
    }
  }
  return quoted + '"';
}

std::string shown_key(const std::string& key) {
  bool bare = key.find_first_not_of(kKeyBytes) == std::string::npos;
  return bare && !key.empty() ? key : quote(key);
}

std::string join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) {
    if (!joined.empty()) joined += ", ";
    joined += part;
  }
  return joined;
}

}  // namespace config
