// Users and groups by name and number, from the system's database.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "limits/identity.h"
#include "loop/clock.h"

namespace limits {

// text: a number, or the name of a user or a group. Asks the system each time, which may take a
// while if a server on the network answers: so only at the start, at reloads, and for a user's
// first request.
base::Result<::uid_t> uid_of(std::string_view text);
base::Result<::gid_t> gid_of(std::string_view text);

// Caches the system's answers: a user that was found until forget(), one that was not found only
// briefly. Owned by Identities.
class Users {
 public:
  explicit Users(const loop::Clock& clock) : clock_(clock) {}

  // "www-data", "33", "www-data:adm", "33:4". The groups are those that the user is in, as with
  // initgroups(3); a number that no user has needs a group, and gets only that one.
  const base::Result<Identity>& named(const std::string& text);
  // The user with that number, who must have a name (suEXEC).
  const base::Result<Identity>& numbered(::uid_t uid);

  // All users are looked up again.
  void forget() { known_.clear(); }

 private:
  struct Known {
    base::Result<Identity> identity;
    base::TimePoint since;
  };
  const base::Result<Identity>& recall(const std::string& key,
                                       const std::function<base::Result<Identity>()>& look_up);

  const loop::Clock& clock_;
  std::map<std::string, Known> known_;
};

// The identity of programs that no user is configured for: the bridge's own.
Identity own_identity();

}  // namespace limits
