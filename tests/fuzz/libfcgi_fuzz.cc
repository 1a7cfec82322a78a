// The same bytes from a web server, read by our codec and by libfcgi: params, body and whether the
// body is complete are the same. And our client's side reads libfcgi's answer as it was written.
// If the two differ by intent, or by a fault of libfcgi, the input is skipped or the difference
// allowed:
//
// - Roles: libfcgi serves Authorizers and Filters; the bridge answers UNKNOWN_ROLE.
// - Multiplexing: libfcgi refuses a second request on a connection (CANT_MPX_CONN), or takes a
//   second BEGIN_REQUEST with the open one's id for another request; the bridge serves both, or
//   calls a BEGIN_REQUEST of an active id a bad record. Only connections with one BEGIN_REQUEST
//   are compared.
// - Padding of BEGIN_REQUEST and of empty records: libfcgi forgets to skip it, and reads it as the
//   next record's header. (No web server pads these.)
// - ABORT_REQUEST (and any type but STDIN, once PARAMS are read) is an error to libfcgi, which has
//   no notion of being aborted; the bridge notices an abort, and skips types that are not a
//   Responder's (FastCGI 1.0 §4.2 has an answer to management records only).
// - An error, or the connection's end, between two pairs of PARAMS: libfcgi takes it for the end of
//   PARAMS and serves a request that has lost some; it reports this only when the body is read.
//   For the bridge there is no request then.
// - A FCGI_GET_VALUES above 4 KiB is a bad record for the bridge.
// - A record of another version: the bridge ends the connection; libfcgi may read on, and take what
//   follows for the length of a pair.
// - An empty record of another request: libfcgi takes it for the end of the stream that it reads.
// - A management record of a type that libfcgi does not know: it answers UNKNOWN_TYPE as it should,
//   but then gives up the connection if the record had any content.
// - Pairs that announce gigabytes (announces_too_much).
// - libfcgi leaks the memory of params that it could not read.
// - libfcgi makes "NAME=VALUE" strings of params, which end at a NUL.
#include <fcgiapp.h>
#include <fcgios.h>
#include <fcntl.h>
#include <sanitizer/lsan_interface.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/unique_fd.h"
#include "fastcgi/client_connection.h"
#include "fastcgi/record_reader.h"
#include "fastcgi/server_connection.h"
#include "fuzz/fields.h"

namespace {

using fastcgi::RecordType;

// What a Responder gets of a request. none: not even its params.
struct Taken {
  std::vector<std::string> params;
  std::string body;
  bool whole = false;
};

class Socket {
 public:
  Socket() : listening_(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    // Bound to a name that the kernel makes up, outside the file system.
    const sa_family_t family = AF_UNIX;
    BRIDGE_ASSERT(
        ::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&family), sizeof family) == 0);
    BRIDGE_ASSERT(::listen(listening_.get(), 8) == 0);
    BRIDGE_ASSERT(::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&name_), &bytes_) ==
                  0);
    BRIDGE_ASSERT(FCGX_Init() == 0);
  }

  int listening() const { return listening_.get(); }

  // A connection that has sent everything.
  base::UniqueFd connect(std::string_view bytes) const {
    base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int room = 1 << 20;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    BRIDGE_ASSERT(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name_), bytes_) == 0);
    BRIDGE_ASSERT(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(bytes.size()));
    ::shutdown(fd.get(), SHUT_WR);
    return fd;
  }

 private:
  base::UniqueFd listening_;
  sockaddr_un name_{};
  socklen_t bytes_ = sizeof name_;
};

const Socket& the_socket() {
  static const Socket made;
  return made;
}

// libfcgi's side of one connection: takes a request, answers it, and closes.
std::optional<Taken> taken_by_libfcgi(std::string_view output, std::string_view errors,
                                      int exit_status) {
  const __lsan::ScopedDisabler libfcgi_leaks;
  FCGX_Request request;
  BRIDGE_ASSERT(FCGX_InitRequest(&request, the_socket().listening(), FCGI_FAIL_ACCEPT_ON_INTR) ==
                0);
  std::optional<Taken> taken;
  if (FCGX_Accept_r(&request) == 0) {
    taken.emplace();
    // The first variable is libfcgi's own.
    BRIDGE_ASSERT(std::string_view(request.envp[0]) == "FCGI_ROLE=RESPONDER");
    for (char** param = request.envp + 1; *param != nullptr; ++param)
      taken->params.push_back(*param);
    char bytes[777];
    for (int got; (got = FCGX_GetStr(bytes, sizeof bytes, request.in)) > 0;) {
      taken->body.append(bytes, static_cast<std::size_t>(got));
    }
    taken->whole = FCGX_GetError(request.in) == 0;
    FCGX_PutStr(output.data(), static_cast<int>(output.size()), request.out);
    FCGX_PutStr(errors.data(), static_cast<int>(errors.size()), request.err);
    FCGX_SetExitStatus(exit_status, request.out);
    FCGX_Finish_r(&request);
  }
  FCGX_Free(&request, 1);
  return taken;
}

std::string read_all(int fd) {
  std::string bytes;
  char piece[4096];
  for (ssize_t got; (got = ::recv(fd, piece, sizeof piece, 0)) > 0;) {
    bytes.append(piece, static_cast<std::size_t>(got));
  }
  return bytes;
}

// Our side. Bytes after the end of the body do not matter for this request.
std::optional<Taken> taken_by_us(std::string_view bytes) {
  fastcgi::ServerConnection connection({});
  connection.feed(bytes);
  std::optional<Taken> taken;
  fastcgi::Event event;
  while (connection.next(event) == fastcgi::EventStep::event) {
    if (event.type == fastcgi::EventType::request_ready) {
      taken.emplace();
      for (const auto& [name, value] : event.params) {
        const std::string both = std::string(name).append("=").append(value);
        taken->params.emplace_back(both.c_str());
      }
    } else if (event.type == fastcgi::EventType::stdin_bytes) {
      taken->body += event.bytes;
    } else if (event.type == fastcgi::EventType::stdin_end) {
      taken->whole = true;
      return taken;
    }
  }
  return taken;
}

// Whether a pair announces more than libfcgi could allocate: it allocates whatever is announced,
// and ends the process if that fails.
bool announces_too_much(std::string_view pairs) {
  const auto take_length = [&pairs]() -> std::size_t {
    if (pairs.empty()) return 0;
    std::size_t length = static_cast<unsigned char>(pairs[0]);
    const std::size_t bytes = length < 128 ? 1 : 4;
    if (pairs.size() < bytes) return 0;
    if (bytes == 4) {
      for (std::size_t i = 1; i < 4; ++i) {
        length = (length & 0x7fffff) << 8 | static_cast<unsigned char>(pairs[i]);
      }
    }
    pairs.remove_prefix(bytes);
    return length;
  };
  while (!pairs.empty()) {
    const std::size_t rest = pairs.size(), both = take_length() + take_length();
    if (both > 16 * base::kMiB) return true;
    if (pairs.size() == rest || both >= pairs.size()) return false;
    pairs.remove_prefix(both);
  }
  return false;
}

// Whether the two must agree (see above).
bool is_comparable(std::string_view bytes) {
  fastcgi::RecordReader reader;
  reader.feed(bytes);
  fastcgi::Fragment fragment;
  std::optional<fastcgi::RequestId> begun;
  bool params_over = false, body_over = false;
  std::string params;
  while (!body_over) {
    const fastcgi::Step step = reader.next(fragment);
    if (step == fastcgi::Step::bad_record) return false;
    if (step == fastcgi::Step::need_more) break;
    const auto [type, id, length, padding] = fragment.header;
    if (!fragment.is_first()) continue;
    const bool is_foreign = id != 0 && id != begun && type != RecordType::begin_request;
    if (length == 0 && (padding != 0 || is_foreign)) return false;
    if (type == RecordType::get_values && announces_too_much(fragment.content)) return false;
    if (type == RecordType::params && id == begun) params += fragment.content;
    if (type == RecordType::begin_request) {
      const bool responder = fragment.content.size() == 8 && fragment.content[0] == 0 &&
                             fragment.content[1] == FCGI_RESPONDER;
      if (begun || id == 0 || length != 8 || padding != 0 || !responder) return false;
      begun = id;
    } else if (id == 0) {
      if (type == RecordType::get_values ? length > 4096 : length > 0) return false;
    } else if (id == begun && type == RecordType::params && !params_over) {
      params_over = length == 0;
    } else if (id == begun) {
      if (type != RecordType::std_in || !params_over) return false;
      body_over = length == 0;
    }
  }
  return !announces_too_much(params);
}

void compare(std::string_view bytes) {
  if (!is_comparable(bytes)) return;
  const auto ours = taken_by_us(bytes);
  const base::UniqueFd peer = the_socket().connect(bytes);
  const auto theirs = taken_by_libfcgi("", "", 0);
  if (!ours) {
    BRIDGE_ASSERT(!theirs || !theirs->whole);
    return;
  }
  BRIDGE_ASSERT(theirs);
  BRIDGE_ASSERT(ours->params == theirs->params);
  BRIDGE_ASSERT(ours->body == theirs->body);
  BRIDGE_ASSERT(ours->whole == theirs->whole);
}

// From our client to libfcgi and back. Fields: the exit status, output, errors, body,
// "NAME=VALUE"...
void talk(const std::vector<std::string_view>& parts) {
  std::string environment, asked;
  std::vector<std::string> params;
  for (std::size_t i = 4; i < parts.size(); ++i) {
    const std::string_view entry = parts[i].substr(0, parts[i].find('\0'));
    environment.append(entry).push_back('\0');
    if (entry.find('=') != entry.npos) params.emplace_back(entry);
  }
  fastcgi::ClientConnection client;
  client.begin(asked, environment);
  client.append_body(asked, parts[3]);
  client.end_body(asked);
  const int exit_status = parts[0].empty() ? 0 : static_cast<signed char>(parts[0][0]);

  const base::UniqueFd peer = the_socket().connect(asked);
  const auto taken = taken_by_libfcgi(parts[1], parts[2], exit_status);
  BRIDGE_ASSERT(taken);
  BRIDGE_ASSERT(taken->params == params);
  BRIDGE_ASSERT(taken->body == parts[3]);
  BRIDGE_ASSERT(taken->whole);

  const std::string answer = read_all(peer.get());
  client.feed(answer);
  std::string output, errors;
  bool ended = false;
  fastcgi::ClientEvent event;
  while (client.next(event) == fastcgi::EventStep::event) {
    BRIDGE_ASSERT(!ended);
    if (event.type == fastcgi::ClientEventType::output) output += event.bytes;
    if (event.type == fastcgi::ClientEventType::errors) errors += event.bytes;
    BRIDGE_ASSERT(event.type != fastcgi::ClientEventType::bad_record);
    ended = event.type == fastcgi::ClientEventType::end;
    if (ended) BRIDGE_ASSERT(event.app_status == static_cast<std::uint32_t>(exit_status));
  }
  BRIDGE_ASSERT(ended && output == parts[1] && errors == parts[2]);
}

}  // namespace

// The first byte chooses: a web server's bytes, or a whole request and its answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 60000) return 0;
  if (data[0] == 'T') {
    const auto parts = fuzz::fields(data + 1, size - 1);
    if (parts.size() >= 4) talk(parts);
  } else {
    compare({reinterpret_cast<const char*>(data) + 1, size - 1});
  }
  return 0;
}
