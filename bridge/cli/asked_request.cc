#include "cli/asked_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"
#include "cgi/percent.h"
#include "fastcgi/record_writer.h"

namespace cli {
namespace {

constexpr std::string_view kForm = "application/x-www-form-urlencoded";

// The words of a line, separated by blanks.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r";
  std::size_t begin = line.find_first_not_of(kBlanks);
  while (begin != line.npos) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

bool is_method(std::string_view word) {
  return !word.empty() && word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == word.npos;
}

}  // namespace

base::Result<AskedRequest> parse_request_line(std::string_view line) {
  const auto words = words_of(line);
  const auto wrong = [line](std::string_view what) {
    return base::Error{fmt::format("\"{}\": {}; a request is \"GET /path?query\"", line, what)};
  };
  if (words.size() < 2) return wrong("a method and a target are wanted");
  if (!is_method(words[0])) return wrong("the first word is no method");
  const std::string_view target = words[1];
  if (target.front() != '/') return wrong("the target does not begin with \"/\"");
  const std::size_t question = std::min(target.find('?'), target.size());
  AskedRequest request{.method = std::string(words[0]),
                       .path = std::string(target.substr(0, question)),
                       .query = std::string(target.substr(std::min(question + 1, target.size()))),
                       .body_file = {}};
  if (request.path == "/") request.path.clear();
  if (!cgi::percent_decode(request.path)) return wrong("its path is not percent-encoded right");
  if (words.size() > 3) return wrong("there are words after it");
  if (words.size() == 3) {
    if (words[2].size() < 2 || words[2].front() != '@')
      return wrong("the third word is no \"@FILE\"");
    request.body_file = words[2].substr(1);
  }
  return request;
}

base::Result<std::vector<AskedRequest>> parse_request_lines(std::string_view text) {
  std::vector<AskedRequest> requests;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto words = words_of(line);
    if (words.empty() || words.front().front() == '#') continue;
    auto request = parse_request_line(line);
    if (!request) return base::Error{fmt::format("line {}: {}", number, request.error().message)};
    requests.push_back(request.take());
  }
  return requests;
}

std::string to_string(const AskedRequest& request) {
  return fmt::format("{} {}{}{}{}", request.method, request.path.empty() ? "/" : request.path,
                     request.query.empty() ? "" : "?", request.query,
                     request.body_file.empty() ? "" : " @" + request.body_file);
}

bool is_safe(const AskedRequest& request) {
  constexpr std::array<std::string_view, 4> kSafe = {"GET", "HEAD", "OPTIONS", "TRACE"};
  return std::find(kSafe.begin(), kSafe.end(), request.method) != kSafe.end();
}

std::vector<AskedRequest> default_requests(Posts posts) {
  std::vector<AskedRequest> requests(3);
  requests[1].method = "HEAD";
  requests[2].query = "a=1&b=two";
  if (posts == Posts::harmless) {
    requests.push_back({.method = "POST",
                        .path = {},
                        .query = {},
                        .body_file = {},
                        .body = "name=cgibridge&message=hello+there"});
  }
  return requests;
}

base::Status read_body(AskedRequest& request) {
  if (request.body_file.empty()) return base::Done{};
  auto bytes = read_file(request.body_file);
  if (!bytes) return bytes.error();
  request.body = bytes.take();
  return base::Done{};
}

base::Result<std::string> read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return base::errno_error(path, EISDIR);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return base::errno_error(path, errno);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<Assignment> request_params(const AskedRequest& request, const std::string& script,
                                       const std::vector<Assignment>& variables) {
  const std::size_t slash = script.rfind('/');
  const std::string script_name = script.substr(slash);
  std::vector<Assignment> params{
      {"SCRIPT_FILENAME", script},
      {"SCRIPT_NAME", script_name},
      {"DOCUMENT_ROOT", slash == 0 ? "/" : script.substr(0, slash)},
      {"REQUEST_METHOD", request.method},
      {"QUERY_STRING", request.query},
      {"REQUEST_URI",
       script_name + request.path + (request.query.empty() ? "" : "?" + request.query)},
      {"PATH_INFO", cgi::percent_decode(request.path).value_or("")},
      {"SERVER_PROTOCOL", "HTTP/1.1"},
      {"SERVER_SOFTWARE", "cgibridge"},
      {"SERVER_NAME", "localhost"},
      {"SERVER_PORT", "80"},
      {"REMOTE_ADDR", "127.0.0.1"}};
  if (request.has_body()) {
    params.emplace_back("CONTENT_LENGTH", std::to_string(request.body.size()));
    params.emplace_back("CONTENT_TYPE", kForm);
  }
  // If a name is sent twice, the last value counts (cgi/environment.h).
  params.insert(params.end(), variables.begin(), variables.end());
  return params;
}

std::string request_records(const std::vector<Assignment>& params, std::string_view body) {
  std::string pairs;
  for (const auto& [name, value] : params) fastcgi::append_name_value(pairs, name, value);
  std::string records;
  fastcgi::append_begin_request(records, kAskedId, fastcgi::Role::responder,
                                fastcgi::KeepConnection::no);
  fastcgi::append_stream(records, fastcgi::RecordType::params, kAskedId, pairs);
  fastcgi::append_stream_end(records, fastcgi::RecordType::params, kAskedId);
  fastcgi::append_stream(records, fastcgi::RecordType::std_in, kAskedId, body);
  fastcgi::append_stream_end(records, fastcgi::RecordType::std_in, kAskedId);
  return records;
}

std::string request_records(const AskedRequest& request, const std::string& script,
                            const std::vector<Assignment>& variables) {
  return request_records(request_params(request, script, variables), request.body);
}

Assignment parse_assignment(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  return {std::string(text.substr(0, equals)),
          std::string(text.substr(std::min(equals + 1, text.size())))};
}

}  // namespace cli
