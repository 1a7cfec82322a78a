// The command line of cgibridge-wasm, which runs WebAssembly modules (adapters/wasm/).
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace worker {

// The runner and its switches; the module's path, and the words for it, follow. adapters: the
// folder that holds the runner. cache: the folder for compiled code, in which the bridge's user,
// root, and whoever runs the module are trusted; empty: none.
std::vector<std::string> wasm_words(const std::string& adapters, const std::string& cache,
                                    const config::ProgramSettings::Wasm& wasm);

// What the start of such a program may take beyond timeouts.start: once for each version of a
// module, it is compiled. The same time, of the processor, is the limit of a compilation.
constexpr config::Duration kWasmCompileTime = std::chrono::minutes(2);

}  // namespace worker
