// What the bridge knows of languages: whose adapter reaches how deep, and how it gets into the
// interpreter. A new language is a row in language.cc, and its folder in adapters/.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "worker/starter.h"

namespace worker {

// none: no adapter; the program can be stopped when it is linked. php: php-cgi, which speaks
// FastCGI by itself and has no adapter.
enum class Language { none, php, perl, python, ruby, tcl, node };

// Of an interpreter by its file's name: "perl", "perl5.36.0"; nothing else behind the name than a
// version.
Language language_of(std::string_view interpreter);

// As in "Perl script"; empty for none.
std::string_view name_of(Language language);

// The level that a program in it can be given under the operator's ceiling.
config::Level deepest_level(Language language, config::Level ceiling);

// Whether its adapter can run a script again in the process as it is (reset none), at this level.
bool runs_again(Language language, config::Level level);

// How workers come to be at that level: Node has threads as soon as it is up.
Making making_of(Language language, config::Level level);

// How the adapter gets in at a level deeper than linked: words of the command line, from place on,
// and variables. adapters: the folder of all adapters. preload: what is to be loaded ahead.
struct WayIn {
  std::vector<std::string> words{};
  std::size_t place = 0;  // 1: behind the interpreter; 0: behind its switches
  std::vector<std::pair<std::string, std::string>> variables{};
};
WayIn way_in(Language language, const std::string& adapters,
             const std::vector<std::string>& preload);

}  // namespace worker
