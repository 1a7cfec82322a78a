// Which file a program is now, and which one its workers were made of.
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

  // This file was found by the program's name just now. other_interpreter: the settings name
  // another one than at the last call.
  void see(const router::ProgramFile& file, bool other_interpreter);
  // Reads its first line, and finds what runs it.
  worker::Executable look();

  // It is another file than the one that was taken last.
  bool is_new() const { return seen_ != taken_; }
  // Workers are made of this file from here on.
  void take() { taken_ = seen_; }

  // As of the last look: what is executed for a classic request (of a native program the file that
  // was seen, else the program's path), and the language.
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
