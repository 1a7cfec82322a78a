#include "worker/wasm_words.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"
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

void make_wasm_cache(const std::string& cache, const limits::Identity& user) {
  if (cache.empty() || ::geteuid() != 0) return;
  ::mkdir(cache.c_str(), 0755);
  const base::UniqueFd folder(::open(cache.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::string name = std::to_string(user.uid);
  if (!folder || ::mkdirat(folder.get(), name.c_str(), 0700) != 0) return;
  if (::fchownat(folder.get(), name.c_str(), user.uid, user.gid, AT_SYMLINK_NOFOLLOW) == 0) return;
  ::unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace worker
