// Any path, looked up in a folder that has programs, links into and out of the roots, a loop of
// links, a FIFO and files that are no programs. Only the two programs may run, by a path in the
// root; a remembered answer is the same; and the path is its script plus its rest.
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "cgi/script_reference.h"
#include "fuzz/fields.h"
#include "router/resolver.h"

namespace {

void write_file(const std::string& path, mode_t mode) {
  std::ofstream(path) << "#!/bin/sh\n";
  BRIDGE_ASSERT(::chmod(path.c_str(), mode) == 0);
}

class Folder {
 public:
  Folder() {
    char made[] = "/tmp/cgibridge-router-fuzz.XXXXXX";
    BRIDGE_ASSERT(::mkdtemp(made) != nullptr);
    top = made;
    for (const char* folder : {"/r", "/r/d", "/r/d/a b", "/out"}) {
      BRIDGE_ASSERT(::mkdir((top + folder).c_str(), 0755) == 0);
    }
    write_file(top + "/r/p", 0755);
    write_file(top + "/r/d/a b/p%2e", 0755);
    write_file(top + "/r/plain", 0644);
    write_file(top + "/out/p", 0755);
    BRIDGE_ASSERT(::mkfifo((top + "/r/fifo").c_str(), 0755) == 0);
    const auto link = [this](const std::string& to, const char* from) {
      BRIDGE_ASSERT(::symlink(to.c_str(), (top + from).c_str()) == 0);
    };
    link("d/a b/p%2e", "/r/in");
    link(top + "/out/p", "/r/away");
    link("..", "/r/up");
    link("loop", "/r/loop");
    link(top + "/out", "/r/d/out");
  }
  ~Folder() { (void)!std::system(("rm -rf " + top).c_str()); }

  std::string top;
};

const Folder& folder() {
  static const Folder made;
  return made;
}

void demand(router::Resolver& resolver, const std::string& path) {
  const auto found = resolver.resolve(path);
  const auto again = resolver.resolve(path);
  BRIDGE_ASSERT(found.ok() == again.ok());
  if (!found) {
    BRIDGE_ASSERT(found.refusal().status == 403 || found.refusal().status == 404);
    BRIDGE_ASSERT(again.refusal().status == found.refusal().status);
    return;
  }
  const router::Resolution& one = found.value();
  const std::string& top = folder().top;
  const std::string& file = one.file.path;
  BRIDGE_ASSERT(file == top + "/r/p" || file == top + "/r/d/a b/p%2e");
  BRIDGE_ASSERT(one.program.starts_with(top + "/r/") && one.program.find("//") == file.npos);
  BRIDGE_ASSERT(one.program == file || !one.file.links.empty());
  BRIDGE_ASSERT(one.script + one.path_info == path);
  BRIDGE_ASSERT(one.path_info.empty() || one.path_info.front() == '/');
  const std::string framed = path + "/";
  BRIDGE_ASSERT(framed.find("/../") == framed.npos && framed.find("/./") == framed.npos);
  BRIDGE_ASSERT(again.value().program == one.program && again.value().script == one.script);
  BRIDGE_ASSERT(again.value().path_info == one.path_info);
}

}  // namespace

// Fields: the path below the folder, SCRIPT_NAME, PATH_INFO, QUERY_STRING.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static router::Resolver resolver(loop::system_clock(), {folder().top + "/r"}, {}, 4);
  const auto parts = fuzz::fields(data, size, 4);
  const std::string below = folder().top + std::string(parts[0]);
  demand(resolver, below);

  cgi::Variables variables{{"SCRIPT_FILENAME", below}};
  constexpr std::string_view kNames[] = {"SCRIPT_NAME", "PATH_INFO", "QUERY_STRING"};
  for (std::size_t i = 1; i < parts.size(); ++i) variables.emplace_back(kNames[i - 1], parts[i]);
  const auto path = cgi::script_path(variables);
  if (path) demand(resolver, path.value());
  return 0;
}
