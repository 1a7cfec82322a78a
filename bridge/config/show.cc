#include "config/show.h"

#include <string_view>

#include "config/fields.h"

namespace config {
namespace {

// The table that a field is in: "workers" for "workers.max", empty for "mode".
std::string_view table_of(std::string_view name) {
  std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? "" : name.substr(0, dot);
}

// Fields of one table are neighbours; they are shown as one inline table.
template <typename S>
void show_section(const std::string& header, const std::vector<Field<S>>& fields, const S& section,
                  std::string& out) {
  out += header + '\n';
  for (std::size_t i = 0; i < fields.size();) {
    std::string_view table = table_of(fields[i].name);
    if (table.empty()) {
      out += std::string(fields[i].name) + " = " + fields[i].print(section) + '\n';
      ++i;
      continue;
    }
    std::vector<std::string> parts;
    for (; i < fields.size() && table_of(fields[i].name) == table; ++i) {
      std::string key(fields[i].name.substr(table.size() + 1));
      parts.push_back(key + " = " + fields[i].print(section));
    }
    out += std::string(table) + " = { " + join(parts) + " }\n";
  }
}

// An empty name or match is left out.
std::vector<Field<ProgramSettings>> said_fields(const ProgramSettings& program) {
  std::vector<Field<ProgramSettings>> fields = program_fields();
  if (program.name.empty()) {
    std::erase_if(fields, [](const auto& field) { return field.name == "name"; });
  }
  return fields;
}

std::string_view describe(TakesEffect takes_effect) {
  switch (takes_effect) {
    case TakesEffect::live:
      return "live";
    case TakesEffect::new_generation:
      return "live, with new zygotes";
    case TakesEffect::restart:
      return "restart";
  }
  return "";
}

std::string code(const std::string& text) {
  return text.empty() ? "" : '`' + text + '`';
}

template <typename S>
void list_fields(const std::string& title, const std::vector<Field<S>>& fields, std::string& out) {
  const S defaults;
  out += "## " + title + "\n\n";
  out += "| setting | type | default | range | a change is taken over | what it does |\n";
  out += "| --- | --- | --- | --- | --- | --- |\n";
  for (const Field<S>& field : fields) {
    out += "| `" + std::string(field.name) + "` | " + field.type + " | " +
           code(field.print(defaults)) + " | " + code(field.range) + " | " +
           std::string(describe(field.takes_effect)) + " | " + std::string(field.doc) + " |\n";
  }
}

}  // namespace

std::string show(const Settings& settings) {
  std::string out;
  show_section("[bridge]", bridge_fields(), settings.bridge, out);
  show_section("\n[defaults]", defaults_fields(), settings.defaults, out);
  for (const ProgramSettings& program : settings.programs) {
    show_section("\n[[program]]", said_fields(program), program, out);
  }
  return out;
}

std::string reference() {
  std::string out = "# Settings\n\n";
  out +=
      "Durations are strings like \"250ms\", \"5s\", \"2m\", \"1h\"; sizes strings like \"64KiB\", "
      "\"1MiB\", \"2GiB\", or numbers of bytes.\n\n";
  list_fields("[bridge]", bridge_fields(), out);
  out += '\n';
  list_fields("[[program]], and [defaults] without name and match", program_fields(), out);
  return out;
}

}  // namespace config
