// What to change on a machine so that the bridge answers where CGI programs are run now. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "migrate/config_files.h"
#include "migrate/place.h"

namespace migrate {

// What `cgibridge check` said about a program.
struct Checked {
  std::string safety;  // "safe", "classic only", "not checked"
  std::string arm;     // the one that it recommends: "rewind", "fork", "fastcgi", "classic"
  std::string level;   // "compiled", "linked", ...
  double speed_up = 1;
  std::string sentence;
  std::string stanza;  // a [[program]] that does what it recommends
};

struct FoundProgram {
  std::string path;
  std::string real;                     // without links
  std::vector<std::size_t> places;      // which of Findings::places run it
  std::optional<Checked> checked = {};  // none: it was not tried
};

struct PlaceFiles {
  std::vector<std::string> roots = {};  // the folders, or the program, that exist
  std::string problem = {};             // why not all of its programs are known; empty: they are
};

// Everything that was found on the machine.
struct Findings {
  std::optional<Tree> nginx;
  std::optional<ApacheTree> apache;
  std::vector<Place> places;
  std::vector<PlaceFiles> files;  // one for each place
  std::vector<FoundProgram> programs;

  const Tree& tree_of(const Place& place) const {
    return place.server == Server::nginx ? *nginx : *apache;
  }
};

struct FileChange {
  std::string path;
  std::string before, after;
};

struct Proposal {
  std::string settings;              // a config.toml
  std::vector<FileChange> changes;   // of the web servers' files
  std::vector<std::string> remarks;  // what the operator should know or do, one sentence each
};

// Nothing is proposed if there is no place to change.
Proposal propose(const Findings& findings, const std::string& socket);

// The shown part of a place's file, as it is after the changes of all places.
std::string shown_after(const Findings& findings, const Place& place);

}  // namespace migrate
