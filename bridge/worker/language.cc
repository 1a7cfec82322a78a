#include "worker/language.h"

#include <algorithm>
#include <array>

namespace worker {
namespace {

struct Traits {
  Language language;
  std::string_view interpreter;  // its file's name, without a version; empty: there is none
  std::string_view name;
  config::Level deepest;
  bool again;  // its adapter can run a script again in the same process
  bool ahead;  // its workers may be started ahead of need instead of being forked
  config::Level shallower = config::Level::linked;  // the next one
};

constexpr std::array kTraits{
    Traits{Language::perl, "perl", "Perl", config::Level::compiled, true, false},
    Traits{Language::python, "python", "Python", config::Level::compiled, true, false},
    Traits{Language::ruby, "ruby", "Ruby", config::Level::compiled, true, false},
    Traits{Language::php, "php-cgi", "PHP", config::Level::linked, false, false},
    Traits{Language::tcl, "tclsh", "Tcl", config::Level::compiled, true, false},
    Traits{Language::node, "node", "Node", config::Level::compiled, true, true,
           config::Level::booted},
    Traits{Language::node, "nodejs", "Node", config::Level::compiled, true, true,
           config::Level::booted},
    Traits{Language::java, "java", "Java", config::Level::booted, false, true},
    Traits{Language::go, {}, "Go", config::Level::compiled, false, false},
    Traits{Language::wasm, "cgibridge-wasm", "WebAssembly", config::Level::compiled, true, false},
};

const Traits* traits_of(Language language) {
  const auto* found =
      std::find_if(kTraits.begin(), kTraits.end(),
                   [language](const Traits& traits) { return traits.language == language; });
  return found == kTraits.end() ? nullptr : found;
}

std::string in_a_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list;
}

}  // namespace

Language language_of(std::string_view interpreter) {
  const std::string_view file = interpreter.substr(interpreter.find_last_of('/') + 1);
  for (const Traits& traits : kTraits) {
    if (traits.interpreter.empty() || !file.starts_with(traits.interpreter)) continue;
    const std::string_view version = file.substr(traits.interpreter.size());
    if (version.find_first_not_of("0123456789.") == version.npos) return traits.language;
  }
  return Language::none;
}

std::string_view name_of(Language language) {
  const Traits* traits = traits_of(language);
  return traits == nullptr ? std::string_view() : traits->name;
}

config::Level deepest_level(Language language, config::Level ceiling) {
  const Traits* traits = traits_of(language);
  if (traits == nullptr) return config::Level::linked;
  if (ceiling >= traits->deepest) return traits->deepest;
  return ceiling >= traits->shallower ? traits->shallower : config::Level::linked;
}

config::Level shallower_level(Language language, config::Level level) {
  const Traits* traits = traits_of(language);
  return traits != nullptr && level == traits->deepest ? traits->shallower : config::Level::linked;
}

bool runs_again(Language language, config::Level level) {
  const Traits* traits = traits_of(language);
  return traits != nullptr && traits->again && level != config::Level::linked;
}

bool may_be_ahead(Language language, config::Level level) {
  const Traits* traits = traits_of(language);
  return traits != nullptr && traits->ahead && level != config::Level::linked;
}

WayIn way_in(Language language, const std::string& adapters,
             const std::vector<std::string>& preload) {
  WayIn way;
  switch (language) {
    case Language::none:
    case Language::php:
    case Language::go:
    case Language::wasm:
      break;
    case Language::perl:
      // Before the first line's own -M, whose INIT blocks must come after the adapter's.
      way = {{"-I" + adapters + "/perl",
              "-MCGIBridge" + (preload.empty() ? "" : "=" + in_a_list(preload))},
             1};
      break;
    case Language::python:
      way = {{adapters + "/python/start.py", "--preload=" + in_a_list(preload)}, 0};
      break;
    case Language::ruby:
      // Before the first line's own -r, which the adapter watches. Only the adapter reads the list:
      // it removes that folder from the load path.
      way = {{"-I" + adapters + "/ruby/preload=" + in_a_list(preload),
              "-r" + adapters + "/ruby/start.rb"},
             1};
      break;
    case Language::node:
      // Before the first line's own --require, which must come after the adapter's. With that much
      // room for new objects few requests need a collection, which would make V8's threads again in
      // each.
      way = {{"--require", adapters + "/node/start.js", "--min-semi-space-size=16"}, 1};
      if (!preload.empty()) way.variables = {{"CGIBRIDGE_PRELOAD", in_a_list(preload)}};
      break;
    case Language::java:
      // Before the command line's own agents, which must not run before the checkpoint. Figures
      // about the machine, which it would share with others in a file, stay in its memory.
      way = {{"-agentpath:" + adapters + "/libcgibridge_java.so", "-XX:+PerfDisableSharedMem"}, 1};
      break;
    case Language::tcl:
      way.variables = {{"TCL_LIBRARY", adapters + "/tcl"},
                       {"CGIBRIDGE_PRELOAD", in_a_list(preload)}};
      break;
  }
  return way;
}

}  // namespace worker
