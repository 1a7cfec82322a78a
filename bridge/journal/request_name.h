// How a request is named in all records of it: its id, its client, what it asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cgi/variables.h"

namespace journal {

class Secrets;

// Words from the web server and from a visitor, as received: they are escaped where they are shown.
struct RequestName {
  static constexpr std::size_t kIdBytesMax = 64, kClientBytesMax = 64, kUriBytesMax = 256;

  std::string id;             // letters, digits, "-" and "_"
  std::string client;         // REMOTE_ADDR, cut
  std::string uri;            // REQUEST_URI, cut
  std::size_t uri_bytes = 0;  // of the whole URI
};

// "id=ID client=ADDRESS", without a blank in either.
std::string id_and_client(const RequestName& name);
// The same plus " uri=URI": secrets in its query are masked, and a cut URI is followed by "..." and
// its original length.
std::string text_of(const RequestName& name, const Secrets& secrets);

// text with blanks, quotes, control bytes and non-ASCII bytes as \xNN; "-" if it is empty.
std::string log_word(std::string_view text);

// Gives requests their names. One per gateway.
class RequestNames {
 public:
  RequestNames();

  // The id is the web server's own if it sends a suitable one (REQUEST_ID: nginx's $request_id;
  // UNIQUE_ID: Apache's mod_unique_id), otherwise one of 32 hexadecimal digits that no other
  // request has: never repeated within a process, and between two processes only with a chance of 1
  // in 2^64 for each pair.
  RequestName of(const cgi::Variables& variables);

 private:
  std::string make_id();

  std::uint64_t first_key_ = 0, second_key_ = 0;  // random
  std::uint64_t count_ = 0;
};

}  // namespace journal
