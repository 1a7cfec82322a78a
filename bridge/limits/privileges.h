// What the bridge itself may do, and what it lets go.
#pragma once

#include <string>

namespace limits {

// Whether programs can be given another user than the bridge's own: it was started as root, with
// the capabilities that this takes. To be asked before they are dropped.
bool may_change_users();

// Ends the effect of every capability that the bridge does not need once its sockets are bound;
// they stay permitted. A program that runs as root has them all again by its exec(), as does a
// setuid one (sendmail): they are taken from this process, not from what it may start. A sentence
// for the log.
std::string drop_privileges();

// Puts one capability (linux/capability.h) into effect for as long as it lives, if it is permitted
// and was not in effect.
class Raised {
 public:
  explicit Raised(unsigned capability);
  ~Raised();
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  const unsigned capability_;
  bool raised_ = false;
};

}  // namespace limits
