// What the bridge itself may do, and what it lets go.
#pragma once

#include <string>

namespace limits {

// Whether programs can be given another user than the bridge's own: it was started as root, with
// the capabilities that this takes. To be asked before they are dropped.
bool may_change_users();

// Lets go of every capability that the bridge does not need once its sockets are bound. A program
// that runs as root has them all again by its exec(), as does a setuid one (sendmail): they are
// taken from this process, not from what it may start. A sentence for the log.
std::string drop_privileges();

}  // namespace limits
