// Scripts for shells. Options without choices complete to files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/described.h"

namespace cli {
namespace {

// "check" of "config check".
std::string last_word(const std::string& name) {
  return name.substr(name.rfind(' ') + 1);
}

// "config" of "config check"; empty for one word.
std::string first_of_two(const std::string& name) {
  const std::size_t space = name.find(' ');
  return space == std::string::npos ? "" : name.substr(0, space);
}

// What may follow `cgibridge`, and what may follow a word that has subcommands.
std::map<std::string, std::vector<std::string>> words_behind(
    const std::vector<DescribedCommand>& commands) {
  std::map<std::string, std::vector<std::string>> words;
  for (const DescribedCommand& command : commands) {
    const std::string first = first_of_two(command.name);
    if (!first.empty() && !words.contains(first)) words[""].push_back(first);
    words[first].push_back(last_word(command.name));
  }
  return words;
}

// Escapes text for single quotes, also in zsh's lists, where brackets and colons end a part.
std::string quoted(const std::string& text, std::string_view escaped_too) {
  std::string out;
  for (const char byte : text) {
    if (escaped_too.find(byte) != std::string_view::npos) out += '\\';
    out += byte;
    if (byte == '\'') out += "\\''";
  }
  return '\'' + out + '\'';
}

std::string names_of(const DescribedCommand& command) {
  std::string names;
  for (const DescribedOption& option : command.options) {
    if (!option.positional) names += option.name + ' ';
  }
  return names + "--help";
}

// The choices of arguments without a name, which bash offers beside the options.
std::string choices_of_arguments(const DescribedCommand& command) {
  std::string choices;
  for (const DescribedOption& option : command.options) {
    if (option.positional)
      for (const std::string& choice : option.choices) choices += ' ' + choice;
  }
  return choices;
}

std::string zsh_argument(const DescribedOption& option) {
  const std::string what =
      option.choices.empty() ? "_files" : fmt::format("({})", fmt::join(option.choices, " "));
  if (option.positional) return quoted(':' + option.name + ':' + what, "");
  const std::string text = quoted(option.text, "[]:\\");
  return fmt::format("'*{}[{}]{}'", option.name, text.substr(1, text.size() - 2),
                     option.takes_value ? ":value:" + what : "");
}

// When fish offers a command's options. "check" is a command, and one of config's.
std::string fish_condition(const DescribedCommand& command,
                           const std::map<std::string, std::vector<std::string>>& words) {
  const std::string first = first_of_two(command.name);
  std::string condition = "__fish_seen_subcommand_from " + last_word(command.name);
  if (!first.empty()) return "__fish_seen_subcommand_from " + first + "; and " + condition;
  for (const auto& [parent, list] : words) {
    if (!parent.empty() && std::ranges::find(list, command.name) != list.end())
      condition += "; and not __fish_seen_subcommand_from " + parent;
  }
  return condition;
}

}  // namespace

std::string bash_completion(const std::vector<DescribedCommand>& commands) {
  std::string out =
      "# bash completion for cgibridge\n"
      "_cgibridge() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=\n"
      "  local -a first=()\n"
      "  local i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    [[ ${COMP_WORDS[i]} == -* ]] || first+=(\"${COMP_WORDS[i]}\")\n"
      "  done\n"
      "  command=\"${first[0]:-} ${first[1]:-}\"\n"
      "  COMPREPLY=()\n"
      "  case \"$command\" in\n";
  for (const auto& [parent, list] : words_behind(commands)) {
    out += fmt::format("    \"{} \") COMPREPLY=($(compgen -W \"{}{}\" -- \"$word\")); return ;;\n",
                       parent, fmt::join(list, " "), parent.empty() ? " --help --version" : "");
  }
  for (const DescribedCommand& command : commands) {
    out += fmt::format("    \"{}{}\"*)\n", command.name,
                       first_of_two(command.name).empty() ? " " : "");
    out += "      case \"$before\" in\n";
    for (const DescribedOption& option : command.options) {
      if (option.positional || !option.takes_value) continue;
      out += option.choices.empty()
                 ? fmt::format("        {}) return ;;\n", option.name)
                 : fmt::format(
                       "        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return "
                       ";;\n",
                       option.name, fmt::join(option.choices, " "));
    }
    out += fmt::format("      esac\n      COMPREPLY=($(compgen -W \"{}{}\" -- \"$word\")) ;;\n",
                       names_of(command), choices_of_arguments(command));
  }
  return out + "  esac\n}\ncomplete -o default -F _cgibridge cgibridge\n";
}

std::string zsh_completion(const std::vector<DescribedCommand>& commands) {
  const auto words = words_behind(commands);
  std::string out = "#compdef cgibridge\n_cgibridge() {\n  local -a commands\n";
  for (const auto& [parent, list] : words) {
    out += parent.empty() ? "  if (( CURRENT == 2 )); then\n"
                          : "  if (( CURRENT == 3 )) && [[ $words[2] == " + parent + " ]]; then\n";
    out += "    commands=(";
    for (const DescribedCommand& command : commands) {
      if (first_of_two(command.name) == parent)
        out += "\n      " + quoted(last_word(command.name) + ':' + command.text, "");
    }
    for (const auto& [other, names] : words) {
      if (parent.empty() && !other.empty())
        out += fmt::format("\n      '{}:{}'", other, fmt::join(names, ", "));
    }
    out += ")\n    _describe command commands\n    return\n  fi\n";
  }
  out += "  case \"$words[2] $words[3]\" in\n";
  for (const DescribedCommand& command : commands) {
    const bool two = !first_of_two(command.name).empty();
    out += fmt::format("    \"{}{}\"*)\n      shift {} words\n      (( CURRENT -= {} ))\n",
                       command.name, two ? "" : " ", two ? 2 : 1, two ? 2 : 1);
    out += "      _arguments '--help[Print how it is used]'";
    for (const DescribedOption& option : command.options)
      out += " \\\n        " + zsh_argument(option);
    out += " ;;\n";
  }
  return out + "  esac\n}\n_cgibridge \"$@\"\n";
}

std::string fish_completion(const std::vector<DescribedCommand>& commands) {
  const auto words = words_behind(commands);
  std::string out =
      "# fish completion for cgibridge\ncomplete -c cgibridge -n __fish_use_subcommand -f\n";
  for (const auto& [parent, list] : words) {
    if (parent.empty()) continue;
    out += fmt::format("complete -c cgibridge -n __fish_use_subcommand -a {}\n", parent);
    out += fmt::format(
        "complete -c cgibridge -f -n '__fish_seen_subcommand_from {}; and not "
        "__fish_seen_subcommand_from {}' -a '{}'\n",
        parent, fmt::join(list, " "), fmt::join(list, " "));
  }
  for (const DescribedCommand& command : commands) {
    if (first_of_two(command.name).empty())
      out += fmt::format("complete -c cgibridge -n __fish_use_subcommand -a {} -d {}\n",
                         command.name, quoted(command.text, ""));
    const std::string condition = fish_condition(command, words);
    for (const DescribedOption& option : command.options) {
      const std::string choices =
          option.choices.empty() ? "" : fmt::format(" -a '{}'", fmt::join(option.choices, " "));
      if (option.positional && choices.empty()) continue;  // files, as by default
      out += fmt::format("complete -c cgibridge -n '{}'{}{}{} -d {}\n", condition,
                         option.positional ? "" : " -l " + option.name.substr(2),
                         option.takes_value && !option.positional ? " -r" : "", choices,
                         quoted(option.text, ""));
    }
  }
  return out;
}

}  // namespace cli
