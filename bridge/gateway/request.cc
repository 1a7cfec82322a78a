#include "gateway/request.h"

#include <deque>

#include "base/log.h"
#include "cgi/error_response.h"
#include "cgi/query_words.h"
#include "fastcgi/record_writer.h"
#include "gateway/gateway.h"
#include "router/unrunnable.h"

namespace gateway {
namespace {
// php-cgi as a CGI program answers only requests that a web server has "redirected" to it.
constexpr std::string_view kRedirectStatus = "REDIRECT_STATUS";

// The fields that the settings add to each answer.
void add_fields(ResponseStream& response, const config::ProgramSettings& settings,
                const RequestRecord& record) {
  const std::string arm = record.arm_field(settings), id = record.id_field(settings);
  if (!arm.empty()) response.add_field(arm, "arm_header");
  if (!id.empty()) response.add_field(id, "request_id_header");
}

}  // namespace

Request::Request(Gateway& gateway, Answer& answer, fastcgi::RequestId id)
    : gateway_(gateway),
      answer_(&answer),
      id_(id),
      record_(gateway),
      body_(gateway.loop(), answer, [this] {
        if (!finished()) response_->let_go();
      }) {
  gateway_.counts().requests_active += 1;
  gateway_.counts().requests_total += 1;
}

Request::~Request() {
  gateway_.counts().requests_active -= 1;
  if (!record_.closed()) {
    record_.set_gone();
    close_record();
  }
  if (run_ == nullptr || !run_->running()) {
    record_.end_entry(target_.settings);
    return;
  }
  gateway_.end_unawaited(std::move(run_), response_->release(), label(),
                         {target_.keep_alive, target_.settings}, record_.release_entry());
}

// Its name in the log.
std::string Request::label() const {
  return gateway_.journal().text_of(record_.name()) + " " + target_.subject();
}

// ---- which program ----

void Request::start(std::shared_ptr<const config::Settings> settings,
                    const cgi::Variables& variables, const std::string& bound) {
  target_.keep_alive = std::move(settings);
  record_.set_name(variables);
  record_.begin_entry(variables);
  if (const auto refusal = route(variables, bound)) {
    return fail(refusal->status, {}, refusal->reason);
  }
  // If the body has no announced length, it is collected first: the program gets both body and
  // length.
  if (!body_.is_kept()) run();
}

void Request::run() {
  run_ = std::make_unique<pool::Run>(
      gateway_.pools().of(target_.program),
      pool::Job{.query_words = target_.query_words,
                .environment = target_.environment.block,
                .environment_count = static_cast<std::uint32_t>(target_.environment.count),
                .side = target_.side},
      *this);
}

std::optional<cgi::Refusal> Request::route(const cgi::Variables& variables,
                                           const std::string& bound) {
  auto path = bound.empty() ? cgi::script_path(variables) : cgi::OrRefusal<std::string>(bound);
  if (!path) return path.refusal();
  auto resolved = gateway_.resolver().resolve(path.value());
  if (!resolved && !bound.empty()) return resolved.refusal();
  if (!resolved) {
    std::deque<std::string> owned;
    const auto whole = cgi::undivided(variables, owned);
    // If that is not a program either, its refusal names what the visitor asked for, not a folder.
    return whole ? route(*whole, bound) : resolved.refusal();
  }
  router::Resolution& resolution = resolved.value();

  // By the name that the web server uses for it.
  target_.settings = &target_.keep_alive->for_program(resolution.program);
  const config::ProgramSettings& settings = *target_.settings;
  const cgi::PathSplit split = cgi::split_path(variables, resolution.script, resolution.path_info);
  if (bound.empty() && cgi::doubles_a_slash(variables, split)) {
    return cgi::Refusal{404, "a doubled slash in the program's URL: " + split.script_name};
  }
  const std::string_view sent = cgi::value_or_empty(variables, "SCRIPT_FILENAME");
  const bool as_sent = !bound.empty() && !sent.empty();
  auto environment = cgi::build_environment(variables, split, as_sent ? sent : resolution.program,
                                            gateway_.configured_environment(settings),
                                            {.strict = settings.strict_params,
                                             .passed = settings.pass_params,
                                             .fallback = settings.fallback_env});
  if (!environment) return environment.refusal();
  if (const auto& name = environment.value().kept_back; !name.empty()) {
    gateway_.log_withheld(name);
  }
  target_.environment = environment.take();
  const std::string_view method = cgi::value_or_empty(variables, "REQUEST_METHOD");
  // CONTENT_LENGTH without a length is Caddy's -1.
  const bool is_chunked = !cgi::value_or_empty(variables, "HTTP_TRANSFER_ENCODING").empty() ||
                          !cgi::value_or_empty(variables, "CONTENT_LENGTH").empty();
  target_.has_chunked_body =
      !target_.environment.content_length && (is_chunked || (method != "GET" && method != "HEAD"));
  target_.program = std::move(resolution.program);
  // Whoever counts the first param is fcgiwrap, which never passed any words.
  if (!target_.keep_alive->bridge.first_param_counts) {
    target_.query_words = cgi::query_words(method, cgi::value_or_empty(variables, "QUERY_STRING"));
  }
  const std::uint64_t announced = target_.environment.content_length.value_or(0);
  if (settings.limits.body > 0 && announced > settings.limits.body) {
    return cgi::Refusal{
        413, fmt::format("a body of {} bytes; limits.body is {}", announced, settings.limits.body)};
  }
  take_side(gateway_.comparisons(), variables, resolution.file.identity, target_, record_);
  pool::Pool& pool = gateway_.pools().of(target_.program);
  pool.refresh(settings, resolution.file, target_.environment.block, target_.side);
  if (pool.is_php() && !cgi::find(variables, kRedirectStatus) &&
      settings.env.count(std::string(kRedirectStatus)) == 0) {
    target_.add_variable(kRedirectStatus, "200");
  }
  const auto opened = body_.open(target_.environment.content_length, target_.has_chunked_body);
  if (!opened) return cgi::Refusal{500, opened.error().message};
  if (body_.is_passed_on()) streams_.set_has_body();
  open_response(method == "HEAD" ? BodyWanted::no : BodyWanted::yes);
  return std::nullopt;
}

void Request::open_response(BodyWanted body_wanted) {
  response_ = std::make_unique<ResponseStream>(
      gateway_.loop(), *answer_, *this,
      ResponseStream::Wishes{
          .id = id_,
          .body_wanted = body_wanted,
          .hold_back = body_.is_passed_on() ? HoldBack::yes : HoldBack::no,
          .head_bytes_max = target_.keep_alive->bridge.response_head_max,
          .copy = record_.answer_copy(),
          .errors_to_server = target_.settings->errors_to_server,
      },
      [this] { return label(); });
  response_->limit_errors(target_.settings->limits.error_output);
  response_->set_server_redirects(target_.environment.server_redirects);
}

// ---- the program starts ----

base::Result<std::array<int, 3>> Request::descriptors() {
  auto made = streams_.descriptors();
  // The worker that should have taken it, by FastCGI or with its own pipes, did not.
  if (made && phase_ == Phase::running) connect_response();
  return made;
}

bool Request::reuse_streams(base::FdPair& outputs) {
  if (!streams_.reuse(outputs)) return false;
  // A worker that had got it was gone before it began.
  if (phase_ == Phase::running) connect_response();
  return true;
}

void Request::connect_response() {
  if (!streams_.has_outputs()) return;
  response_->connect(streams_.take_outputs());
}

void Request::on_started(compare::Arm arm) {
  record_.set_started(arm, run_->pid());
  slow_.begin(*this);
  add_fields(*response_, *target_.settings, record_);
  phase_ = Phase::running;
  body_.connect(streams_.take_body_end());
  connect_response();
  RequestTimeOwner& self = *this;
  time_ = std::make_unique<RequestTime>(gateway_.loop(), target_.settings->timeouts,
                                        gateway_.counts().background, *response_, self);
}

// Fires when the program has run for slowlog.after, from its start, which is now.
void Request::SlowWatch::begin(Request& request) {
  const auto after = request.target_.settings->slowlog.after;
  if (after.count() == 0) return;
  timer = std::make_unique<loop::Timer>(request.gateway_.loop(), [this, &request, after] {
    if (request.finished() || !request.run_->running()) return;
    const Target& target = request.target_;
    turn = request.gateway_.journal().slow({.name = request.record_.name(),
                                            .program = target.program,
                                            .environment = target.environment.block,
                                            .arm = compare::to_string(request.record_.arm()),
                                            .pid = request.run_->pid(),
                                            .after = after,
                                            .stacks = target.settings->slowlog.stacks});
  });
  timer->start(after);
}

void Request::on_too_long(const std::string& why) {
  fail(504, "The program took too long.", why + ": it is ended", compare::Failure::timeout);
}

void Request::on_background_too_long() {
  base::log_warn(
      "{}: it goes on after its answer for more than {} ms (timeouts.background): it is ended",
      label(), target_.settings->timeouts.background.count());
  record_.set_ended_in_background();
  run_->terminate();
}

// Nobody can write to its standard output any more. Without a complete head this is not an answer,
// and what the program does next may say why: so we wait for its end.
void Request::on_output_closed() {
  if (finished() || !response_->head_read() || !run_->running()) return;
  time_->output_closed([this] { return run_->pid(); });
}

// The exit code is not known yet: END_REQUEST says 0.
void Request::on_answered() {
  record_.set_answered();
  slow_.timer.reset();
  response_->let_go();
  // If its client has already left, an Epilogue has it, which waits for the program's end.
  if (!moved_) answer_->finish(id_, 0);
}

// ---- the body ----

void Request::body_bytes(base::ByteView piece) {
  if (finished()) return;
  record_.add_body(piece, target_.environment.content_length.value_or(0));
  const auto refusal = body_.take(piece, target_.settings->limits.body);
  if (refusal) fail(refusal->status, {}, refusal->reason);
}

void Request::body_end() {
  const bool is_kept = body_.is_kept();
  body_.end();
  if (finished()) return;
  if (is_kept) {
    // Not every web server says that a body comes in chunks, and a missing body has no length
    // either.
    if (body_.received() > 0) {
      target_.add_variable("CONTENT_LENGTH", std::to_string(body_.received()));
      streams_.set_input(body_.take_kept());
    }
    return run();
  }
  if (!body_.is_passed_on()) return;
  const std::uint64_t announced = target_.environment.content_length.value_or(0);
  if (body_.received() < announced) {
    base::log_warn("{}: the body ended after {} of {} bytes", label(), body_.received(), announced);
  }
  response_->let_go();
}

// ---- the answer ----

void Request::resume() {
  if (response_ == nullptr || finished()) return;
  response_->resume();
  if (run_ != nullptr) run_->resume();
}

bool Request::answer_is_whole() const {
  return phase_ == Phase::running && response_->answer_is_whole();
}

void Request::move_to(Answer& answer) {
  moved_ = true;
  answer_ = &answer;
  body_.move_to(answer);
  response_->move_to(answer);
  if (!body_.complete()) body_end();
}

void Request::on_output(base::ByteView bytes) {
  if (!finished()) response_->take_output(bytes);
}

void Request::on_errors(base::ByteView bytes) {
  if (!finished()) response_->take_errors(bytes);
}

// If a program that speaks FastCGI did not mark its answer as complete, the answer must not look
// complete.
void Request::on_complete() {
  if (!record_.ending().incomplete || finished()) return finish();
  break_off(record_.ending().app_status);
}

worker::Printed Request::on_ended(const worker::Ending& ending) {
  record_.set_program_ended(ending);
  slow_.turn.reset();
  time_.reset();
  if (!ending.description.empty() && !finished()) {
    base::log_warn("{}: it was {}", label(), ending.description);
  }
  streams_.close_program_ends();
  body_.close();
  base::FdPair kept = response_->program_ended(
      ending.keeps_streams ? ResponseStream::Pipes::kept : ResponseStream::Pipes::closed);
  // If a slow client has left output in the pipes, it has already taken some; so bytes_read() is
  // enough.
  return {.output = response_->bytes_read() > 0,
          .errors = !response_->last_error_line().empty(),
          .kept = std::move(kept)};
}

void Request::on_bad_head(const std::string& reason) {
  std::string why = reason;
  const worker::Ending& ending = record_.ending();
  const bool exited_with_error = ending.app_status != 0 && ending.description.empty();
  if (!ending.description.empty()) why += "; it was " + ending.description;
  if (exited_with_error) why += fmt::format("; it exited with {}", ending.app_status);
  const std::string& last_word = response_->last_error_line();
  if (!last_word.empty()) why += "; its last word: " + base::printable(last_word, 200);
  if (exited_with_error) {
    why += router::what_hindered(target_.program, target_.environment.block,
                                 target_.settings->interpreter, last_word);
  }
  fail(502, "The program gave no proper answer.", why, compare::Failure::bad_answer);
}

void Request::on_refused(const cgi::Refusal& refusal) {
  record_.set_never_began();
  fail(refusal.status, {}, refusal.reason,
       refusal.status == 503 ? compare::Failure::refused : compare::Failure::not_started);
}

void Request::fail(int status, const std::string& reason_public, const std::string& reason,
                   compare::Failure failure) {
  if (finished()) return;
  record_.set_failed(failure, reason);
  if (response_ != nullptr && response_->head_given()) {
    base::log_warn("{}: {}; its answer is broken off", label(), reason);
    return break_off(0);
  }
  record_.set_status(status);
  if (record_.name().id.empty()) record_.set_name({});  // its params were never complete
  // A status below 500 is the client's fault, so it is logged only as a warning.
  const auto level = status >= 500 ? base::LogLevel::error : base::LogLevel::warn;
  base::log(level, "{}: {}: {}", label(), status, reason);
  gateway_.counts().errors += 1;
  const auto now = target_.keep_alive != nullptr ? target_.keep_alive : gateway_.settings();
  const auto& settings = target_.settings != nullptr ? *target_.settings : now->defaults;
  std::string records;
  fastcgi::append_stream(
      records, fastcgi::RecordType::std_out, id_,
      cgi::error_response(status, reason_public,
                          pool::retry_after(status == 503 ? target_.settings : nullptr),
                          record_.arm_field(settings) + record_.id_field(settings)));
  // Web servers copy it into their log as it is: a visitor's line end would forge a line there.
  const std::string told =
      fmt::format("cgibridge: {}: {} (id={})", target_.subject(), reason, record_.name().id);
  fastcgi::append_stream(records, fastcgi::RecordType::std_err, id_,
                         base::printable(told, told.npos) + "\n");
  answer_->out().append(records);
  finish();
}

void Request::finish() {
  if (finished()) return;
  phase_ = Phase::finished;
  close_record();
  answer_->finish(id_, record_.ending().app_status);
}

void Request::break_off(std::uint32_t app_status) {
  phase_ = Phase::finished;
  close_record();
  answer_->break_off(id_, app_status);
}

void Request::close_record() {
  record_.close(target_, response_.get(), body_.is_passed_on() ? body_.received() : 0,
                run_ != nullptr ? run_->queue_time() : std::chrono::microseconds{});
}

}  // namespace gateway
