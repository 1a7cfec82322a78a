// A bridge in this process, for one program: `try` and `check` send it requests as a web server
// would, over a socket pair, and need neither a web server nor a running bridge.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/asked_request.h"
#include "compare/answer.h"
#include "config/settings.h"
#include "gateway/gateway.h"
#include "limits/cgroups.h"
#include "loop/signal_watch.h"
#include "loop/timer.h"
#include "pool/pools.h"
#include "worker/child_reaper.h"

namespace cli {

// What came back for one request.
struct Heard {
  std::string output;  // standard output in the form that the web server gets: head and body
  std::string errors;  // standard error
  std::uint32_t exit_code = 0;
  std::chrono::microseconds time{};  // from the request's first byte to the end of the answer
  bool complete = false;             // the bridge said that the request is over
  bool warm = false;                 // a warm worker answered
  bool refused = false;              // the bridge itself answered, with an error; errors says why
};

// The output, with head and body separated, in the form in which answers are compared.
compare::Answer answer_of(const Heard& heard);

// Gets each piece as it comes.
enum class Stream { output, errors };
using OnPiece = std::function<void(Stream, base::ByteView)>;

// Why the bridge stopped.
inline constexpr std::string_view kInterrupted = "interrupted";
inline constexpr std::string_view kOutOfTime = "out of time";

// The path by which a bridge would run the program that a command line names, absolute and with its
// links, or why it would not.
base::Result<std::string> name_of_program(const std::string& given);

// Handles one request at a time. SIGINT, SIGTERM, SIGHUP and the time limit stop it: it gives up
// what it waits for, and everything that it is asked from then on.
class OwnBridge {
 public:
  // script: as returned by name_of_program().
  OwnBridge(std::string script, const config::ProgramSettings& settings);
  ~OwnBridge();
  OwnBridge(const OwnBridge&) = delete;
  OwnBridge& operator=(const OwnBridge&) = delete;

  // The settings for requests from now on.
  void use(const config::ProgramSettings& settings);

  // Waits for the whole answer. records: as request_records() makes them.
  Heard ask(const std::string& records);
  Heard ask(const std::string& records, OnPiece on_piece);

  // Runs the bridge until condition() is true or limit has passed. Returns whether condition()
  // became true.
  bool run_until(std::chrono::milliseconds limit, const std::function<bool()>& condition);

  // Begins to make the program warm, if the settings ask for that, as the first request with these
  // params would in a running bridge. An error if the program must not run.
  base::Status begin_warming(const std::vector<Assignment>& params);
  // Whether nothing is being made warm any more.
  bool settled();

  pool::PoolStatus status() { return pools_.of(script_).status(); }
  gateway::Gateway& gateway() { return gateway_; }
  pool::Pools& pools() { return pools_; }

  // Stops the bridge after that time.
  void stop_after(std::chrono::milliseconds limit) { deadline_.start(limit); }
  // kInterrupted or kOutOfTime; empty: it goes on.
  std::string_view stopped() const { return stopped_; }

 private:
  void stop(std::string_view why);

  const std::string script_;
  std::shared_ptr<const config::Settings> settings_;
  loop::Loop loop_;
  worker::ChildReaper processes_;
  limits::Identities identities_;
  limits::Cgroups cgroups_;  // none
  pool::Pools pools_;
  gateway::Gateway gateway_;
  loop::Timer deadline_;
  loop::SignalWatch on_int_, on_term_, on_hup_;
  std::string_view stopped_;
};

// Makes this process inherit whatever processes its programs leave behind.
void adopt_orphans();

// Ends every child of this process, first with SIGTERM and after a moment by force. No OwnBridge
// may exist.
void end_children();

}  // namespace cli
