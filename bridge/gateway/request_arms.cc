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

void Request::choose_arm(const cgi::Variables& variables, const router::FileIdentity& identity) {
  compare::Comparison& comparison = gateway_.comparisons().of(program_);
  keep_promotion(*settings_, version_of(identity), comparison);
  const ArmChoice choice = gateway::choose_arm(*settings_, variables, comparison);
  side_ = choice.side;
  const bool keeps = settings_->launch == config::Launch::fastcgi;
  observation_.arm = intended_arm(side_, keeps ? config::Reset::none : settings_->reset);
  if (!choice.shadowed) return;
  const std::uint64_t announced = environment_.content_length.value_or(0);
  const bool chunked = !environment_.content_length.has_value() &&
                       !cgi::value_or_empty(variables, "HTTP_TRANSFER_ENCODING").empty();
  if (chunked || announced > settings_->shadow.body_max) {
    return comparison.shadow.skipped(compare::Skip::body);
  }
  shadow_ = std::make_unique<shadow::Task>();
  shadow_->version = comparison.version;
  shadow_->era = comparison.promotion.era();
  shadow_->method = cgi::value_or_empty(variables, "REQUEST_METHOD");
  shadow_->uri = cgi::value_or_empty(variables, "REQUEST_URI");
  shadow_->has_body = announced > 0;
  copy_ = std::make_unique<shadow::AnswerCopy>(settings_->shadow.answer_max);
}

// Never more than was announced, which is what the program is given.
void Request::copy_body(base::ByteView piece) {
  if (shadow_ == nullptr) return;
  const std::uint64_t room =
      environment_.content_length.value_or(0) - std::uint64_t(shadow_->body.size());
  shadow_->body += piece.substr(0, std::min<std::uint64_t>(room, piece.size()));
}

// ---- its name ----

std::string Request::subject() const {
  return program_.empty() ? "request" : "program=" + program_;
}

std::string Request::label() const {
  return gateway_.journal().text_of(name_) + " " + subject();
}

std::string Request::id_field() const {
  const auto settings = keep_alive_ != nullptr ? keep_alive_ : gateway_.settings();
  const auto& header = (settings_ != nullptr ? *settings_ : settings->defaults).request_id_header;
  return header.empty() ? std::string() : header + ": " + name_.id + "\r\n";
}

void Request::add_fields(compare::Arm arm) {
  if (!settings_->arm_header.empty()) {
    response_->add_field(fmt::format("{}: {}\r\n", settings_->arm_header, compare::to_string(arm)),
                         "arm_header");
  }
  const std::string field = id_field();
  if (!field.empty()) response_->add_field(field, "request_id_header");
}

// ---- how it went ----

// Once, when it is clear how it ended.
void Request::observe() {
  if (observed_) return;
  observed_ = true;
  if (program_.empty() && entry_ == nullptr) return;
  compare::Observation& seen = observation_;
  const bool answered = seen.status == 0 && seen.failure == compare::Failure::none;
  if (answered && response_ != nullptr) {
    seen.status = response_->status();
    if (seen.status >= 500) seen.failure = compare::Failure::status;
    if (app_status_ != 0) seen.failure = compare::Failure::exit_code;
    if (!ending_.description.empty()) seen.failure = compare::Failure::signal;
    // Its answer was whole long before.
    if (ended_in_background_) seen.failure = compare::Failure::none;
  }
  // An answer that was broken off, or that nobody waited for, had begun all the same.
  if (seen.status == 0 && response_ != nullptr) seen.status = response_->status();
  seen.latency = std::chrono::duration_cast<compare::Microseconds>(
      (answered_at_ == base::TimePoint{} ? gateway_.loop().now() : answered_at_) - since_);
  if (run_ != nullptr) seen.queue = run_->queue_time();
  if (body_ != nullptr) seen.bytes_in = body_->received();
  if (response_ != nullptr) seen.bytes_out = response_->bytes_read();
  if (entry_ != nullptr) note_in_journal();
  if (program_.empty()) return;
  gateway_.observe(program_, seen);
  if (shadow_ == nullptr) return;
  if (answered && !ended_in_background_) return give_to_shadow();
  gateway_.comparisons().of(program_).shadow.skipped(compare::Skip::failed);
}

void Request::note_in_journal() {
  journal::Entry& entry = *entry_;
  entry.program = program_;
  entry.seen = observation_;
  entry.seen.bytes_in = entry.received;  // one without a length, too
  if (started_ && observation_.arm != compare::Arm::classic) {
    entry.level = gateway_.pools().of(program_).warm_level();
  }
  if (response_ != nullptr) entry.last_error = response_->last_error_line();
}

// When it has run for slowlog.after; at its start, which is now, that is noted.
void Request::tell_slow_log() {
  if (entry_ != nullptr) entry_->pid = run_->pid();
  const auto after = settings_->slowlog.after;
  if (after.count() == 0) return;
  slow_timer_ = std::make_unique<loop::Timer>(gateway_.loop(), [this, after] {
    if (finished_ || !run_->running()) return;
    stack_turn_ = gateway_.journal().slow({.name = name_,
                                           .program = program_,
                                           .environment = environment_.block,
                                           .arm = compare::to_string(observation_.arm),
                                           .pid = run_->pid(),
                                           .after = after,
                                           .stacks = settings_->slowlog.stacks});
  });
  slow_timer_->start(after);
}

void Request::give_to_shadow() {
  if (copy_->too_large()) {
    gateway_.comparisons().of(program_).shadow.skipped(compare::Skip::answer);
    return;
  }
  shadow_->program = program_;
  shadow_->keep_alive = keep_alive_;
  shadow_->settings = settings_;
  shadow_->environment = environment_.block;
  shadow_->environment_count = static_cast<std::uint32_t>(environment_.count);
  shadow_->query_words = query_words_;
  shadow_->classic = copy_->finish(ending_);
  gateway_.shadows().add(std::move(*shadow_));
}

}  // namespace gateway
