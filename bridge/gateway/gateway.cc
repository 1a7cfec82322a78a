#include "gateway/gateway.h"

#include <sys/resource.h>

#include "base/log.h"
#include "worker/log_pipe.h"

namespace gateway {
namespace {

void log_step(const std::string& program, const std::optional<compare::Step>& step) {
  if (!step) return;
  if (step->to == step->from) {
    return base::log_warn("program={} promotion: held in {}: {}", program,
                          compare::to_string(step->to), step->why);
  }
  const auto level = step->to < step->from ? base::LogLevel::warn : base::LogLevel::info;
  base::log(level, "program={} promotion: {}→{}: {}", program, compare::to_string(step->from),
            compare::to_string(step->to), step->why);
}

// Clients cannot choose these names; if a web server sends more of them than this, enough have been
// logged.
constexpr std::size_t kWithheldLogged = 50;
// How often connections are checked while one is unfinished or all are taken.
constexpr std::chrono::milliseconds kCareEvery{250};
// A web server that was just answered, or has just connected, may be about to send a request.
constexpr std::chrono::seconds kAtRest{1};
constexpr std::chrono::minutes kTellFullEvery{1};
// How many paths of programs are remembered with their files.
constexpr std::size_t kProgramsRemembered = 4096;

// told: when it was logged last.
void tell_full(std::size_t connections, const char* limit, base::TimePoint now,
               base::TimePoint& told) {
  if (now - told < kTellFullEvery) return;
  told = now;
  base::log_warn("{} connections are open ({}): others wait until one is idle", connections, limit);
}

std::size_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

}  // namespace

Gateway::Gateway(loop::Loop& loop, pool::Pools& pools, SettingsNow settings_now)
    : loop_(loop),
      pools_(pools),
      settings_now_(std::move(settings_now)),
      journal_(loop, pools.surroundings().processes),
      shadows_(loop, pools, comparisons_,
               [this](const auto& program, auto match) { compared(program, match); }),
      care_(loop, [this] { close_connections(fitting_.connections_max); }),
      sweep_(loop, [this] { sweep(); }) {
  settings_changed();
  own_answers_.health = [this](const PageRequest& request) {
    return health_answer(request, why_not_ready());
  };
  pools_.set_judge([this](const std::string& program) -> std::optional<cgi::Refusal> {
    const auto found = resolver_->resolve(program);
    return found ? std::nullopt : std::optional(found.refusal());
  });
}

Gateway::~Gateway() {
  // Requests that are still open pass their programs to unawaited_.
  connections_.clear();
  epilogues_.clear();
  shadows_.clear();
  unawaited_.clear();
}

std::uint64_t Gateway::add_listener(base::UniqueFd fd, const std::string& name) {
  const std::uint64_t id = next_listener_id_++;
  listeners_[id] = std::make_unique<Listener>(
      loop_, std::move(fd), name, [this](base::UniqueFd accepted) { take(std::move(accepted)); },
      [this] {
        tell_full(connections_.size(), "no descriptor is free", loop_.now(), full_told_);
        return close_connections(1) > 0;
      });
  base::log_info("listening on {}", name);
  pace_listeners();
  return id;
}

void Gateway::take(base::UniqueFd accepted) {
  if (admits_ == nullptr || admits_(accepted.get())) return add_connection(std::move(accepted));
  counts_.peers_refused += 1;
}

void Gateway::remove_listener(std::uint64_t id) {
  listeners_.erase(id);
}

void Gateway::add_connection(base::UniqueFd fd) {
  counts_.connections_total += 1;
  connections_.push_back(std::make_unique<Connection>(*this, std::move(fd)));
  connections_.back()->begin();
  if (hands_over()) connections_.back()->drain();
  pace_listeners();
}

void Gateway::log_withheld(std::string_view name) {
  if (withheld_.contains(name) || withheld_.size() >= kWithheldLogged) return;
  withheld_.emplace(name);
  const auto what = cgi::forbidden_name(name);
  base::log_info("param {}: is not passed on to programs ({}); pass_params says which are",
                 base::printable(name, 100), what ? *what : "strict_params");
}

void Gateway::end_unawaited(std::unique_ptr<pool::Run> run, base::FdPair stdout_and_stderr,
                            const std::string& label,
                            std::shared_ptr<const config::ProgramSettings> settings,
                            std::unique_ptr<journal::Entry> entry) {
  const std::uint64_t stderr_max = settings->limits.error_output;
  std::unique_ptr<journal::LateEntry> late;
  if (entry != nullptr) {
    const auto patience = settings->timeouts.kill_grace + journal::LateEntry::kReaped;
    late = std::make_unique<journal::LateEntry>(loop_, journal_, std::move(entry),
                                                std::move(settings), patience);
  }
  unawaited_.push_back(
      std::make_unique<UnawaitedRun>(loop_, std::move(run), std::move(stdout_and_stderr.first),
                                     std::move(stdout_and_stderr.second), label, stderr_max,
                                     std::move(late), [this] { sweep_.schedule(); }));
}

void Gateway::let_finish(std::unique_ptr<Exchange> request) {
  epilogues_.push_back(
      std::make_unique<Epilogue>(std::move(request), [this] { sweep_.schedule(); }));
}

// At bridge.connections_max new connections wait in the kernel's queue until one is closed by its
// client, or an idle one is closed here.
void Gateway::pace_listeners() {
  for (auto& [id, listener] : listeners_) {
    listener->set_accepting(full() || draining() ? Accepting::off : accepting_);
  }
  if (full()) look_after_connections();
}

void Gateway::look_after_connections() {
  if (!std::exchange(caring_, true)) care_.start(kCareEvery);
}

// Those whose time is up, and idle ones if there are connections_max or more.
std::size_t Gateway::close_connections(std::size_t connections_max) {
  caring_ = false;
  const auto now = loop_.now();
  std::vector<Connection*> all;
  std::vector<policy::ConnectionView> views;
  for (const auto& connection : connections_) {
    if (connection->gone()) continue;
    all.push_back(connection.get());
    views.push_back(connection->view());
    if (views.back().use == policy::ConnectionUse::unfinished) look_after_connections();
  }
  const policy::ConnectionRules rules{.max = connections_max,
                                      .patience = settings_now_()->bridge.params_timeout,
                                      .at_rest_at_least = kAtRest};
  const auto chosen = policy::connections_to_close(views, rules, now);
  for (const std::size_t i : chosen) {
    const bool idle = views[i].use == policy::ConnectionUse::idle;
    (idle ? counts_.closed_for_room : counts_.closed_unfinished) += 1;
    if (!idle) base::log_info("connection: params not whole within bridge.params_timeout: closed");
    all[i]->close();
  }
  if (full()) {
    look_after_connections();
    tell_full(connections_.size(), "bridge.connections_max", now, full_told_);
  }
  return chosen.size();
}

void Gateway::hold(Accepting accepting) {
  accepting_ = accepting;
  pace_listeners();
}

void Gateway::hand_over(PassOn pass_on, std::function<void()> on_idle) {
  pass_on_ = std::move(pass_on);
  drain(std::move(on_idle));
}

void Gateway::drain(std::function<void()> on_idle) {
  on_idle_ = std::move(on_idle);
  listeners_.clear();
  shadows_.clear();
  for (auto& connection : connections_) connection->drain();
  sweep_.schedule();
}

void Gateway::sweep() {
  std::erase_if(epilogues_, [](const auto& epilogue) { return epilogue->over(); });
  std::erase_if(unawaited_, [](const auto& run) { return run->over(); });
  std::erase_if(connections_, [](const auto& connection) { return connection->gone(); });
  pace_listeners();
  if (draining() && connections_.empty() && epilogues_.empty()) on_idle_();
}

std::string Gateway::why_not_ready() const {
  if (draining()) return "the bridge is draining";
  return own_answers_.readiness.why_not(
      loop_.now(), [this](const std::string& program) { return pools_.is_warming(program); });
}

void Gateway::observe(const std::string& program, const compare::Observation& observation) {
  compare::Comparison& comparison = comparisons_.of(program);
  comparison.arms[std::size_t(observation.arm)].add(observation, loop_.now());
  if (!comparison.promoted_from) return;
  log_step(program, comparison.promotion.on_answer(observation, loop_.unix_ms()));
}

void Gateway::compared(const std::string& program, compare::Match match) {
  compare::Comparison& comparison = comparisons_.of(program);
  if (!comparison.promoted_from) return;
  log_step(program,
           comparison.promotion.on_compared(match == compare::Match::different, loop_.unix_ms()));
}

void Gateway::settings_changed() {
  configured_.clear();
  const auto settings = settings_now_();
  comparisons_.limit(settings->bridge.figures_max);
  journal_.use(settings->bridge);
  fit_descriptors(settings->bridge);
  pools_.set_limits({.workers_max = fitting_.workers_max,
                     .zygotes_max = fitting_.zygotes_max,
                     .zygote_idle_timeout = settings->bridge.zygote_idle_timeout});
  // The settings decide which files need no x bit: so everything seen before is examined again.
  const bool same_roots = resolver_ != nullptr && roots_ == settings->bridge.roots;
  roots_ = settings->bridge.roots;
  // Not settings_now_(): it may take other settings over, which replaces the resolver that asks.
  const auto has_interpreter = [settings](const std::string& program) {
    return !settings->for_program(program).interpreter.empty();
  };
  resolver_ = std::make_unique<router::Resolver>(
      loop_, roots_, has_interpreter, kProgramsRemembered,
      settings->bridge.root_links ? router::RootLinks::may_leave : router::RootLinks::stay_inside);
  if (same_roots) return;
  for (const std::string& problem : resolver_->roots().problems()) {
    base::log_warn("bridge.roots: {}: nothing below it runs", problem);
  }
}

void Gateway::fit_descriptors(const config::BridgeSettings& bridge) {
  const policy::DescriptorUsers asked{.connections_max = bridge.connections_max,
                                      .workers_max = bridge.workers_max,
                                      .zygotes_max = bridge.zygotes_max};
  const std::size_t limit = descriptor_limit();
  const auto fitting = policy::fit_descriptors(limit, asked);
  if (policy::is_less(fitting, asked) && fitting != fitting_) {
    base::log_warn(
        "{} descriptors (RLIMIT_NOFILE) are too few for connections_max = {}, workers_max = {}, "
        "zygotes_max = {}: {}, {} and {} hold",
        limit, asked.connections_max, asked.workers_max, asked.zygotes_max, fitting.connections_max,
        fitting.workers_max, fitting.zygotes_max);
  }
  fitting_ = fitting;
  pace_listeners();
}

cgi::ConfiguredEnvironment Gateway::configured_environment(
    const config::ProgramSettings& settings) {
  const auto [entry, is_new] = configured_.try_emplace(&settings);
  if (is_new) entry->second.assign(settings.env.begin(), settings.env.end());
  return entry->second;
}

fastcgi::ServerLimits Gateway::server_limits() {
  const auto settings = settings_now_();
  const config::BridgeSettings& bridge = settings->bridge;
  return {.params_bytes_max = bridge.params_max,
          .requests_max = bridge.requests_per_connection_max,
          .max_conns = fitting_.connections_max,
          .max_reqs = fitting_.connections_max * bridge.requests_per_connection_max};
}

}  // namespace gateway
