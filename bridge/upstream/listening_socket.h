// The socket on which one FastCGI program listens, and the way to it.
#pragma once

#include "base/unique_fd.h"

namespace upstream {

// A unix socket that no longer has a name: bound in a folder that only this user may enter, and
// unlinked at once, so nobody else can connect and nothing is left behind. A descriptor of its
// place in the file system (O_PATH) remains, through which connect() still finds it.
class ListeningSocket {
 public:
  static base::Result<ListeningSocket> make();

  // The listening end, to become the program's descriptor 0.
  int listening_end() const { return listening_.get(); }
  // The program has it now: from here on, the program's end is visible, because nobody else holds
  // the socket open.
  void hand_over() { listening_.reset(); }

  // A new nonblocking connection; the program need not have accepted it yet. Fails at once if
  // nobody listens any more.
  base::Result<base::UniqueFd> connect() const;

 private:
  ListeningSocket(base::UniqueFd listening, base::UniqueFd place)
      : listening_(std::move(listening)), place_(std::move(place)) {}

  base::UniqueFd listening_;
  base::UniqueFd place_;
};

}  // namespace upstream
