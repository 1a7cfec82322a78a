#include "router/unrunnable.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/unique_fd.h"
#include "cgi/environment.h"
#include "router/elf_file.h"
#include "router/first_line.h"
#include "router/regular_file.h"
#include "router/wasm_file.h"

namespace router {
namespace {

// How many scripts run by scripts the kernel follows (BINPRM recursion).
constexpr int kInterpretersMax = 4;
// Names appear in a sentence; a longer one would not say more.
constexpr std::size_t kNameShown = 300;

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

std::string shown(std::string_view text) {
  return base::printable(text, kNameShown);
}

// One file on the way, and how messages name it: the program itself, or what runs it.
struct Subject {
  std::string file;
  std::string name;  // "/srv/x.cgi", or "/srv/x.cgi: its interpreter /usr/bin/x"
};

// What keeps the kernel from accepting it as an executable at all, whatever it contains.
std::string why_not_a_program(const Subject& subject) {
  struct stat status = {};
  if (::stat(subject.file.c_str(), &status) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) {
      return fmt::format("{} cannot be reached: {}", subject.name, std::strerror(errno));
    }
    return fmt::format("{} does not exist: install it, or correct its name", subject.name);
  }
  if (S_ISDIR(status.st_mode))
    return subject.name + " is a folder, not a program: name a file in it";
  if (!S_ISREG(status.st_mode))
    return subject.name + " is no regular file: only such a one is executed";
  if ((status.st_mode & 0111) == 0) {
    return fmt::format("{} is not executable: chmod +x {}", subject.name, shown(subject.file));
  }
  struct statvfs system = {};
  if (::statvfs(subject.file.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0) {
    return subject.name +
           " lies on a file system that is mounted noexec: nothing there can be executed; move "
           "it, or mount that without noexec";
  }
  if (::access(subject.file.c_str(), X_OK) != 0) {
    return fmt::format(
        "{} may not be executed by uid {}: {} (its mode is {:o}, its owner uid {}): chmod a+x it, "
        "and the folders above it",
        subject.name, ::geteuid(), std::strerror(errno), status.st_mode & 07777, status.st_uid);
  }
  return {};
}

// ---- ELF ----

std::string why_not_this_elf(const Subject& subject, int fd) {
  Elf64_Ehdr header{};
  const ssize_t got = ::pread(fd, &header, sizeof header, 0);
  // Class and machine are in the same place in a 32-bit header.
  if (got < static_cast<ssize_t>(sizeof(Elf32_Ehdr))) {
    return subject.name + " is an executable that is cut off: copy it anew";
  }
  if (header.e_machine != kOwnMachine) {
    return fmt::format(
        "{} is an executable for another architecture, {}; this machine is {}: install the one "
        "that was built for it",
        subject.name, machine_name(header.e_machine), machine_name(kOwnMachine));
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
    return subject.name + " is an object file or a core dump, not an executable: link it";
  }
  const std::string loader = elf_loader(fd, header);
  if (loader.empty() || ::access(loader.c_str(), F_OK) == 0) return {};
  return fmt::format(
      "{} wants the loader {}, which does not exist: install the C library that it was linked "
      "with, or build it for this system",
      subject.name, shown(loader));
}

// ---- scripts ----

// For a file that is neither a script nor ELF.
std::string why_no_format(const Subject& subject, std::string_view start) {
  if (start.empty()) return subject.name + " is empty: there is no program in it; copy it anew";
  if (start.starts_with(kUtf8Mark)) {
    return fmt::format(
        "{} begins with a byte order mark (UTF-8 BOM), so the kernel does not see its \"#!\": save "
        "it without one (sed -i '1s/^\\xef\\xbb\\xbf//' {})",
        subject.name, shown(subject.file));
  }
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) {
    return subject.name + " is UTF-16 text: save it as UTF-8, without a byte order mark";
  }
  if (is_wasm(start)) {
    return subject.name +
           " is WebAssembly, and what runs it is not installed: install the package cgibridge-wasm";
  }
  if (start.starts_with("MZ"))
    return subject.name + " is a program for Windows: install the one for Linux";
  if (start.starts_with("\xCF\xFA\xED\xFE") || start.starts_with("\xCA\xFE\xBA\xBE")) {
    return subject.name + " is a program for macOS, or a Java class: install the one for Linux";
  }
  const std::size_t text = start.find_first_not_of(" \t\r\n");
  if (text != start.npos && start.substr(text).starts_with("#!")) {
    return subject.name +
           " has blanks or empty lines in front of its \"#!\", which has to be the very first two "
           "bytes: remove them";
  }
  const bool is_php = start.substr(std::min(text, start.size())).starts_with("<?");
  return subject.name +
         (is_php
              ? " is PHP without a \"#!\" line: give it an interpreter in the settings "
                "(interpreter = \"/usr/bin/php-cgi\")"
              : " has no \"#!\" line and is no executable for Linux: let its first line name its "
                "interpreter, such as #!/bin/sh, or set interpreter in the settings");
}

// For a file whose first line the kernel does not accept.
std::string why_no_line(const Subject& subject, std::string_view start) {
  const std::size_t end = std::min(start.find('\n'), start.size());
  if (start.substr(2, end - 2).find_first_not_of(" \t\r") == start.npos || end < start.size()) {
    return subject.name +
           ": its first line names no interpreter after \"#!\": add it, such as #!/bin/sh";
  }
  return fmt::format(
      "{}: its first line is too long: the kernel reads no more than {} bytes of it, in which the "
      "interpreter's name does not end; use a shorter path (a symlink), or #!/usr/bin/env",
      subject.name, kFirstLineBytes - 1);
}

std::string why_carriage_return(const Subject& subject, std::string_view asked_for) {
  return fmt::format(
      "{0}: its first line ends in CR LF, as on Windows, and so asks for \"{1}\": save it with "
      "Unix "
      "line ends (sed -i 's/\\r$//' {2}, or dos2unix {2})",
      subject.name, shown(asked_for), shown(subject.file));
}

// The next file on the way, or why there is none; neither: only env(1) itself can tell.
struct Next {
  std::string file{}, why{};
};

Next next_after(const Subject& subject, const FirstLine& line, std::string_view search_path) {
  if (line.interpreter.ends_with('\r')) {
    return {.why = why_carriage_return(subject, line.interpreter)};
  }
  const bool has_return = line.argument && line.argument->ends_with('\r');
  const auto found = interpreter_of(line);
  // The last word contains it: a switch, or env's command.
  if (has_return) return {.why = why_carriage_return(subject, *line.argument)};
  if (!found) return {};
  const Interpreter& interpreter = found.value();
  for (const std::string_view assignment : interpreter.assignments) {
    if (assignment.starts_with("PATH=")) search_path = assignment.substr(5);
  }
  if (interpreter.lookup == Lookup::path) return {.file = interpreter.interpreter};
  std::string file = find_in_path(interpreter.interpreter, search_path);
  if (!file.empty()) return {.file = std::move(file)};
  return {.why = fmt::format(
              "{}: no interpreter \"{}\" in PATH ({}), where env in its first line looks for it: "
              "install it, name it by its whole path, or set PATH in the program's env",
              subject.name, shown(interpreter.interpreter), shown(search_path))};
}

}  // namespace

std::string_view search_path_in(std::string_view environment) {
  return cgi::value_in(environment, "PATH");
}

std::string find_in_path(std::string_view name, std::string_view search_path) {
  while (!search_path.empty()) {
    const std::size_t colon = std::min(search_path.find(':'), search_path.size());
    const std::string candidate =
        std::string(search_path.substr(0, colon)).append("/").append(name);
    if (candidate.front() == '/' && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    search_path.remove_prefix(std::min(colon + 1, search_path.size()));
  }
  return {};
}

std::string why_unrunnable(const std::string& program, std::string_view search_path,
                           const std::string& interpreter) {
  Subject subject{program, shown(program)};
  const auto look_behind = [&](std::string file, std::string_view named_by) {
    subject.name =
        fmt::format("{}: its interpreter {} ({})", shown(program), shown(file), named_by);
    subject.file = std::move(file);
  };
  if (!interpreter.empty()) look_behind(interpreter, "of the settings");
  for (int depth = 0; depth <= kInterpretersMax; ++depth) {
    if (std::string why = why_not_a_program(subject); !why.empty()) return why;
    const base::UniqueFd fd = open_regular(subject.file);
    if (!fd) return {};  // an executable need not be readable
    std::array<char, kFirstLineBytes> bytes;
    const ssize_t got = ::pread(fd.get(), bytes.data(), bytes.size(), 0);
    if (got < 0) return {};
    const std::string_view start(bytes.data(), static_cast<std::size_t>(got));
    if (start.starts_with(ELFMAG)) return why_not_this_elf(subject, fd.get());
    if (!start.starts_with("#!")) return why_no_format(subject, start);
    const auto line = parse_first_line(start);
    if (!line) return why_no_line(subject, start);
    Next next = next_after(subject, *line, search_path);
    if (next.file.empty()) return next.why;
    look_behind(std::move(next.file), "of the first line");
  }
  return shown(program) + ": too many interpreters that are scripts themselves";
}

std::string what_hindered(const std::string& program, std::string_view environment,
                          const std::string& interpreter, std::string_view last_word) {
  // Then it is its runner that ended, and that one says why.
  if (interpreter.empty() && is_wasm_file(program)) return {};
  const std::string why = why_unrunnable(program, search_path_in(environment), interpreter);
  if (!why.empty()) return "; " + why;
  // What ld.so says.
  if (last_word.find("error while loading shared libraries") == last_word.npos) return {};
  return fmt::format("; install the package that has this library (ldd {} lists what is missing)",
                     shown(program));
}

}  // namespace router
