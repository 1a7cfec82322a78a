// Which file a program is now, and which one its workers were made from.
#pragma once

#include <string>
#include <vector>

#include "config/program_settings.h"
#include "pool/subject.h"
#include "router/resolver.h"
#include "worker/executable.h"

namespace pool {

// Where the bridge has what its programs need to run.
struct Folders {
  std::string adapters;
  std::string cache;  // for compiled WebAssembly; empty: none
};

// What is executed for a classic request: the words of a query follow argv.
struct ClassicCommand {
  std::string file;
  std::vector<std::string> argv;
};

// Owned by the pool's generations. All references outlive it.
class ProgramVersion {
 public:
  ProgramVersion(const Subject& subject, const config::ProgramSettings& settings,
                 const Folders& folders)
      : subject_(subject), settings_(settings), folders_(folders) {}

  // This file was just found under the program's name. runs_otherwise: the settings name another
  // interpreter than at the last call, or give WebAssembly something else.
  void see(const router::ProgramFile& file, bool runs_otherwise);
  // Reads its first line, and finds what runs it.
  worker::Executable look();

  // Whether it is another file than the one that was taken last.
  bool is_new() const { return seen_ != taken_; }
  // Workers are made from this file from now on.
  void take() { taken_ = seen_; }

  // As of the last look. A native program is launched by the file that was seen.
  const ClassicCommand& classic() const { return classic_; }
  worker::Language language() const { return language_; }

 private:
  const Subject& subject_;
  const config::ProgramSettings& settings_;
  const Folders& folders_;
  router::ProgramFile taken_, seen_;
  ClassicCommand classic_;
  worker::Language language_ = worker::Language::none;
};

}  // namespace pool
