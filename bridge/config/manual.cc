#include <fmt/format.h>

#include "base/manual_page.h"
#include "config/fields.h"
#include "config/show.h"

namespace config {
namespace {

constexpr const char* kExample =
    "[bridge]\n"
    "listen = [\"unix:/run/cgibridge/fastcgi.sock\"]\n"
    "roots  = [\"/usr/lib/cgi-bin\"]\n"
    "\n"
    "[defaults]\n"
    "env = { LANG = \"C.UTF-8\" }\n"
    "\n"
    "[[program]]\n"
    "match    = \"/usr/lib/cgi-bin/report.*\"\n"
    "timeouts = { request = \"5m\" }";

std::string_view when(TakesEffect takes_effect) {
  switch (takes_effect) {
    case TakesEffect::live:
      return "at once";
    case TakesEffect::new_generation:
      return "at once, with new zygotes";
    case TakesEffect::restart:
      return "after a restart";
  }
  return "";
}

template <typename Section>
void add(base::ManualPage& page, const std::vector<Field<Section>>& fields) {
  const Section defaults;
  for (const Field<Section>& field : fields) {
    page.entry(field.name, field.doc);
    page.more(fmt::format(
        "Type: {}. Default: {}.{} A change takes effect {}.", field.type, field.print(defaults),
        field.range.empty() ? "" : " Range: " + field.range + ".", when(field.takes_effect)));
  }
}

}  // namespace

std::string manual_page(std::string_view version) {
  base::ManualPage page("cgibridge-config", 5, version, "settings of the bridge for CGI programs");
  page.section("SYNOPSIS");
  page.paragraph("`/etc/cgibridge/config.toml`");
  page.section("DESCRIPTION");
  page.paragraph(
      "The settings are a TOML file. [bridge] is about the daemon, [defaults] about all programs, "
      "and each [[program]] about the programs that its `match` fits: the first section that "
      "matches counts, and what it omits is as in [defaults]. A name with a dot is a key of an "
      "inline table: `workers.max` is written `workers = { max = 8 }`.");
  page.paragraph(
      "Durations are strings like \"250ms\", \"5s\", \"2m\", \"1h\"; sizes are strings like "
      "\"64KiB\", \"1MiB\", \"2GiB\", or numbers of bytes.");
  page.paragraph(
      "The bridge takes a changed file over at once, without losing a request, except for settings "
      "that need a restart. It refuses a file with an error in it, and keeps its settings. "
      "`cgibridge config check` says every error with its line.");
  page.section("SETTINGS OF [bridge]");
  add(page, bridge_fields());
  page.section("SETTINGS OF [[program]]");
  page.paragraph("[defaults] has the same settings without `name` and `match`.");
  add(page, program_fields());
  page.section("EXAMPLE");
  page.lines(kExample);
  page.section("SEE ALSO");
  page.paragraph("`cgibridge`(1)");
  return page.text();
}

}  // namespace config
