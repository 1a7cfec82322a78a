#include "gateway/request_record.h"

#include <algorithm>

#include "gateway/arm_choice.h"
#include "gateway/gateway.h"

namespace gateway {
namespace {

// What arm_header says when the request may be sent again, whatever it does.
constexpr std::string_view kNeverBegan = "not-begun";

// A different number for each version of a file; should two be equal, promotion just goes on.
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

// The arm that a request counts for if it never began.
compare::Arm intended_arm(const Target& target) {
  if (target.side == compare::Side::classic) return compare::Arm::classic;
  const bool keeps = target.settings->launch == config::Launch::fastcgi;
  return pool::arm_of(keeps ? config::Reset::none : target.settings->reset);
}

}  // namespace

RequestRecord::RequestRecord(Gateway& gateway) : gateway_(gateway), since_(gateway.loop().now()) {}

base::TimePoint RequestRecord::now() const {
  return gateway_.loop().now();
}

// ---- while it runs ----

void RequestRecord::set_name(const cgi::Variables& variables) {
  name_ = gateway_.journal().name(variables);
}

std::string RequestRecord::id_field(const config::ProgramSettings& settings) const {
  const std::string& header = settings.request_id_header;
  return header.empty() ? std::string() : header + ": " + name_.id + "\r\n";
}

std::string RequestRecord::arm_field(const config::ProgramSettings& settings) const {
  const std::string& header = settings.arm_header;
  if (header.empty()) return {};
  return fmt::format("{}: {}\r\n", header, began_ ? compare::to_string(seen_.arm) : kNeverBegan);
}

void RequestRecord::begin_entry(const cgi::Variables& variables) {
  entry_ = gateway_.journal().begin(name_, variables);
}

void RequestRecord::set_shadow(std::unique_ptr<shadow::Task> task, std::size_t answer_max) {
  shadow_ = std::move(task);
  copy_ = std::make_unique<shadow::AnswerCopy>(answer_max);
}

// The other side never gets more than was announced, and neither does the program.
void RequestRecord::add_body(base::ByteView piece, std::uint64_t length_announced) {
  if (entry_ != nullptr) entry_->add_body(piece);
  if (shadow_ == nullptr) return;
  const std::uint64_t room = length_announced - std::uint64_t(shadow_->body.size());
  shadow_->body += piece.substr(0, std::min<std::uint64_t>(room, piece.size()));
}

void RequestRecord::set_started(compare::Arm arm, pid_t pid) {
  started_ = began_ = true;
  seen_.arm = arm;
  if (entry_ != nullptr) entry_->pid = pid;
}

void RequestRecord::set_program_ended(const worker::Ending& ending) {
  ending_ = ending;
  seen_.cpu = ending.cpu;
  seen_.peak_kib = ending.peak_kib;
  if (entry_ != nullptr) entry_->program_ended(ending);
}

void RequestRecord::set_failed(compare::Failure failure, const std::string& reason) {
  seen_.failure = failure;
  if (entry_ != nullptr) entry_->why = reason;
}

// ---- at its end ----

bool RequestRecord::answered() const {
  return seen_.status == 0 && seen_.failure == compare::Failure::none;
}

void RequestRecord::close(const Target& target, const ResponseStream* response,
                          std::uint64_t body_received, std::chrono::microseconds queue) {
  if (std::exchange(closed_, true)) return;
  if (target.program.empty() && entry_ == nullptr) return;
  const bool has_answered = answered();
  if (response != nullptr) judge(*response);
  seen_.latency = std::chrono::duration_cast<compare::Microseconds>(
      (answered_at_ == base::TimePoint{} ? now() : answered_at_) - since_);
  seen_.queue = queue;
  seen_.bytes_in = body_received;
  if (entry_ != nullptr) note_in_journal(target, response);
  if (target.program.empty()) return;
  gateway_.observe(target.program, seen_);
  if (shadow_ == nullptr) return;
  if (has_answered && !ended_in_background_) return give_to_shadow(target);
  gateway_.comparisons().of(target.program).shadow.skipped(compare::Skip::failed);
}

void RequestRecord::judge(const ResponseStream& response) {
  if (answered()) {
    seen_.status = response.status();
    if (seen_.status >= 500) seen_.failure = compare::Failure::status;
    if (ending_.app_status != 0) seen_.failure = compare::Failure::exit_code;
    if (!ending_.description.empty()) seen_.failure = compare::Failure::signal;
    // Its answer was complete long before.
    if (ended_in_background_) seen_.failure = compare::Failure::none;
  }
  // An answer that was broken off, or that nobody waited for, had begun all the same.
  if (seen_.status == 0) seen_.status = response.status();
  seen_.bytes_out = response.bytes_read();
}

void RequestRecord::note_in_journal(const Target& target, const ResponseStream* response) {
  entry_->program = target.program;
  entry_->seen = seen_;
  entry_->seen.bytes_in = entry_->received;  // right also for a body without a length
  if (started_ && seen_.arm != compare::Arm::classic) {
    entry_->level = gateway_.pools().of(target.program).warm_level();
  }
  if (response != nullptr) entry_->last_error = response->last_error_line();
}

void RequestRecord::end_entry(const config::ProgramSettings* settings) {
  if (entry_ != nullptr) gateway_.journal().end(*entry_, settings);
}

void RequestRecord::give_to_shadow(const Target& target) {
  if (copy_->too_large()) {
    return gateway_.comparisons().of(target.program).shadow.skipped(compare::Skip::answer);
  }
  shadow_->program = target.program;
  shadow_->keep_alive = target.keep_alive;
  shadow_->settings = target.settings;
  shadow_->environment = target.environment.block;
  shadow_->environment_count = static_cast<std::uint32_t>(target.environment.count);
  shadow_->query_words = target.query_words;
  shadow_->classic = copy_->finish(ending_);
  gateway_.shadows().add(std::move(*shadow_));
}

void take_side(compare::Comparisons& comparisons, const cgi::Variables& variables,
               const router::FileIdentity& identity, Target& target, RequestRecord& record) {
  const config::ProgramSettings& settings = *target.settings;
  compare::Comparison& comparison = comparisons.of(target.program);
  keep_promotion(settings, version_of(identity), comparison);
  const ArmChoice choice = gateway::choose_arm(settings, variables, comparison);
  target.side = choice.side;
  record.set_intended_arm(intended_arm(target));
  if (!choice.shadowed) return;
  const std::uint64_t announced = target.environment.content_length.value_or(0);
  if (target.has_chunked_body || announced > settings.shadow.body_max) {
    return comparison.shadow.skipped(compare::Skip::body);
  }
  auto task = std::make_unique<shadow::Task>();
  task->version = comparison.version;
  task->era = comparison.promotion.era();
  task->method = cgi::value_or_empty(variables, "REQUEST_METHOD");
  task->uri = cgi::value_or_empty(variables, "REQUEST_URI");
  task->has_body = announced > 0;
  record.set_shadow(std::move(task), settings.shadow.answer_max);
}

}  // namespace gateway
