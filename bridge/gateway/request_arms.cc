// A request's part in the comparison and in the logs: which arm answers it, what it is called, what
// is noted of it, and what the other side is given.
#include "base/log.h"
#include "gateway/arm_choice.h"
#include "gateway/gateway.h"
#include "gateway/request.h"

namespace gateway {
namespace {

// Another for each version of a file; in the event that two agree, promotion goes on as it was.
std::uint64_t version_of(const router::FileIdentity& identity) {
  std::uint64_t version = 0;
  for (const std::uint64_t part :
       {std::uint64_t(identity.device), std::uint64_t(identity.inode),
        std::uint64_t(identity.bytes), std::uint64_t(identity.modified_ns)}) {
    version = (version ^ part) * 0x9e3779b97f4a7c15u;
    version ^= version >> 32;
  }
  return version;
}

// What a request counts to that never began.
compare::Arm intended_arm(compare::Side side, config::Reset reset) {
  if (side == compare::Side::classic) return compare::Arm::classic;
  switch (reset) {
    case config::Reset::fork:
      return compare::Arm::fork;
    case config::Reset::none:
      return compare::Arm::none;
    case config::Reset::rewind:
      break;
  }
  return compare::Arm::rewind;
}

}  // namespace

bool is_chunked(const cgi::Variables& variables) {
  return !cgi::value_or_empty(variables, "HTTP_TRANSFER_ENCODING").empty();
}

void take_side(compare::Comparisons& comparisons, const cgi::Variables& variables,
               const router::FileIdentity& identity, Target& target, RequestRecord& record) {
  const config::ProgramSettings& settings = *target.settings;
  compare::Comparison& comparison = comparisons.of(target.program);
  keep_promotion(settings, version_of(identity), comparison);
  const ArmChoice choice = gateway::choose_arm(settings, variables, comparison);
  target.side = choice.side;
  const bool keeps = settings.launch == config::Launch::fastcgi;
  record.set_intended_arm(intended_arm(target.side, keeps ? config::Reset::none : settings.reset));
  if (!choice.shadowed) return;
  const auto announced = target.environment.content_length;
  if ((!announced && is_chunked(variables)) || announced.value_or(0) > settings.shadow.body_max) {
    return comparison.shadow.skipped(compare::Skip::body);
  }
  auto task = std::make_unique<shadow::Task>();
  task->version = comparison.version;
  task->era = comparison.promotion.era();
  task->method = cgi::value_or_empty(variables, "REQUEST_METHOD");
  task->uri = cgi::value_or_empty(variables, "REQUEST_URI");
  task->has_body = announced.value_or(0) > 0;
  record.set_shadow(std::move(task), settings.shadow.answer_max);
}

// ---- its name ----

std::string Request::label() const {
  return gateway_.journal().text_of(record_.name()) + " " + target_.subject();
}

void Request::add_fields(compare::Arm arm) {
  if (!target_.settings->arm_header.empty()) {
    response_->add_field(
        fmt::format("{}: {}\r\n", target_.settings->arm_header, compare::to_string(arm)),
        "arm_header");
  }
  const std::string field = record_.id_field(*target_.settings);
  if (!field.empty()) response_->add_field(field, "request_id_header");
}

// ---- the slow log ----

// When it has run for slowlog.after, from its start, which is now.
void Request::begin_slow_watch() {
  const auto after = target_.settings->slowlog.after;
  if (after.count() == 0) return;
  slow_.timer = std::make_unique<loop::Timer>(gateway_.loop(), [this, after] {
    if (finished() || !run_->running()) return;
    slow_.turn = gateway_.journal().slow({.name = record_.name(),
                                          .program = target_.program,
                                          .environment = target_.environment.block,
                                          .arm = compare::to_string(record_.arm()),
                                          .pid = run_->pid(),
                                          .after = after,
                                          .stacks = target_.settings->slowlog.stacks});
  });
  slow_.timer->start(after);
}

}  // namespace gateway
