#include "worker/wasm_words.h"

#include <fmt/format.h>
#include <unistd.h>

#include "router/wasm_file.h"

namespace worker {

std::vector<std::string> wasm_words(const std::string& adapters, const std::string& cache,
                                    const config::ProgramSettings::Wasm& wasm) {
  std::vector<std::string> words{router::wasm_runner(adapters)};
  for (const auto& [name, path] : wasm.dirs)
    words.push_back(fmt::format("--dir={}={}", name, path));
  for (const std::string& name : wasm.read_only) words.push_back("--read-only=" + name);
  words.push_back(fmt::format("--memory={}", wasm.memory));
  words.push_back(fmt::format("--stack={}", wasm.stack));
  if (!cache.empty()) {
    words.push_back("--cache=" + cache);
    words.push_back(fmt::format("--cache-owner={}", ::geteuid()));
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kWasmCompileTime);
  words.push_back(fmt::format("--compile-time={}", seconds.count()));
  return words;
}

}  // namespace worker
