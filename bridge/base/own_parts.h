// The files that belong to this executable, wherever it was put.
#pragma once

#include <filesystem>
#include <initializer_list>

namespace base {

// The first of folders, each relative to this executable's own, that has that file; if none has
// it, the last of them. Absolute and without dots.
std::filesystem::path own_folder_with(const char* file, std::initializer_list<const char*> folders);

}  // namespace base
