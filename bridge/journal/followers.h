// Requests that an operator sends to see which way they take (`cgibridge doctor --request`).
#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cgi/variables.h"
#include "journal/entry.h"

namespace journal {

// One per journal. An operator chooses a marker and sends it with a request, in the header
// CGIBridge-Follow; the first request that brings it is reported, once when it begins and once when
// it has ended. A visitor would have to guess the marker, and would gain nothing by it. As long as
// nobody follows, a request costs one comparison.
class Followers {
 public:
  static constexpr std::string_view kParam = "HTTP_CGIBRIDGE_FOLLOW";
  static constexpr std::size_t kMost = 8;
  static constexpr std::size_t kMarkerBytesMin = 16, kMarkerBytesMax = 64;

  // Both are called with the request's entry, which is valid during the call.
  struct Events {
    std::function<void(const Entry&)> on_began, on_ended;
  };

  // owner: whoever follows; it may follow one request at a time. Fails for a marker that is too
  // short, too long or taken, and if there are kMost others.
  base::Status add(const void* owner, const std::string& marker, Events events);
  // Nothing is reported to that owner any more.
  void forget(const void* owner);

  // The marker of the follower that waits for this request; "" if nobody does.
  std::string marker_of(const cgi::Variables& variables) const;
  // A request that has such a marker (Entry::followed) began, and ended.
  void began(const Entry& entry);
  void ended(const Entry& entry);

 private:
  struct Follower {
    const void* owner;
    std::string marker;
    Events events;
    bool found = false;  // its request has begun
  };
  Follower* find(const std::string& marker);

  std::list<Follower> followers_;
};

}  // namespace journal
