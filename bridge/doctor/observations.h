// What the doctor has seen, as values: shells fill them in, diagnose() judges them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "doctor/permission.h"

namespace doctor {

// Something that was really tried.
struct Trial {
  bool works = false;
  std::string step = {};  // at which it failed, "userfaultfd"
  int error = 0;          // its errno; 0: it did what it should not

  // "userfaultfd: Operation not permitted"
  std::string why() const;
};

// What this kernel allows a process that runs as programs do.
struct Kernel {
  std::string tried_as = {};  // a user's name
  Trial scan = {}, soft_dirty = {}, dispatch = {}, ptrace = {}, seccomp = {};
  unsigned landlock = 0;         // its version; 0: none
  bool hides_processes = false;  // /proc is mounted with hidepid
};

// What the settings ask of this machine.
struct Needs {
  bool user = false;                                   // another user than the bridge's
  bool limits = false;                                 // that need a cgroup
  unsigned connections = 0, workers = 0, zygotes = 0;  // at most
  std::string tracking = "auto";                       // rewind.tracking of [defaults]
};

// What the bridge may do or, if none runs, what one started by the user who asks could do.
struct Rights {
  // guessed: one runs, and only its user is known. own: none runs, these are this process's.
  enum class Of { bridge, guessed, own };
  Of of = Of::bridge;
  Who who = {};
  bool changes_users = false;
  std::uint64_t descriptors = 0;
  bool descriptors_suffice = true;
  std::string cgroups = {};                     // where it may make cgroups
  std::string why_no_cgroups = {};              // why it may not
  std::vector<std::string> missing_parts = {};  // files of the adapters' folder
  struct SandboxWord {
    bool held = true;
    std::string text = {};
  };
  std::vector<SandboxWord> sandboxes = {};  // how those in the settings are enforced
};

// The running bridge.
struct Bridge {
  std::string control = {};        // its socket; empty: the settings name none
  std::string unreached = {};      // why it did not answer; empty: it did
  bool may_be_running = false;     // only the permissions hinder us, or it does not answer in time
  std::string own_version = {};    // of this binary
  std::string settings_file = {};  // that was read here
  std::chrono::seconds since{0};   // how long it has been running; 0: not known
  nlohmann::json status = {};      // what it says; null if unreached
};

// A worker process of a web server; it stands for all that have the same rights.
struct WebServer {
  std::string name = {};  // "nginx"
  ::pid_t pid = 0;
  Who who = {};
};

// An address that the bridge listens on.
struct Listening {
  // What one web server finds there.
  struct Opening {
    std::size_t server = 0;               // in Observations::servers
    PathRights path = {};                 // as it sees it
    bool sees_another = false;            // the path leads to another file there, or to none
    std::optional<Trial> connected = {};  // if it was tried with its rights
  };
  std::string address = {};
  bool is_unix = false;
  bool exists = true;
  std::optional<bool> accepted = {};  // whether a process listens; none: not known
  std::vector<Opening> openings = {};
};

// A root: a folder of programs, or one program.
struct Root {
  std::string path = {};
  std::string problem = {};  // why it is left out
  bool is_noexec = false;    // on a mount where nothing may be executed
  PathRights rights = {};
  struct File {
    FileRights rights = {};
    std::string user = {};        // of the program; a key of Observations::users
    bool looks_like_one = false;  // begins with #! or is named *.cgi, and has no x bit
  };
  std::vector<File> files = {};  // that can be programs
  bool has_more = false;         // than were looked at
};

// A request that was sent through the web server.
struct Followed {
  std::string url = {}, target = {}, host = {};
  std::string not_sent = {};  // why there was no answer
  bool is_whole = true;       // the answer came to its end in time
  int status = 0;
  std::string server = {}, location = {};  // headers of the answer
  bool is_source = false;                  // the answer is the text of a program
  bool was_followed = false;               // the bridge was asked to say what it sees
  std::string why_not_followed = {};
  nlohmann::json began = {}, ended = {};  // what the bridge said; null: nothing
  std::uint64_t peers_refused = 0;
  bool is_own_page = false;  // the bridge's page or its health
  std::chrono::milliseconds patience{0};
};

struct Observations {
  bool is_root = false;
  Kernel kernel = {};
  Needs needs = {};
  Rights rights = {};
  Bridge bridge = {};
  std::vector<WebServer> servers = {};
  bool in_containers = false;  // there are web servers in containers, which are not judged
  std::vector<Listening> listening = {};
  std::vector<Root> roots = {};
  std::map<std::string, Who> users = {};  // that programs run as, by the word in the settings
  std::optional<Followed> request = {};
};

}  // namespace doctor
