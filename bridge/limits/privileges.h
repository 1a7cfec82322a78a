// What the bridge itself may do, and which rights it drops.
#pragma once

#include <string>

namespace limits {

// Whether programs can be given a user other than the bridge's own: the bridge was started as root,
// with the capabilities that this takes. To be called before they are dropped.
bool may_change_users();

// Makes every capability ineffective that the bridge does not need once its sockets are bound; they
// stay permitted. A program that runs as root gets them all again by its exec(), and so does a
// setuid program (sendmail): they are taken from this process, not from what it may start. Returns
// a sentence for the log.
std::string drop_privileges();

// Makes one capability (linux/capability.h) effective for the lifetime of this object, if it is
// permitted and was not effective.
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
