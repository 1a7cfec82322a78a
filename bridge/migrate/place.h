// A place in a web server's configuration that runs CGI programs: which they are, and how the place
// looks with the bridge instead.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "migrate/directive.h"

namespace migrate {

enum class Server { nginx, apache };

// Replaces bytes of a file; an insertion has begin == end.
struct Edit {
  std::size_t file = 0;
  std::size_t begin = 0, end = 0;
  std::string text;
};

// Which files a place runs.
struct Programs {
  // A folder or a program; after a star in it, any name of a file or folder. If the configuration
  // gives only the beginning, it ends in the middle: "/usr/lib/cgi-bin/" for all that begin so.
  std::string path;
  bool whole = false;                   // path is all of it: one program
  std::vector<std::string> suffixes{};  // {".cgi"}: only those; empty: all that are executable
};

struct Place {
  Server server = Server::nginx;
  std::string site;   // its server's name; empty: any
  std::string where;  // "location /cgi-bin/", "ScriptAlias /cgi-bin/"
  std::string by;     // what runs them now: "unix:/run/fcgiwrap.socket", "mod_cgid"
  Programs programs;
  std::string user;  // "NAME", "NAME:GROUP" or "owner"; empty: the place does not say
  std::vector<std::pair<std::string, std::string>> variables{};  // those with a fixed value
  std::size_t file = 0;
  unsigned line = 0;
  std::size_t shown_begin = 0, shown_end = 0;  // of the part of the file that people should see
  std::vector<Edit> edits{};
  std::string remark{};      // what will be different afterwards; empty: nothing is known
  std::string left_alone{};  // why nothing is to be changed here; empty: edits say what is
};

// What begins a place's socket, in the words of nginx and Apache.
inline constexpr std::string_view kSocket = "/run/cgibridge/fastcgi.sock";

// What a web server's regular expression says about the names that it matches. Only what is certain
// is said.
struct Outline {
  std::string begin;                    // every match begins with it
  bool whole = false;                   // and is nothing else
  std::vector<std::string> suffixes{};  // every match has one of these, at the end of a word
};
Outline outline_of(std::string_view regex);
// What its first group matches, if the group is at the beginning: "^(/a)(/.*)$" -> "^/a".
std::string first_group_of(std::string_view regex);

// path without doubled slashes.
std::string clean_path(std::string_view path);

}  // namespace migrate
