#include "router/wasm_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"
#include "router/regular_file.h"

namespace router {
namespace {

constexpr std::string_view kMagic("\0asm", 4);

}  // namespace

bool is_wasm(std::string_view file_start) {
  return file_start.starts_with(kMagic);
}

bool is_wasm_file(const std::string& path) {
  const base::UniqueFd fd = open_regular(path);
  if (!fd) return false;
  std::array<char, kMagic.size()> start;
  const ssize_t got = ::pread(fd.get(), start.data(), start.size(), 0);
  return is_wasm({start.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
}

std::string wasm_runner(const std::string& adapters) {
  return adapters + "/cgibridge-wasm";
}

std::string why_no_wasm_runner(const std::string& runner) {
  if (::access(runner.c_str(), X_OK) == 0) return {};
  return "it is WebAssembly, and what runs it cannot be executed (" + runner + ": " +
         std::strerror(errno) +
         "): install the package cgibridge-wasm, or build the bridge where cargo is";
}

}  // namespace router
