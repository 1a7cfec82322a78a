// What the bridge knows about languages: how deep each adapter reaches, and how it gets into the
// interpreter. To add a language, add a row in language.cc and a folder in adapters/.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "worker/starter.h"

namespace worker {

// none: no adapter; the program can be stopped once it is linked. php: php-cgi, which speaks
// FastCGI itself and has no adapter. go: an executable of Go's, which needs none. wasm: a module of
// WebAssembly; cgibridge-wasm, which runs it, is its adapter.
enum class Language { none, php, perl, python, ruby, tcl, node, java, go, wasm };

// The language of an interpreter, by its file's name: "perl", "perl5.36.0"; only a version may
// follow the name.
Language language_of(std::string_view interpreter);

// As in "Perl script"; empty for none.
std::string_view name_of(Language language);

// The level that a program in this language can get under the operator's ceiling.
config::Level deepest_level(Language language, config::Level ceiling);

// What is tried if a program in this language cannot have that level.
config::Level shallower_level(Language language, config::Level level);

// Whether its adapter can run a script again in the unchanged process (reset none), at this level.
bool runs_again(Language language, config::Level level);

// Whether workers at that level can be started ahead of need where they cannot be forked: by Node
// and Java, which have threads as soon as they have started.
bool may_be_ahead(Language language, config::Level level);

// How the adapter gets in at a level deeper than linked: words for the command line, inserted at
// place, and variables. adapters: the folder of all adapters. preload: what is to be loaded in
// advance.
struct WayIn {
  std::vector<std::string> words{};
  std::size_t place = 0;  // 1: after the interpreter; 0: after its switches
  std::vector<std::pair<std::string, std::string>> variables{};
};
WayIn way_in(Language language, const std::string& adapters,
             const std::vector<std::string>& preload);

}  // namespace worker
