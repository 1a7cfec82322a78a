// What happens to a program's answer on its way to the client.
#pragma once

#include <string>

namespace gateway {

// What a ResponseStream reports, on the loop.
class ResponseEvents {
 public:
  virtual void on_begun() = 0;  // the first byte has arrived
  // Nobody can write output any more, before the program's end.
  virtual void on_output_closed() = 0;
  // The head is not a CGI response head (reason is a sentence). Called once, when all that the
  // program wrote has been read, so that its standard error is known; nothing was sent.
  virtual void on_bad_head(const std::string& reason) = 0;
  virtual void on_complete() = 0;  // everything that belongs to the answer is in out()

 protected:
  ~ResponseEvents() = default;
};

}  // namespace gateway
