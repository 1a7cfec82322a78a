// The command line of cgibridge-wasm, which runs WebAssembly modules (adapters/wasm/).
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "limits/identity.h"

namespace worker {

// The runner and its switches; the module's path, and the words for it, follow. adapters: the
// folder that holds the runner. cache: the folder for compiled code, in which the bridge's user,
// root, and whoever runs the module are trusted; empty: none.
std::vector<std::string> wasm_words(const std::string& adapters, const std::string& cache,
                                    const config::ProgramSettings::Wasm& wasm);

// Makes the folder in `cache` that is named by this user's number and belongs to it: the runner
// keeps there what it compiles for that user. Does nothing unless the bridge is root's; if it
// cannot be made, each start compiles.
void make_wasm_cache(const std::string& cache, const limits::Identity& user);

// What the start of such a program may take beyond timeouts.start: once for each version of a
// module, it is compiled. The same time, of the processor, is the limit of a compilation.
constexpr config::Duration kWasmCompileTime = std::chrono::minutes(2);

}  // namespace worker
