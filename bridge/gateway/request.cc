#include "gateway/request.h"

#include <fcntl.h>

#include <cerrno>

#include "base/log.h"
#include "cgi/error_response.h"
#include "cgi/query_words.h"
#include "fastcgi/record_writer.h"
#include "gateway/gateway.h"
#include "router/unrunnable.h"

namespace gateway {
namespace {
// A body that does not go on for so long, though it could, no longer holds back the answer.
constexpr std::chrono::milliseconds kBodyPause{100};
// php-cgi as a CGI program answers only what a web server has "redirected" to it.
constexpr std::string_view kRedirectStatus = "REDIRECT_STATUS";
}  // namespace

Request::Request(Gateway& gateway, Answer& answer, fastcgi::RequestId id)
    : gateway_(gateway), answer_(&answer), id_(id), since_(gateway.loop().now()) {
  gateway_.counts().requests_active += 1;
  gateway_.counts().requests_total += 1;
}

Request::~Request() {
  gateway_.counts().requests_active -= 1;
  if (!observed_) {
    observation_.failure = compare::Failure::gone;
    observe();
  }
  if (run_ == nullptr || !run_->running()) {
    if (entry_ != nullptr) gateway_.journal().end(*entry_, settings_);
    return;
  }
  gateway_.bury(std::move(run_), response_->release(), label(), {keep_alive_, settings_},
                std::move(entry_));
}

// ---- which program ----

void Request::start(const fastcgi::Params& params) {
  cgi::Variables variables;
  variables.reserve(params.size());
  for (const auto& pair : params) variables.emplace_back(pair.name, pair.value);
  keep_alive_ = gateway_.settings();
  name_ = gateway_.journal().name(variables);
  if (auto visit = PageVisit::of(keep_alive_->bridge.page.path, variables)) {
    visit_ = std::make_unique<PageVisit>(std::move(*visit));
    return;
  }
  entry_ = gateway_.journal().begin(name_, variables);
  if (const auto refusal = route(variables)) {
    return fail(refusal->status, {}, refusal->reason);
  }
  // A body without a length comes first: the program gets both.
  if (!spool_.has_value()) run();
}

void Request::run() {
  run_ = std::make_unique<pool::Run>(
      gateway_.pools().of(program_),
      pool::Job{.query_words = query_words_,
                .environment = environment_.block,
                .environment_count = static_cast<std::uint32_t>(environment_.count),
                .side = side_},
      *this);
}

std::optional<cgi::Refusal> Request::route(const cgi::Variables& variables) {
  auto path = cgi::script_path(variables);
  if (!path) return path.refusal();
  auto resolved = gateway_.resolver().resolve(path.value());
  if (!resolved) return resolved.refusal();
  router::Resolution& resolution = resolved.value();

  // By the name that the web server has for it.
  settings_ = &keep_alive_->for_program(resolution.program);
  const cgi::PathSplit split = cgi::split_path(variables, resolution.script, resolution.path_info);
  auto environment = cgi::build_environment(variables, split, resolution.program,
                                            gateway_.configured_environment(*settings_),
                                            {settings_->strict_params, settings_->pass_params});
  if (!environment) return environment.refusal();
  if (const auto& name = environment.value().kept_back; !name.empty())
    gateway_.tell_kept_back(name);
  environment_ = environment.take();
  program_ = std::move(resolution.program);
  query_words_ = cgi::query_words(cgi::value_or_empty(variables, "REQUEST_METHOD"),
                                  cgi::value_or_empty(variables, "QUERY_STRING"));
  const std::uint64_t body_max = settings_->limits.body;
  if (body_max > 0 && environment_.content_length.value_or(0) > body_max) {
    return cgi::Refusal{413, fmt::format("a body of {} bytes; limits.body is {}",
                                         *environment_.content_length, body_max)};
  }
  choose_arm(variables, resolution.file.identity);
  pool::Pool& pool = gateway_.pools().of(program_);
  pool.refresh(*settings_, resolution.file, environment_.block, side_);
  if (pool.is_php() && !cgi::find(variables, kRedirectStatus) &&
      settings_->env.count(std::string(kRedirectStatus)) == 0) {
    environment_.block += std::string(kRedirectStatus) + "=200";
    environment_.block.push_back('\0');
    environment_.count += 1;
  }
  if (const auto refusal = open_body(variables)) return refusal;
  open_response(cgi::value_or_empty(variables, "REQUEST_METHOD") == "HEAD" ? BodyWanted::no
                                                                           : BodyWanted::yes);
  return std::nullopt;
}

std::optional<cgi::Refusal> Request::open_body(const cgi::Variables& variables) {
  if (environment_.content_length.value_or(0) > 0) {
    body_ = std::make_unique<worker::BodyPipe>(gateway_.loop(), *environment_.content_length,
                                               [this] { answer_->body_room_changed(); });
    return std::nullopt;
  }
  const bool chunked = !environment_.content_length.has_value() &&
                       !cgi::value_or_empty(variables, "HTTP_TRANSFER_ENCODING").empty();
  if (!chunked) return std::nullopt;
  auto spool = BodySpool::make();
  if (!spool) return cgi::Refusal{500, spool.error().message};
  spool_ = spool.take();
  return std::nullopt;
}

void Request::open_response(BodyWanted body_wanted) {
  response_ = std::make_unique<ResponseStream>(
      gateway_.loop(), id_, body_wanted, body_ == nullptr ? HoldBack::no : HoldBack::yes,
      keep_alive_->bridge.response_head_max, [this] { return label(); },
      ResponseStream::Sink{
          &answer_->out(), [this] { return answer_->has_room(); }, [this] { answer_->wrote(); },
          [this] { program_ends_ = {}; }, [this] { on_output_closed(); },
          [this](const std::string& reason) { on_bad_head(reason); }, [this] { complete(); },
          [this](const cgi::ResponseHead& head) {
            if (copy_ != nullptr) copy_->take_head(head);
          },
          copy_ == nullptr ? std::function<void(base::ByteView)>()
                           : [this](base::ByteView piece) { copy_->add_body(piece); }});
  response_->limit_errors(settings_->limits.error_output);
  response_->set_server_redirects(environment_.server_redirects);
}

// ---- the program starts ----

base::Result<std::array<int, 3>> Request::descriptors() {
  if (!program_ends_.out) {
    const auto made = make_ends();
    if (!made) return made.error();
    // The worker that was to take it by FastCGI did not.
    if (started_) connect_response();
  }
  const int in_fd = spooled_ ? spooled_.get() : program_ends_.in.get();
  return std::array<int, 3>{in_fd, program_ends_.out.get(), program_ends_.err.get()};
}

base::Result<base::UniqueFd> Request::body() {
  const auto made = make_body_ends();
  if (!made) return made.error();
  const int fd = body_ != nullptr ? program_ends_.in.get() : spooled_.get();
  if (fd < 0) return base::UniqueFd();
  base::UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return base::errno_error("cannot copy a descriptor", errno);
  return copy;
}

base::Status Request::make_body_ends() {
  if (body_ == nullptr || program_ends_.in) return base::Done{};
  auto in = base::make_pipe(base::NonblockingEnd::writing);
  if (!in) return in.error();
  program_ends_.in = std::move(in.value().first);
  body_writing_end_ = std::move(in.value().second);
  return base::Done{};
}

base::Status Request::make_ends() {
  auto out = base::make_pipe(base::NonblockingEnd::reading);
  if (!out) return out.error();
  auto err = base::make_pipe(base::NonblockingEnd::reading);
  if (!err) return err.error();
  if (const auto made = make_body_ends(); !made) return made.error();
  if (!program_ends_.in && !spooled_) {
    auto in = base::make_empty_input();
    if (!in) return in.error();
    program_ends_.in = in.take();
  }
  stdout_end_ = std::move(out.value().first);
  stderr_end_ = std::move(err.value().first);
  program_ends_.out = std::move(out.value().second);
  program_ends_.err = std::move(err.value().second);
  return base::Done{};
}

void Request::connect_response() {
  if (stdout_end_) response_->connect(std::move(stdout_end_), std::move(stderr_end_));
}

void Request::on_started(compare::Arm arm) {
  observation_.arm = arm;
  tell_slow_log();
  add_fields(arm);
  started_ = true;
  if (body_ != nullptr) body_->connect(std::move(body_writing_end_));
  connect_response();
  if (body_ != nullptr && !body_complete_) {
    body_timer_ = std::make_unique<loop::Timer>(gateway_.loop(), [this] { watch_body(); });
    body_timer_->start(kBodyPause);
  }
  begin_time();
}

// A client that pauses in its body, though there is room for it, may be waiting for the answer.
void Request::watch_body() {
  if (body_complete_ || finished_) return;
  if (body_->received() == body_seen_ && !body_->full()) return response_->let_go();
  body_seen_ = body_->received();
  body_timer_->start(kBodyPause);
}

void Request::begin_time() {
  time_ = std::make_unique<RequestTime>(
      gateway_.loop(), settings_->timeouts, gateway_.counts().background,
      RequestTime::Events{
          [this](const std::string& why) {
            fail(504, "The program took too long.", why + ": it is ended",
                 compare::Failure::timeout);
          },
          [this] { on_answered(); },
          [this] {
            base::log_warn(
                "{}: it goes on behind its answer for more than {} ms (timeouts.background): it is "
                "ended",
                label(), settings_->timeouts.background.count());
            ended_in_background_ = true;
            run_->terminate();
          },
          // While the client takes nothing, the program's silence is not its own.
          [this] {
            return answer_->has_room() ? response_->last_output() : gateway_.loop().now();
          }});
}

// Nobody writes to its standard output any more. Without a whole head that is no answer, and what
// the program does next may say why: its end is waited for.
void Request::on_output_closed() {
  if (finished_ || !response_->head_read() || !run_->running()) return;
  time_->output_closed(run_->pid());
}

// The exit code is not known yet: END_REQUEST says 0.
void Request::on_answered() {
  answered_at_ = gateway_.loop().now();
  slow_timer_.reset();
  response_->let_go();
  // One whose client has left already is an Epilogue, which waits for the program's end.
  if (!moved_) answer_->finish(id_, 0);
}

// ---- the body ----

void Request::body_bytes(base::ByteView piece) {
  if (finished_) return;
  if (visit_ != nullptr) {
    if (!visit_->add_body(piece)) fail(413, {}, "a body that no page of the bridge takes");
    return;
  }
  if (entry_ != nullptr) entry_->add_body(piece);
  if (spool_.has_value()) {
    const auto kept = spool_->write(piece);
    if (!kept) return fail(500, {}, kept.error().message);
    return limit_body(spool_->size());
  }
  if (body_ == nullptr) return;
  copy_body(piece);
  body_->write(piece);
  limit_body(body_->received());
}

void Request::limit_body(std::uint64_t received) {
  const std::uint64_t body_max = settings_->limits.body;
  if (body_max == 0 || received <= body_max) return;
  fail(413, {}, fmt::format("a body of more than {} bytes (limits.body)", body_max));
}

void Request::end_spool() {
  environment_.block += fmt::format("CONTENT_LENGTH={}", spool_->size());
  environment_.block.push_back('\0');
  environment_.count += 1;
  spooled_ = spool_->take();
  spool_.reset();
  run();
}

void Request::body_end() {
  body_complete_ = true;
  if (visit_ != nullptr && !finished_) return visit_page();
  if (spool_.has_value() && !finished_) return end_spool();
  if (body_ == nullptr || finished_) return;
  const std::uint64_t announced = environment_.content_length.value_or(0);
  if (body_->received() < announced) {
    base::log_warn("{}: the body ended after {} of {} bytes", label(), body_->received(),
                   announced);
  }
  body_->end();
  response_->let_go();
}

// ---- the answer ----

void Request::resume() {
  if (response_ == nullptr || finished_) return;
  response_->resume();
  if (run_ != nullptr) run_->resume();
}

bool Request::answer_is_whole() const {
  return started_ && !finished_ && response_->answer_is_whole();
}

void Request::move_to(Answer& answer) {
  moved_ = true;
  answer_ = &answer;
  response_->move_to(answer.out());
  if (!body_complete_) body_end();
}

void Request::on_output(base::ByteView bytes) {
  if (!finished_) response_->take_output(bytes);
}

void Request::on_errors(base::ByteView bytes) {
  if (!finished_) response_->take_errors(bytes);
}

// What a program that speaks FastCGI never called whole must not look whole.
void Request::complete() {
  if (!ending_.incomplete || finished_) return finish();
  break_off(app_status_);
}

worker::Printed Request::on_ended(const worker::Ending& ending) {
  app_status_ = ending.app_status;
  ending_ = ending;
  if (entry_ != nullptr) entry_->program_ended(ending);
  stack_turn_.reset();
  time_.reset();
  observation_.cpu = ending.cpu;
  observation_.peak_kib = ending.peak_kib;
  if (!ending.description.empty() && !finished_) {
    base::log_warn("{}: it was {}", label(), ending.description);
  }
  program_ends_ = {};
  if (body_ != nullptr) body_->close();
  response_->program_ended();
  // What a slow client has left in the pipes began with something that it has taken.
  return {.output = response_->bytes_read() > 0, .errors = !response_->last_error_line().empty()};
}

void Request::on_bad_head(const std::string& reason) {
  std::string why = reason;
  const std::string& ended_by = ending_.description;
  if (!ended_by.empty()) why += "; it was " + ended_by;
  if (app_status_ != 0 && ended_by.empty()) why += fmt::format("; it exited with {}", app_status_);
  const std::string& last_word = response_->last_error_line();
  if (!last_word.empty()) why += "; its last word: " + base::printable(last_word, 200);
  if (app_status_ != 0 && ended_by.empty())
    why += router::what_hindered(program_, environment_.block, settings_->interpreter, last_word);
  fail(502, "The program gave no proper answer.", why, compare::Failure::bad_answer);
}

void Request::on_refused(const cgi::Refusal& refusal) {
  fail(refusal.status, {}, refusal.reason,
       refusal.status == 503 ? compare::Failure::refused : compare::Failure::not_started);
}

void Request::fail(int status, const std::string& reason_public, const std::string& reason,
                   compare::Failure failure) {
  if (finished_) return;
  observation_.failure = failure;
  if (entry_ != nullptr) entry_->why = reason;
  if (response_ != nullptr && response_->head_given()) {
    base::log_warn("{}: {}; its answer is broken off", label(), reason);
    return break_off(0);
  }
  observation_.status = status;
  if (name_.id.empty()) name_ = gateway_.journal().name({});  // its params were never whole
  // Status lines of the log below 500 are a client's doing.
  const auto level = status >= 500 ? base::LogLevel::error : base::LogLevel::warn;
  base::log(level, "{}: {}: {}", label(), status, reason);
  gateway_.counts().errors += 1;
  std::string records;
  fastcgi::append_stream(
      records, fastcgi::RecordType::std_out, id_,
      cgi::error_response(status, reason_public,
                          pool::retry_after(status == 503 ? settings_ : nullptr), id_field()));
  fastcgi::append_stream(records, fastcgi::RecordType::std_err, id_,
                         fmt::format("cgibridge: {}: {} (id={})\n", subject(), reason, name_.id));
  answer_->out().append(records);
  finish();
}

void Request::finish() {
  if (finished_) return;
  finished_ = true;
  observe();
  answer_->finish(id_, app_status_);
}

void Request::break_off(std::uint32_t app_status) {
  finished_ = true;
  observe();
  answer_->break_off(id_, app_status);
}

void Request::visit_page() {
  std::string records;
  const PageHandler& page = gateway_.page();
  fastcgi::append_stream(records, fastcgi::RecordType::std_out, id_,
                         page ? visit_->answer(page) : cgi::error_response(404, {}));
  answer_->out().append(records);
  finish();
}

}  // namespace gateway
