#include "modules/learned.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "limits/owner_rules.h"

namespace modules {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
constexpr std::string_view kWordChars =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
constexpr std::string_view kFileChars =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.-";
constexpr std::size_t kNameMax = 200;
constexpr std::size_t kFileMax = 4096;

bool is_word(std::string_view text) {
  return !text.empty() && kLetters.find(text.front()) != text.npos &&
         text.find_first_not_of(kWordChars) == text.npos;
}

// A name in a folder: not a switch, not hidden, and not leading upward.
bool is_plain_file(std::string_view text) {
  return !text.empty() && kWordChars.find(text.front()) != text.npos &&
         text.find_first_not_of(kFileChars) == text.npos;
}

// Whether every piece between separators passes. The pieces, joined with slashes, are appended to
// path.
bool is_list_of(std::string_view name, std::string_view separator, bool (*passes)(std::string_view),
                std::string& path) {
  for (;;) {
    const std::size_t end = name.find(separator);
    const std::string_view piece = name.substr(0, end);
    if (!passes(piece)) return false;
    path += '/';
    path += piece;
    if (end == name.npos) return true;
    name.remove_prefix(end + separator.size());
  }
}

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [text](std::string_view ending) { return text.ends_with(ending); });
}

// Whether file can be the file of the Python module at path ("/a/b" for a.b).
bool is_file_of_python(std::string_view path, std::string_view file) {
  if (file.ends_with(std::string(path) + "/__init__.py")) return true;
  const std::size_t dot = file.find('.', file.rfind('/'));
  return file.substr(0, dot).ends_with(path) && ends_with_any(file, {".py", ".so", ".pyc"});
}

bool is_named_so(worker::Language language, std::string_view name, std::string_view file) {
  std::string path;
  switch (language) {
    case worker::Language::perl:
      return is_list_of(name, "::", is_word, path) && file.ends_with(path + ".pm");
    case worker::Language::python:
      return is_list_of(name, ".", is_word, path) && is_file_of_python(path, file);
    case worker::Language::ruby:
      return is_list_of(name, "/", is_plain_file, path) &&
             ends_with_any(file, {path + ".rb", path + ".so"});
    case worker::Language::tcl:
      // NAME/VERSION, NS::NAME/VERSION, or a file of Tcl's own library.
      if (name.ends_with(".tcl"))
        return is_plain_file(name) && file.ends_with("/" + std::string(name));
      return is_list_of(name.substr(0, name.find('/')), "::", is_plain_file, path) &&
             is_plain_file(name.substr(std::min(name.find('/'), name.size() - 1) + 1));
    case worker::Language::none:
    case worker::Language::php:
    case worker::Language::go:
    case worker::Language::wasm:
    case worker::Language::node:
    case worker::Language::java:
      break;
  }
  return false;
}

bool is_below(const std::filesystem::path& file, const std::string& folder) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(folder, error);
  if (error || real == "/") return false;
  const auto [end, in_file] = std::mismatch(real.begin(), real.end(), file.begin(), file.end());
  return end == real.end();
}

// Stands for everybody: a user that has only the rights that all users have.
limits::Identity anybody() {
  constexpr ::uid_t kNobody = 65534;
  return {.name = "nobody", .uid = kNobody, .gid = kNobody, .groups = {}};
}

}  // namespace

bool is_module_name(std::string_view name) {
  return !name.empty() && name.size() < kNameMax && name.front() != '-' && name.front() != '/' &&
         name.find("..") == name.npos &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyz"
             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/-") == name.npos;
}

std::optional<LoadedModule> read_loaded_note(worker::Language language, std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  const std::string_view name = text.substr(0, end);
  const std::string_view file = text.substr(end + 1);
  const bool is_path = file.starts_with('/') && file.size() < kFileMax &&
                       file.find_first_of(std::string_view("\n\0", 2)) == file.npos;
  if (!is_path || !is_module_name(name) || !is_named_so(language, name, file)) return std::nullopt;
  return LoadedModule{std::string(name), std::string(file)};
}

void read_folders_note(std::string_view text, std::vector<std::string>& folders) {
  while (!text.empty() && folders.size() < kModuleFoldersMax) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with('/')) folders.emplace_back(line);
  }
}

std::optional<std::string> why_not_ahead(const LoadedModule& module,
                                         const std::vector<std::string>& folders,
                                         config::Learn learn, const limits::Identity& user) {
  std::error_code error;
  const std::filesystem::path named = module.file;
  // The file itself may be a link, if only those who may change modules can have made it.
  const std::filesystem::path file =
      std::filesystem::canonical(named.parent_path(), error) / named.filename();
  const std::filesystem::path target =
      error ? std::filesystem::path() : std::filesystem::canonical(file, error);
  if (error) return fmt::format("{}: {}", module.file, error.message());
  const bool is_where_modules_are =
      std::any_of(folders.begin(), folders.end(),
                  [&file](const std::string& folder) { return is_below(file, folder); });
  if (!is_where_modules_are) {
    return fmt::format("{} is not where its interpreter looks for modules", file.native());
  }
  if (!std::filesystem::is_regular_file(target, error)) return file.native() + " is no file";
  for (const auto& path : {file, target}) {
    const auto facts = limits::facts_of(path);
    if (!facts) return facts.error().message;
    auto why =
        limits::why_changeable(facts.value(), learn == config::Learn::all ? anybody() : user);
    if (why) return why;
  }
  return std::nullopt;
}

}  // namespace modules
