#include "migrate/apache_stanza.h"

#include <fmt/format.h>

namespace migrate {
namespace {

constexpr const char* kStep = "  ";

}  // namespace

std::string apache_word(std::string_view word) {
  std::string quoted = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string handler_lines(const std::string& indent, std::string_view socket) {
  return fmt::format(
      "SetHandler \"proxy:unix:{}|fcgi://localhost\"\n{}ProxyFCGIBackendType GENERIC", socket,
      indent);
}

std::string stanza_for_folder(const std::string& folder, const std::string& indent,
                              std::string_view socket) {
  const std::string inner = indent + kStep;
  return fmt::format("<Directory {}>\n{}AcceptPathInfo On\n{}{}\n{}</Directory>",
                     apache_word(folder), inner, inner, handler_lines(inner, socket), indent);
}

std::string stanza_for_file(const std::string& file, const std::string& indent,
                            std::string_view socket) {
  const std::string inner = indent + kStep, innermost = inner + kStep;
  const std::size_t slash = file.rfind('/');
  const std::string folder = slash == 0 ? "/" : file.substr(0, slash);
  return fmt::format(
      "<Directory {}>\n{}AcceptPathInfo On\n{}<Files {}>\n{}{}\n{}</Files>\n{}</Directory>",
      apache_word(folder), inner, inner, apache_word(file.substr(slash + 1)), innermost,
      handler_lines(innermost, socket), inner, indent);
}

std::string stanza_for_suffixes(const std::vector<std::string>& suffixes, const std::string& indent,
                                std::string_view socket) {
  const std::string inner = indent + kStep;
  std::string words;
  for (const std::string& suffix : suffixes) {
    words += words.empty() ? "" : "|";
    for (const char c : std::string_view(suffix).substr(1)) {
      if (std::string_view(".[]()*+?{}|^$\\").find(c) != std::string_view::npos) words += '\\';
      words += c;
    }
  }
  return fmt::format("<FilesMatch \"\\.({})$\">\n{}AcceptPathInfo On\n{}{}\n{}</FilesMatch>", words,
                     inner, inner, handler_lines(inner, socket), indent);
}

std::string proxy_stanza() {
  return "# Connections to the bridge stay open; what a program prints is sent when it pauses.\n"
         "<Proxy \"fcgi://localhost\">\n"
         "  ProxySet enablereuse=on flushpackets=auto flushwait=10\n"
         "</Proxy>\n";
}

}  // namespace migrate
