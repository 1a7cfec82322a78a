// The socket on which one FastCGI program listens, and the way to it.
#pragma once

#include "base/unique_fd.h"

namespace upstream {

// A unix socket that has no name any more: bound in a folder that only this user may enter, and
// unlinked at once, so nobody else can connect and nothing is left behind. What remains is a
// descriptor of its place in the file system (O_PATH), through which connect() still finds it.
class ListeningSocket {
 public:
  static base::Result<ListeningSocket> make();

  // The listening end, to become the program's descriptor 0.
  int listening_end() const { return listening_.get(); }
  // The program has it: from here on its end shows, as nobody else holds it open.
  void hand_over() { listening_.reset(); }

  // A new connection, which does not block; the program need not have accepted it yet. Fails at
  // once if nobody listens any more.
  base::Result<base::UniqueFd> connect() const;

 private:
  ListeningSocket(base::UniqueFd listening, base::UniqueFd place)
      : listening_(std::move(listening)), place_(std::move(place)) {}

  base::UniqueFd listening_;
  base::UniqueFd place_;
};

}  // namespace upstream
