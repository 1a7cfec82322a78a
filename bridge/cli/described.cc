#include "cli/described.h"

#include <CLI/CLI.hpp>
#include <string_view>

namespace cli {
namespace {

// CLI11 names the values of an option as its type: "TEXT:{classic,persistent}".
std::vector<std::string> choices_in(std::string_view type) {
  std::vector<std::string> choices;
  const std::size_t open = type.find('{');
  if (open == std::string_view::npos || !type.ends_with('}')) return choices;
  std::string_view rest = type.substr(open + 1, type.size() - open - 2);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    choices.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return choices;
}

DescribedOption described(const CLI::Option& option) {
  const bool named = !option.get_lnames().empty();
  return {.name = named ? "--" + option.get_lnames().front() : option.get_name(),
          .text = option.get_description(),
          .positional = !named,
          .takes_value = option.get_expected_max() > 0,
          .choices = choices_in(option.get_type_name())};
}

void add(const CLI::App& command, const std::string& before, std::vector<DescribedCommand>& out) {
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_group().empty()) continue;
    const std::string name = before + sub->get_name();
    if (!sub->get_subcommands([](const CLI::App*) { return true; }).empty()) {
      add(*sub, name + ' ', out);
      continue;
    }
    DescribedCommand made{
        .name = name, .text = sub->get_description(), .options = {}, .footer = sub->get_footer()};
    for (const CLI::Option* option : sub->get_options()) {
      const bool help = option == sub->get_help_ptr();
      if (!help && !option->get_group().empty()) made.options.push_back(described(*option));
    }
    out.push_back(std::move(made));
  }
}

}  // namespace

std::vector<DescribedCommand> described_commands(const CLI::App& app) {
  std::vector<DescribedCommand> commands;
  add(app, "", commands);
  return commands;
}

}  // namespace cli
