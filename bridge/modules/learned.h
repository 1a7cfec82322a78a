// Modules that requests load, and that the next generation is to load in advance: decides which of
// the names that a worker sends are trusted.
//
// A worker runs a program, and a program does what its visitors make it do. What is loaded in
// advance runs for all of them. So a name is accepted only if it is a name in the program's
// language, and if the file that the worker gives for it is in a folder where the interpreter looks
// for modules (the zygote said so before any visitor came) and is not a file that the program could
// have written itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/program_settings.h"
#include "limits/identity.h"
#include "worker/language.h"

namespace modules {

// Whether a module can be named in a zygote's command line, in a list separated by commas: it must
// not be a switch or an absolute path, or lead out of a folder.
bool is_module_name(std::string_view name);

struct LoadedModule {
  std::string name;
  std::string file;  // absolute, from the worker
};

// Reads a NOTE_LOADED's text. nullopt: it names no module for a program in this language.
std::optional<LoadedModule> read_loaded_note(worker::Language language, std::string_view text);

// Adds those lines of a NOTE_FOLDERS that are absolute paths; folders has at most
// kModuleFoldersMax.
constexpr std::size_t kModuleFoldersMax = 200;
void read_folders_note(std::string_view text, std::vector<std::string>& folders);

// Examines the file system. Returns why the module is not loaded in advance; nullopt: it may be.
// user: the user that the program runs as. With learn = all, the program's own modules may belong
// to that user.
std::optional<std::string> why_not_ahead(const LoadedModule& module,
                                         const std::vector<std::string>& folders,
                                         config::Learn learn, const limits::Identity& user);

}  // namespace modules
