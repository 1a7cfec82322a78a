#include "migrate/apache_text.h"

#ifdef CGIBRIDGE_AUGEAS
#include <augeas.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#endif

namespace migrate {

#ifndef CGIBRIDGE_AUGEAS

Parsed parse_apache(std::string_view) {
  return {.directives = {}, .why = why_no_apache(), .line = 0};
}

std::string why_no_apache() {
  return "this cgibridge was built without libaugeas, which reads Apache's files; install "
         "libaugeas-dev and build it again";
}

#else

namespace {

constexpr const char* kLens = "Httpd.lns";
// Where the text is and where its tree goes, in augeas's own tree of everything.
constexpr const char* kText = "/text";
constexpr const char* kTree = "/tree";
constexpr const char* kBadText = "/augeas/text/tree/error";

struct Closer {
  void operator()(augeas* handle) const { aug_close(handle); }
};
using Handle = std::unique_ptr<augeas, Closer>;

// No file is read except the lens.
Handle open_augeas() {
  return Handle(aug_init(nullptr, nullptr, AUG_NO_LOAD | AUG_NO_MODL_AUTOLOAD | AUG_ENABLE_SPAN));
}

std::string value_at(augeas* handle, const std::string& path) {
  const char* value = nullptr;
  return aug_get(handle, path.c_str(), &value) == 1 && value != nullptr ? value : "";
}

std::vector<std::string> paths_like(augeas* handle, const std::string& expression) {
  char** found = nullptr;
  const int count = aug_match(handle, expression.c_str(), &found);
  std::vector<std::string> paths;
  for (int i = 0; i < count; ++i) {
    paths.emplace_back(found[i]);
    std::free(found[i]);
  }
  std::free(found);
  return paths;
}

// A word as Apache reads it (ap_getword_conf): in quotes, a backslash hides a quote or another one.
std::string without_quotes(std::string_view word) {
  if (word.size() < 2 || (word[0] != '"' && word[0] != '\'') || word.back() != word[0]) {
    return std::string(word);
  }
  std::string text;
  for (std::size_t i = 1; i + 1 < word.size(); ++i) {
    const bool hides = word[i] == '\\' && (word[i + 1] == word[0] || word[i + 1] == '\\');
    if (hides && i + 2 < word.size()) ++i;
    text += word[i];
  }
  return text;
}

class Builder {
 public:
  Builder(augeas* handle, std::string_view text) : handle_(handle), text_(text) {}

  // The directives below path, in the order of the file.
  std::vector<Directive> below(const std::string& path) {
    std::vector<Directive> directives;
    for (const std::string& child : paths_like(handle_, path + "/*")) {
      const std::string label = label_of(child);
      if (label == "#comment" || label == "arg") continue;
      directives.push_back(directive(child, label));
    }
    return directives;
  }

 private:
  // ".../directive[12]" -> "directive"
  static std::string label_of(const std::string& path) {
    const std::string last = path.substr(path.rfind('/') + 1);
    return last.substr(0, last.find('['));
  }

  Directive directive(const std::string& path, const std::string& label) {
    Directive made;
    made.is_block = label != "directive";
    made.name = made.is_block ? label : value_at(handle_, path);
    for (const std::string& arg : paths_like(handle_, path + "/arg")) {
      made.args.push_back(without_quotes(value_at(handle_, arg)));
    }
    place(path, made);
    if (made.is_block) made.children = below(path);
    return made;
  }

  void place(const std::string& path, Directive& made) {
    unsigned ignored[4], begin = 0, end = 0;
    aug_span(handle_, path.c_str(), nullptr, &ignored[0], &ignored[1], &ignored[2], &ignored[3],
             &begin, &end);
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::string_view whole = text_.substr(0, end);
    made.begin = std::min(whole.find_first_not_of(kBlanks, begin), whole.size());
    made.end = whole.find_last_not_of(kBlanks) + 1;
    made.line = line_at(text_, made.begin);
    const std::size_t closing = text_.rfind("</", made.end);
    made.body_end = closing == text_.npos || closing < made.begin ? made.end : closing;
    const std::size_t line = text_.rfind('\n', made.body_end);
    const bool own_line = line != text_.npos && line > made.begin &&
                          text_.substr(line, made.body_end - line).find_first_not_of(kBlanks) ==
                              std::string_view::npos;
    if (own_line) made.body_end = line + 1;
  }

  augeas* handle_;
  std::string_view text_;
};

}  // namespace

Parsed parse_apache(std::string_view text) {
  const Handle handle = open_augeas();
  if (!handle) return {.directives = {}, .why = "augeas cannot be started", .line = 0};
  std::string whole(text);
  if (whole.find('\0') != whole.npos) {
    return {.directives = {}, .why = "there is a NUL byte in it", .line = 0};
  }
  if (!whole.ends_with('\n')) whole += '\n';  // the lens wants a last line that ends
  aug_set(handle.get(), kText, whole.c_str());
  if (aug_text_store(handle.get(), kLens, kText, kTree) != 0) {
    const std::string why = value_at(handle.get(), std::string(kBadText) + "/message");
    const std::string line = value_at(handle.get(), std::string(kBadText) + "/line");
    return {.directives = {},
            .why = why.empty() ? why_no_apache() : why,
            .line = static_cast<unsigned>(std::strtoul(line.c_str(), nullptr, 10))};
  }
  return {.directives = Builder(handle.get(), whole).below(kTree), .why = {}, .line = 0};
}

std::string why_no_apache() {
  const Handle handle = open_augeas();
  if (!handle) return "augeas cannot be started";
  aug_set(handle.get(), kText, "ServerName x\n");
  if (aug_text_store(handle.get(), kLens, kText, kTree) == 0) return {};
  return "augeas has no lens Httpd; it is in the package augeas-lenses";
}

#endif

}  // namespace migrate
