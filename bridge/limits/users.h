// Users and groups by name and number, as the system knows them.
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

// A number, or the name of a user or a group. Asks the system each time, which may take a while
// where a network answers: for the start, for reloads, and for a user's first request.
base::Result<::uid_t> uid_of(std::string_view text);
base::Result<::gid_t> gid_of(std::string_view text);

// The system's answers, kept: a user that was found until forget(), one that was not for a moment.
// Owned by Identities.
class Users {
 public:
  explicit Users(const loop::Clock& clock) : clock_(clock) {}

  // "www-data", "33", "www-data:adm", "33:4". Groups are those that the user is in, as
  // initgroups(3) has it; a number that no user has needs a group, and gets no more than that.
  const base::Result<Identity>& named(const std::string& text);
  // Whose number that is; he must have a name (suEXEC).
  const base::Result<Identity>& numbered(::uid_t uid);

  // Everybody is looked up again.
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

// As whom programs run that are given no user: the bridge's own.
Identity own_identity();

}  // namespace limits
