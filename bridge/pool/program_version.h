// Which file a program is now, and which one its workers were made from.
#pragma once

#include <string>

#include "config/program_settings.h"
#include "router/resolver.h"
#include "worker/executable.h"

namespace pool {

// Owned by the pool's generations. Both references outlive it.
class ProgramVersion {
 public:
  ProgramVersion(const std::string& program, const config::ProgramSettings& settings)
      : program_(program), settings_(settings) {}

  // This file was just found under the program's name. other_interpreter: the settings name another
  // interpreter than at the last call.
  void see(const router::ProgramFile& file, bool other_interpreter);
  // Reads its first line, and finds what runs it.
  worker::Executable look();

  // Whether it is another file than the one that was taken last.
  bool is_new() const { return seen_ != taken_; }
  // Workers are made from this file from now on.
  void take() { taken_ = seen_; }

  // As of the last look: what is executed for a classic request (for a native program the file that
  // was seen, otherwise the program's path), and the language.
  const std::string& launched_file() const { return launched_file_; }
  worker::Language language() const { return language_; }

 private:
  const std::string& program_;
  const config::ProgramSettings& settings_;
  router::ProgramFile taken_, seen_;
  std::string launched_file_;
  worker::Language language_ = worker::Language::none;
};

}  // namespace pool
