// Where a configuration runs CGI programs. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "migrate/config_files.h"
#include "migrate/place.h"

namespace migrate {

struct PlaceOptions {
  std::string socket{kSocket};  // where the bridge listens
  // Whether there is a file (not a folder) of this name: "ScriptAlias /x /srv/x" may be either.
  std::function<bool(const std::string&)> is_file = [](const std::string&) { return false; };
};

// Every fastcgi_pass of a location that is, or may be, fcgiwrap's. Those of PHP, and of programs
// that speak FastCGI themselves, are left alone, and say so.
std::vector<Place> nginx_places(const Tree& tree, const PlaceOptions& options);

// The user that nginx runs as; empty: it does not say.
std::string nginx_user(const Tree& tree);

// Every ScriptAlias, SetHandler and AddHandler of mod_cgi, mod_cgid and mod_fcgid.
std::vector<Place> apache_places(const ApacheTree& tree, const PlaceOptions& options);

// The user and group that Apache runs as; empty: it does not say.
std::string apache_user(const ApacheTree& tree);

}  // namespace migrate
