// Sends the doctor's request to the loopback address.
#pragma once

#include "base/clock.h"
#include "doctor/http_text.h"

namespace doctor {

struct HttpReply {
  std::string bytes = {};  // the first 64 KiB of it; the rest is read and dropped
  bool is_whole = true;    // the server closed the connection
};

// What came within patience. The error says why nothing came.
base::Result<HttpReply> ask_by_http(const AskedUrl& url, const std::string& request,
                                    base::Duration patience);

}  // namespace doctor
