#include "worker/executable.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/unique_fd.h"
#include "message/wire.h"
#include "router/elf_file.h"
#include "router/first_line.h"
#include "router/regular_file.h"
#include "router/unrunnable.h"
#include "router/wasm_file.h"
#include "worker/wrapped.h"

namespace worker {
namespace {

// The kernel follows as many levels of scripts that are run by scripts (BINPRM recursion).
constexpr int kInterpretersMax = 4;

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Whether programs that call the kernel by instructions of their own can be warm: the kernel hands
// these calls back. (The library's static/ and go/.)
constexpr bool kOwnCallsAreSeen = router::kHasCheckpoint && router::kOwnMachine == EM_X86_64;

std::string no_checkpoint() {
  return "no checkpoint library for this processor, " + router::machine_name(router::kOwnMachine) +
         ": it is made for x86-64 and aarch64";
}

// Why the checkpoint library cannot be loaded into this ELF file; empty if it can, or if it is
// static and can be run in a program into which the library can be loaded.
std::string cold_reason_of_elf(int fd, bool& is_static, bool& is_go) {
  if (!router::kHasCheckpoint) return no_checkpoint();
  Elf64_Ehdr header;
  if (::pread(fd, &header, sizeof header, 0) != sizeof header) return "a file without a header";
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "neither ELF nor a script";
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != router::kOwnMachine) {
    return "an executable for another kind of machine";
  }
  const std::string loader = router::elf_loader(fd, header);
  is_go = router::elf_is_go(fd, header);
  is_static = loader.empty();
  if (!kOwnCallsAreSeen && is_static) return "a static executable: nothing can be preloaded";
  if (!kOwnCallsAreSeen && is_go) {
    return "a Go executable: it makes its system calls itself, which is noticed on x86-64 only";
  }
  if (is_static) return {};
  if (!starts_with(base_name(loader), "ld-linux")) return "not linked with glibc (" + loader + ")";
  return {};
}

// Why the kernel would drop LD_PRELOAD for this file; empty if it would not.
std::string privilege_reason(const std::string& file, int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return "cannot be looked at";
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0) return "setuid or setgid";
  if (::fgetxattr(fd, "security.capability", nullptr, 0) > 0) return "has file capabilities";
  if (::access(file.c_str(), R_OK) != 0) return "cannot be read";
  return {};
}

// Calls see(piece) with the file's bytes, piece by piece, until it returns true; pieces overlap by
// kOverlap bytes. Nothing is mapped: whoever cuts a mapped file ends the process that looks at it.
constexpr std::size_t kPiece = 1 << 20, kOverlap = 256;

template <typename See>
bool look_into(int fd, off_t bytes_max, const See& see) {
  struct stat status;
  if (::fstat(fd, &status) != 0 || status.st_size > bytes_max) return false;
  std::string piece(kPiece + kOverlap, '\0');
  for (off_t at = 0; at < status.st_size; at += static_cast<off_t>(kPiece)) {
    const ssize_t got = ::pread(fd, piece.data(), piece.size(), at);
    if (got <= 0) return false;
    if (see(std::string_view(piece.data(), static_cast<std::size_t>(got)))) return true;
  }
  return false;
}

// Lua since 5.4 seeds its generator from the clock's second and an address; all workers would have
// the address in common. Whatever the interpreter is called: it has Lua's own words in it, or the
// name of Lua's library. LuaJIT and older ones have other words. is_interpreter: something is run
// by it; of other programs only the one that is Lua itself counts, and not those (cgit) that can
// call Lua.
bool draws_from_addresses(int fd, bool is_interpreter) {
  constexpr std::string_view kVersion = "$LuaVersion: Lua 5.", kLibrary = "liblua";
  constexpr off_t kBytesMax = 4 << 20;
  bool is_lua = is_interpreter, is_new = false;
  return look_into(fd, kBytesMax, [&](std::string_view text) {
    const auto after = [text](std::string_view word) {
      const std::size_t at = text.find(word);
      return at == text.npos ? std::string_view() : text.substr(at + word.size(), 8);
    };
    const std::string_view version = after(kVersion), library = after(kLibrary);
    is_new |= version.starts_with('4') || version.starts_with('5') || library.starts_with("5.4") ||
              library.starts_with("5.5") || library.starts_with("-5.4") ||
              library.starts_with(".so.5.4");
    is_lua |= text.find("LUA_INIT") != text.npos;
    return is_lua && is_new;
  });
}

// Whether it is the PHP that speaks FastCGI, whatever its name: two words from cgi_main.c are in
// neither php (cli) nor php-fpm, and the third is in no other program's binary. So nothing has to
// be run.
bool is_php_cgi(int fd) {
  constexpr std::array<std::string_view, 3> kWords = {"CGI/FastCGI", "PHP_FCGI_CHILDREN",
                                                      "X-Powered-By: PHP/"};
  constexpr off_t kBytesMax = 256 << 20;
  std::array<bool, kWords.size()> found{};
  return look_into(fd, kBytesMax, [&](std::string_view text) {
    for (std::size_t i = 0; i < kWords.size(); ++i) {
      const std::string_view word = kWords[i];
      found[i] =
          found[i] || ::memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
    }
    return std::ranges::all_of(found, std::identity());
  });
}

// Where the kernel, or env(1), would find the interpreter; empty if nowhere.
std::string locate(const router::Interpreter& interpreter, std::string_view search_path) {
  // env(1)'s assignments also apply to its own search.
  for (const std::string_view assignment : interpreter.assignments) {
    if (assignment.starts_with("PATH=")) search_path = assignment.substr(5);
  }
  if (interpreter.lookup == router::Lookup::path ||
      interpreter.interpreter.find('/') != std::string::npos) {
    return interpreter.interpreter;
  }
  return router::find_in_path(interpreter.interpreter, search_path);
}

// argv[0] names a script: puts its interpreter at the beginning of argv.
std::string enter_interpreter(Executable& executable, const router::FirstLine& line,
                              std::string_view search_path) {
  const auto interpreter = router::interpreter_of(line);
  if (!interpreter) return interpreter.error().message;
  const std::string file = locate(interpreter.value(), search_path);
  if (file.empty()) return "no interpreter \"" + interpreter.value().interpreter + "\" in PATH";
  // The kernel gives the interpreter its own path as argv[0]; env(1) gives it the name from the
  // first line.
  std::vector<std::string> words{interpreter.value().interpreter};
  const auto& more = interpreter.value().words;
  words.insert(words.end(), more.begin(), more.end());
  // A script that runs a script is named by its path, and not by the name that it was called by.
  if (executable.interpreter_words > 0) executable.argv.front() = executable.file;
  executable.interpreter_words += words.size();
  executable.argv.insert(executable.argv.begin(), words.begin(), words.end());
  const auto& assignments = interpreter.value().assignments;
  executable.assignments.insert(executable.assignments.end(), assignments.begin(),
                                assignments.end());
  executable.file = file;
  return {};
}

// What runs the program without being named in its file, and its switches; empty: nothing does.
std::vector<std::string> words_before(const RunBy& run_by, const std::string& file) {
  if (!run_by.interpreter.empty()) return {run_by.interpreter};
  if (!run_by.wasm.empty() && router::is_wasm_file(file)) return run_by.wasm;
  return {};
}

Executable look_at(const std::string& program, std::string_view search_path, const RunBy& run_by,
                   const std::string& file) {
  Executable executable{.file = file.empty() ? program : file, .argv = {program}};
  const std::vector<std::string> words = words_before(run_by, executable.file);
  if (!words.empty()) {
    if (run_by.interpreter.empty()) executable.language = Language::wasm;
    executable.file = words.front();
    executable.argv.insert(executable.argv.begin(), words.begin(), words.end());
    executable.interpreter_words = words.size();
  }
  for (int depth = 0; depth <= kInterpretersMax; ++depth) {
    const base::UniqueFd fd = router::open_regular(executable.file);
    if (!fd) {
      executable.cold_reason = executable.file + ": cannot be read";
      return executable;
    }
    executable.cold_reason = privilege_reason(executable.file, fd.get());
    if (!executable.cold_reason.empty()) return executable;
    std::array<char, router::kFirstLineBytes> start;
    const ssize_t got = ::pread(fd.get(), start.data(), start.size(), 0);
    const auto line = router::parse_first_line(
        std::string_view(start.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))));
    if (!line) {
      bool is_go = false;
      executable.cold_reason = cold_reason_of_elf(fd.get(), executable.is_static, is_go);
      // Only a script that its interpreter reads directly can be compiled in advance.
      if (depth == (words.empty() ? 1 : 0)) {
        executable.language = language_of(executable.argv.front());
        if (executable.language == Language::none && is_php_cgi(fd.get())) {
          executable.language = Language::php;
        }
      }
      // The adapters reach the library through the interpreter's libc.
      if (executable.is_static && executable.language != Language::php) {
        executable.language = Language::none;
      }
      if (is_go) executable.language = Language::go;
      if (executable.language == Language::tcl && !is_known_tclsh(executable.file)) {
        executable.language = Language::none;
      }
      const bool may_be_lua = executable.language == Language::none;
      if (may_be_lua && executable.cold_reason.empty() &&
          draws_from_addresses(fd.get(), executable.interpreter_words > 0)) {
        executable.cold_reason = "Lua 5.4's random numbers would be the same in all workers";
      }
      return executable;
    }
    executable.cold_reason = enter_interpreter(executable, *line, search_path);
    if (!executable.cold_reason.empty()) return executable;
  }
  executable.cold_reason = "too many interpreters that are scripts";
  return executable;
}

}  // namespace

bool is_known_tclsh(const std::string& file) {
  std::error_code error;
  return std::filesystem::canonical(file, error).filename() == "tclsh8.6";
}

bool speaks_fastcgi(const Executable& executable, config::Launch launch) {
  if (launch == config::Launch::automatic) return executable.language == Language::php;
  return launch == config::Launch::fastcgi;
}

Executable inspect(const std::string& program, std::string_view search_path, const RunBy& run_by,
                   const std::string& file) {
  Executable executable = look_at(program, search_path, run_by, file);
  if (run_by.interpreter.empty()) {
    if (auto wrapped = wrapped_by(program, executable, search_path)) return *std::move(wrapped);
  }
  if (executable.cold_reason.empty()) return executable;
  // If it cannot run in classic mode either, report the reason for that instead.
  std::string why = executable.language == Language::wasm
                        ? router::why_no_wasm_runner(executable.file)
                        : router::why_unrunnable(program, search_path, run_by.interpreter);
  if (!why.empty()) executable.cold_reason = std::move(why);
  return executable;
}

std::vector<std::string> fastcgi_argv(const Executable& executable) {
  if (executable.language != Language::php) return executable.argv;
  return {executable.argv.begin(),
          executable.argv.begin() + static_cast<std::ptrdiff_t>(executable.interpreter_words)};
}

config::Level deepest_level(const Executable& executable, config::Level ceiling) {
  return deepest_level(executable.language, ceiling);
}

std::vector<std::pair<std::string, std::string>> zygote_variables(
    const Executable& executable, config::Level level, const std::string& adapters,
    const std::vector<std::string>& preload) {
  if (executable.is_static) return {{MESSAGE_STATIC_VARIABLE, executable.file}};
  if (level == config::Level::linked) return {};
  return way_in(executable.language, adapters, preload).variables;
}

std::string zygote_file(const Executable& executable, const std::string& adapters) {
  return executable.is_static ? adapters + "/cgibridge-static" : executable.file;
}

std::vector<std::string> zygote_argv(const Executable& executable, config::Level level,
                                     const std::string& adapters,
                                     const std::vector<std::string>& preload) {
  std::vector<std::string> argv = executable.argv;
  if (level == config::Level::linked) return argv;
  // They come with each request, as the words of a query do.
  argv.resize(argv.size() - executable.script_words);
  const WayIn way = way_in(executable.language, adapters, preload);
  const std::size_t place = way.place == 0 ? executable.interpreter_words : way.place;
  argv.insert(argv.begin() + static_cast<std::ptrdiff_t>(place), way.words.begin(),
              way.words.end());
  return argv;
}

}  // namespace worker
