// Modules that requests load and that the next generation is to load ahead of them: which of those
// that a worker names are believed.
//
// A worker runs a program, and a program does what its visitors make it do. What is loaded ahead
// runs for all of them. So a name is taken only if it is one in the program's language, and if the
// file that the worker says it stands for lies where the interpreter looks for modules (the
// zygote's word, from before any visitor) and is none that the program could have written itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/program_settings.h"
#include "limits/identity.h"
#include "worker/language.h"

namespace modules {

// Whether a module can be named in a zygote's command line, in a list that commas part: no switch,
// no absolute path, nothing that leads out of a folder.
bool is_module_name(std::string_view name);

struct LoadedModule {
  std::string name;
  std::string file;  // absolute, as the worker says
};

// A NOTE_LOADED's text. nullopt: it is none for a program in this language.
std::optional<LoadedModule> read_loaded_note(worker::Language language, std::string_view text);

// Adds the lines of a NOTE_FOLDERS that are absolute paths; folders has at most kModuleFoldersMax.
constexpr std::size_t kModuleFoldersMax = 200;
void read_folders_note(std::string_view text, std::vector<std::string>& folders);

// Looks at the file system. Why the module is not loaded ahead; nullopt: it may be. user: whom the
// program runs as. With learn = all its own modules may be his.
std::optional<std::string> why_not_ahead(const LoadedModule& module,
                                         const std::vector<std::string>& folders,
                                         config::Learn learn, const limits::Identity& user);

}  // namespace modules
