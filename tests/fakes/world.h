// A bridge's pools in a fake world: time is moved by hand, and processes are fakes.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "cgi/environment.h"
#include "fakes/manual_loop.h"
#include "fakes/processes.h"
#include "pool/pools.h"
#include "pool/run.h"

namespace fakes {

// The client of one request: records what becomes of it.
class Client final : public pool::RunClient {
 public:
  enum class State { waiting, running, ended, refused };

  // pools and settings outlive it.
  Client(pool::Pool& pool, compare::Side side, pool::ForWhom for_whom)
      : run_(std::make_unique<pool::Run>(pool,
                                         pool::Job{.query_words = no_words(),
                                                   .environment = environment(),
                                                   .environment_count = 1,
                                                   .side = side,
                                                   .for_whom = for_whom},
                                         *this)),
        streams_(::open("/dev/null", O_RDWR | O_CLOEXEC)) {}

  static base::ByteView environment() {
    static const std::string block = "PATH=" + std::string(cgi::kDefaultPath) + '\0';
    return block;
  }

  State state() const { return state_; }
  bool over() const { return state_ == State::ended || state_ == State::refused; }
  compare::Arm arm() const { return arm_; }
  const worker::Ending& ending() const { return ending_; }
  const cgi::Refusal& refusal() const { return refusal_; }
  // How it ended; never more than one entry.
  const std::vector<std::string>& told_over() const { return told_over_; }
  pool::Run& run() { return *run_; }
  void leave() { run_.reset(); }  // its visitor has gone

  worker::Printed printed{};

 private:
  static const std::vector<std::string>& no_words() {
    static const std::vector<std::string> none;
    return none;
  }

  // pool::RunClient
  base::Result<std::array<int, 3>> descriptors() override {
    return std::array<int, 3>{streams_.get(), streams_.get(), streams_.get()};
  }
  base::Result<base::UniqueFd> body() override { return base::UniqueFd(); }
  bool has_room() const override { return true; }
  void on_output(base::ByteView) override {}
  void on_errors(base::ByteView) override {}
  void on_started(compare::Arm arm) override {
    state_ = State::running;
    arm_ = arm;
  }
  worker::Printed on_ended(const worker::Ending& ending) override {
    state_ = State::ended;
    ending_ = ending;
    streams_ = base::UniqueFd();
    told_over_.push_back("ended with " + std::to_string(ending.app_status));
    return {.output = printed.output, .errors = printed.errors};
  }
  void on_refused(const cgi::Refusal& refusal) override {
    state_ = State::refused;
    refusal_ = refusal;
    streams_ = base::UniqueFd();
    told_over_.push_back("refused: " + refusal.reason);
  }

  std::unique_ptr<pool::Run> run_;
  base::UniqueFd streams_;
  State state_ = State::waiting;
  compare::Arm arm_ = compare::Arm::classic;
  worker::Ending ending_;
  cgi::Refusal refusal_{};
  std::vector<std::string> told_over_;
};

class World {
 public:
  World() {
    ::signal(SIGPIPE, SIG_IGN);  // like the bridge; a process whose client has gone goes on
    const char* level = std::getenv("CGIBRIDGE_TESTS_LOG");
    base::set_log_level(level == nullptr ? "off" : level);
    char name[] = "/tmp/cgibridge-world.XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~World() {
    clients_.clear();
    pools_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Processes& processes() { return processes_; }
  ManualLoop& time() { return manual_; }
  pool::Pools& pools() { return *pools_; }
  const std::string& folder() const { return folder_; }
  config::ProgramSettings settings{};

  // Writes a script whose first line decides its language: with "#!/usr/bin/perl" it reaches
  // `compiled`.
  std::string add_program(const std::string& name = "program.pl",
                          const std::string& first_line = "#!/usr/bin/perl") {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << first_line << '\n';
    ::chmod(path.c_str(), 0755);
    return path;
  }

  // The file as it is now; version stands for its content.
  static router::ProgramFile file_of(const std::string& path, std::int64_t version = 1) {
    router::FileIdentity identity;
    identity.mode = S_IFREG | 0755;
    identity.modified_ns = version;
    return {path, identity, {}};
  }

  // A request arrives: does what the gateway does for one.
  Client& request(const std::string& program, compare::Side side = compare::Side::persistent,
                  pool::ForWhom for_whom = pool::ForWhom::client) {
    pool::Pool& pool = pools_->of(program);
    pool.refresh(settings, file_of(program, version), Client::environment(), side);
    clients_.push_back(std::make_unique<Client>(pool, side, for_whom));
    return *clients_.back();
  }
  std::int64_t version = 1;  // of all programs' files

  pool::PoolStatus status(const std::string& program) { return pools_->of(program).status(); }
  std::vector<std::unique_ptr<Client>>& clients() { return clients_; }

  // False: something wakes itself for ever.
  bool settle() { return manual_.settle(); }
  bool advance(base::TimePoint::duration by) { return manual_.advance(by); }

  // Makes the program warm, as its first visitors do.
  void warm(const std::string& program) {
    request(program);
    (void)advance(std::chrono::seconds(1));
  }

  unsigned idle_cores = 1;

 private:
  std::string folder_;
  ManualLoop manual_;
  Processes processes_{manual_.loop()};
  limits::Identities identities_{manual_.loop(), "/nowhere"};
  limits::Cgroups cgroups_;
  std::unique_ptr<pool::Pools> pools_ = std::make_unique<pool::Pools>(
      pool::Surroundings{.loop = manual_.loop(),
                         .processes = processes_,
                         .folders = {"/nowhere", {}},
                         .identities = identities_,
                         .cgroups = cgroups_,
                         .idle_cores = [this] { return idle_cores; }});
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace fakes
