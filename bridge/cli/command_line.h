// The command line, taken apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cli {

enum class Command {
  serve,
  config_check,
  config_show,
  config_reference,
  status,
  mode,
  reload,
  drain,
  attach,
  try_script,
};

enum class Form { text, json };

struct Invocation {
  // Set if there is nothing left to do: help or the version was shown, or the command line is
  // wrong and that was said.
  std::optional<int> exit_code;
  Command command = Command::serve;
  std::string config_path = "/etc/cgibridge/config.toml";
  std::string control;  // empty: the one of the settings file
  Form form = Form::text;
  std::string program;           // mode, try
  std::string mode;              // mode, try
  std::vector<std::string> env;  // try: "K=V"
  std::string body_file;         // try
  std::string query;             // try
};

Invocation parse_command_line(int argc, char** argv);

}  // namespace cli
