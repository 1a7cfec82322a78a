// The commands and their options as data: the manual page and the shells' completions are made from
// it, and so from the same table as the command line and its --help.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cli {

struct DescribedOption {
  std::string name;                  // "--config"; of a positional argument, "script"
  std::string text;                  // one sentence
  bool positional = false;           // an argument without a name
  bool takes_value = false;          // false: a flag
  std::vector<std::string> choices;  // the values that it takes; empty: any
};

struct DescribedCommand {
  std::string name;  // "status", "config check"
  std::string text;
  std::vector<DescribedOption> options;  // --help left out
  std::string footer;                    // what its --help ends with, such as its exit codes
};

// Every command that is shown, in the order of --help; for a command with subcommands, those.
std::vector<DescribedCommand> described_commands(const CLI::App& app);

// Pages and scripts made from such a table. commands: of a program called cgibridge.
// cgibridge(1), in the language of man(7).
std::string manual_page(const std::vector<DescribedCommand>& commands, const std::string& version);
// To be installed as .../bash-completion/completions/cgibridge, as .../site-functions/_cgibridge,
// as .../vendor_completions.d/cgibridge.fish.
std::string bash_completion(const std::vector<DescribedCommand>& commands);
std::string zsh_completion(const std::vector<DescribedCommand>& commands);
std::string fish_completion(const std::vector<DescribedCommand>& commands);

}  // namespace cli
