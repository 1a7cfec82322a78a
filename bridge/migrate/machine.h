// The machine's own files: configurations, and the programs in their folders.
#pragma once

#include <string>
#include <vector>

#include "migrate/config_files.h"
#include "migrate/place.h"
#include "migrate/proposal.h"

namespace migrate {

class MachineFiles : public ConfigFiles {
 public:
  static constexpr std::size_t kBytesMax = 1024 * 1024;  // a larger file is refused

  base::Result<SourceFile> read(const std::string& path) override;
  std::vector<std::string> matching(const std::string& pattern) override;
  std::vector<std::string> below(const std::string& folder) override;
};

bool is_file(const std::string& path);

// How much of the file system is looked at for one place.
struct WalkLimits {
  unsigned depth = 8;
  std::size_t entries = 50'000;
  std::size_t programs = 1000;
};

// The programs of a place: files that are executable, and that begin like a script or an
// executable. Links to programs count, links to folders are not followed. Hidden files and folders
// are left out. programs: those that it lacks are added; the others get the place's number.
PlaceFiles find_programs(const Place& place, std::size_t number, const WalkLimits& limits,
                         std::vector<FoundProgram>& programs);

}  // namespace migrate
