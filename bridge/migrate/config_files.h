// Reads a web server's whole configuration: the main file, and what it includes. A ConfigFiles says
// which files exist, so that a test can make them up.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "migrate/directive.h"

namespace migrate {

class ConfigFiles {
 public:
  virtual ~ConfigFiles() = default;
  // The file and its path without links. The error says why not, without the name.
  virtual base::Result<SourceFile> read(const std::string& path) = 0;
  // The paths that a pattern of glob(3) matches, in alphabetical order.
  virtual std::vector<std::string> matching(const std::string& pattern) = 0;
  // Every file in this folder and below it, in alphabetical order; empty if it is not a folder.
  virtual std::vector<std::string> below(const std::string& folder) = 0;
};

// Beyond these nothing is read, and that is a Problem.
struct ReadLimits {
  std::size_t files = 2000;
  unsigned depth = 30;  // of includes within includes
};

// nginx: an `include` is relative to the folder of the main file.
Tree read_nginx(const std::string& main, ConfigFiles& files, const ReadLimits& limits = {});

struct ApacheTree : Tree {
  std::vector<std::string> modules;  // "mod_cgid.c" of those that are loaded
  std::string server_root;
};

// Apache: an `Include` is relative to ServerRoot, which is the folder of the main file (or the one
// above, if that is called conf) until a directive says otherwise. Conditions (IfModule, IfDefine)
// are evaluated and replaced by what they contain, and ${VARIABLES} have their values.
// variables: of Apache's environment, such as APACHE_RUN_USER.
ApacheTree read_apache(const std::string& main, ConfigFiles& files,
                       const std::map<std::string, std::string>& variables,
                       const ReadLimits& limits = {});

// The variables that a file like Debian's /etc/apache2/envvars exports, as far as they are plain.
std::map<std::string, std::string> exported_variables(std::string_view text);

// path, if it is absolute; otherwise folder + "/" + path.
std::string below_folder(const std::string& folder, const std::string& path);

}  // namespace migrate
