// Any bytes on the control socket, with descriptors among them: the lines that are received and the
// answers do not depend on how the bytes came, a line that is too long ends the client, and no
// unwanted descriptor is kept. The first byte says where to cut, the second how many descriptors go
// with each piece.
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "admin/control_server.h"
#include "base/assert.h"
#include "loop/timer.h"

namespace {

struct Heard {
  std::vector<std::string> lines;
  std::string answers;
  bool gone = false;
  bool operator==(const Heard&) const = default;
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

void turn(loop::Loop& loop) {
  loop::Timer end(loop, [&loop] { loop.stop(); });
  end.start(base::Duration(0));
  loop.run();
}

void send_piece(int to, std::string_view piece, unsigned descriptors) {
  static const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int fds[3] = {null, null, null};
  iovec part{const_cast<char*>(piece.data()), piece.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptors > 0) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
    std::memcpy(CMSG_DATA(rights), fds, descriptors * sizeof(int));
  }
  (void)!::sendmsg(to, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

Heard hear(std::string_view bytes, std::size_t piece_bytes, unsigned descriptors) {
  Heard heard;
  loop::Loop loop;
  auto pair = base::make_socket_pair(SOCK_STREAM).take();
  admin::ControlClient client(
      loop, std::move(pair.first),
      {[&heard](admin::ControlClient&, const nlohmann::json& line, base::UniqueFd) {
         heard.lines.push_back(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
         return nlohmann::json{{"ok", false}, {"command", admin::text_of(line, "command")}};
       },
       [&heard](admin::ControlClient&) { heard.gone = true; }});
  while (!bytes.empty() && !client.gone()) {
    const std::string_view piece = bytes.substr(0, piece_bytes);
    send_piece(pair.second.get(), piece, descriptors);
    bytes.remove_prefix(piece.size());
    turn(loop);
    char answer[65536];
    for (ssize_t got; (got = ::recv(pair.second.get(), answer, sizeof answer, MSG_DONTWAIT)) > 0;) {
      heard.answers.append(answer, static_cast<std::size_t>(got));
    }
  }
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4000) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  static const Heard first = hear("{}\n", 10, 1);  // opens what then stays open
  const std::size_t before = open_descriptors();
  const Heard whole = hear(bytes, bytes.size() + 1, 0);
  const Heard cut = hear(bytes, 1 + data[0] % 61, data[1] % 4);
  BRIDGE_ASSERT(whole == cut);
  BRIDGE_ASSERT(
      static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')) ==
      static_cast<std::size_t>(std::count(whole.answers.begin(), whole.answers.end(), '\n')));
  BRIDGE_ASSERT(open_descriptors() == before);
  return 0;
}
