// Any bytes as a program's file: inspecting it does no harm, and only a file that begins like an
// ELF file of this machine, or like a script, is considered for a zygote.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "worker/executable.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int fd = ::memfd_create("program", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  BRIDGE_ASSERT(::ftruncate(fd, 0) == 0);
  BRIDGE_ASSERT(::pwrite(fd, data, size, 0) == static_cast<ssize_t>(size));
  const worker::Executable found = worker::inspect(path, "/usr/bin:/bin");
  BRIDGE_ASSERT(!found.argv.empty() && !found.file.empty());
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const bool may_be = bytes.starts_with(
                          "\x7f"
                          "ELF") ||
                      bytes.starts_with("#!");
  BRIDGE_ASSERT(may_be || !found.cold_reason.empty());
  BRIDGE_ASSERT(found.interpreter_words < found.argv.size());
  if (found.file != path) {
    BRIDGE_ASSERT(found.interpreter_words > 0);
    BRIDGE_ASSERT(found.argv[found.interpreter_words] == path);
  }
  return 0;
}
