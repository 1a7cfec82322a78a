// Sends the doctor's request to the loopback address.
#pragma once

#include "base/clock.h"
#include "doctor/http_text.h"

namespace doctor {

// The beginning of the answer, at most 64 KiB; the rest is read and dropped. The error says why
// there is none within patience.
base::Result<std::string> ask_by_http(const AskedUrl& url, const std::string& request,
                                      base::Duration patience);

}  // namespace doctor
