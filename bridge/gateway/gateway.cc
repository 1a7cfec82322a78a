#include "gateway/gateway.h"

#include <fcntl.h>

#include "base/log.h"

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

// A client chooses no names; a web server that has more of them than this has told enough.
constexpr std::size_t kKeptBackTold = 50;

}  // namespace

Gateway::Gateway(loop::Loop& loop, pool::Pools& pools, SettingsNow settings_now)
    : loop_(loop),
      pools_(pools),
      settings_now_(std::move(settings_now)),
      dev_null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      journal_(loop, pools.surroundings().reaper),
      shadows_(loop, pools, comparisons_, dev_null_.get(),
               [this](const auto& program, auto match) { compared(program, match); }),
      sweep_(loop, [this] { sweep(); }) {
  settings_changed();
}

Gateway::~Gateway() {
  // Requests that are still open leave their programs to remains_.
  connections_.clear();
  epilogues_.clear();
  shadows_.clear();
  remains_.clear();
}

std::uint64_t Gateway::add_listener(base::UniqueFd fd, const std::string& name) {
  const std::uint64_t id = next_listener_id_++;
  listeners_[id] = std::make_unique<Listener>(
      loop_, std::move(fd), name, [this](base::UniqueFd accepted) { take(std::move(accepted)); });
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
  pace_listeners();
}

void Gateway::tell_kept_back(std::string_view name) {
  if (kept_back_.contains(name) || kept_back_.size() >= kKeptBackTold) return;
  kept_back_.emplace(name);
  const auto what = cgi::forbidden_name(name);
  base::log_info("param {}: is not passed on to programs ({}); pass_params says which are",
                 base::printable(name, 100), what ? *what : "strict_params");
}

void Gateway::bury(std::unique_ptr<pool::Run> run, base::UniqueFd stdout_end,
                   base::UniqueFd stderr_end, const std::string& label) {
  remains_.push_back(std::make_unique<Remains>(loop_, std::move(run), std::move(stdout_end),
                                               std::move(stderr_end), label,
                                               [this] { sweep_.schedule(); }));
}

void Gateway::let_finish(std::unique_ptr<Request> request) {
  epilogues_.push_back(
      std::make_unique<Epilogue>(std::move(request), [this] { sweep_.schedule(); }));
}

// At bridge.connections_max new connections wait in the kernel's queue until one goes.
void Gateway::pace_listeners() {
  const bool room = connections_.size() < settings_now_()->bridge.connections_max;
  for (auto& [id, listener] : listeners_) {
    listener->set_accepting(room && !draining() ? Accepting::on : Accepting::off);
  }
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
  std::erase_if(remains_, [](const auto& remains) { return remains->over(); });
  std::erase_if(connections_, [](const auto& connection) { return connection->gone(); });
  pace_listeners();
  if (draining() && connections_.empty() && epilogues_.empty()) on_idle_();
}

void Gateway::observe(const std::string& program, const compare::Observation& observation) {
  compare::Comparison& comparison = comparisons_.of(program);
  comparison.arms[std::size_t(observation.arm)].add(observation, base::Clock::now());
  if (!comparison.promoted_from) return;
  log_step(program, comparison.promotion.on_answer(observation, base::unix_ms()));
}

void Gateway::compared(const std::string& program, compare::Match match) {
  compare::Comparison& comparison = comparisons_.of(program);
  if (!comparison.promoted_from) return;
  log_step(program,
           comparison.promotion.on_compared(match == compare::Match::different, base::unix_ms()));
}

void Gateway::settings_changed() {
  configured_.clear();
  const auto settings = settings_now_();
  comparisons_.limit(settings->bridge.figures_max);
  journal_.use(settings->bridge);
  pools_.set_limits({.zygotes_max = settings->bridge.zygotes_max,
                     .zygote_idle_timeout = settings->bridge.zygote_idle_timeout});
  // Which files need no x bit is the settings' word: whatever was seen is looked at again.
  const bool same_roots = resolver_ != nullptr && roots_ == settings->bridge.roots;
  roots_ = settings->bridge.roots;
  resolver_ = std::make_unique<router::Resolver>(roots_, [this](const std::string& program) {
    return !settings_now_()->for_program(program).interpreter.empty();
  });
  if (same_roots) return;
  for (const std::string& problem : resolver_->roots().problems()) {
    base::log_warn("bridge.roots: {}: nothing below it runs", problem);
  }
}

cgi::ConfiguredEnvironment Gateway::configured_environment(
    const config::ProgramSettings& settings) {
  const auto [entry, is_new] = configured_.try_emplace(&settings);
  if (is_new) entry->second.assign(settings.env.begin(), settings.env.end());
  return entry->second;
}

fastcgi::ServerLimits Gateway::server_limits() {
  const config::BridgeSettings& bridge = settings_now_()->bridge;
  return {.params_bytes_max = bridge.params_max,
          .requests_max = bridge.requests_per_connection_max,
          .max_conns = bridge.connections_max,
          .max_reqs = bridge.connections_max * bridge.requests_per_connection_max};
}

}  // namespace gateway
