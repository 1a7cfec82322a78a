// Files that are WebAssembly.
#pragma once

#include <string>
#include <string_view>

namespace router {

// Whether a file that begins so is a WebAssembly module or component (core specification 5.5.16,
// "\0asm"), whatever its version: only the runner can tell what it supports. file_start: at least
// the first four bytes of the file.
bool is_wasm(std::string_view file_start);

// The same for a file. False, too, if it cannot be read.
bool is_wasm_file(const std::string& path);

// The path of what runs such files, in the folder of the adapters.
std::string wasm_runner(const std::string& adapters);

// Why nothing can run a WebAssembly module: there is no such runner; empty: there is one.
std::string why_no_wasm_runner(const std::string& runner);

}  // namespace router
