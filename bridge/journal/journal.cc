#include "journal/journal.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/log.h"
#include "cgi/environment.h"
#include "journal/access_line.h"
#include "journal/capture.h"

namespace journal {
namespace {

// Lines are written before the turn ends if there are this many.
constexpr std::size_t kHeldMax = 64 * base::kKiB;

std::string file_name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

Journal::Journal(loop::Loop& loop, worker::Processes& processes)
    : stacks_(loop, processes), clock_(loop), flush_(loop, [this] { flush(); }) {}

Journal::~Journal() {
  flush();
}

// ---- the files ----

void Journal::come_from(const std::string& settings_file) {
  std::error_code ignored;
  settings_file_ = std::filesystem::absolute(settings_file, ignored).string();
}

void Journal::use(const config::BridgeSettings& settings) {
  flush();
  use_file(access_, settings.access_log.file);
  use_file(slow_, settings.slowlog.file);
  if (const auto used = folder_.use(settings.captures.folder); !used) {
    base::log_error("captures.folder: {}: nothing is captured", used.error().message);
  }
  access_settings_ = settings.access_log;
  stacks_.set_readers(settings.slowlog.readers);
  capture_settings_ = settings.captures;
  secrets_ = Secrets(settings.captures.secret);
}

void Journal::use_file(Log& log, const std::string& path) {
  if (log.file.path() == path) return;
  log.file.close();
  if (path.empty()) return;
  const auto opened = log.file.open(path);
  if (opened) return;
  base::log_error("{}.file: {}: it is left out until the settings change", log.setting,
                  opened.error().message);
}

base::Status Journal::reopen() {
  flush();
  base::Status outcome = base::reopen_log();
  for (Log* log : {&access_, &slow_}) {
    if (!log->file.is_open()) continue;
    if (const auto opened = log->file.reopen(); !opened) outcome = opened.error();
  }
  if (!outcome) {
    base::log_error("reopen: {}: the file that was open goes on", outcome.error().message);
  }
  return outcome;
}

void Journal::append(Log& log, base::ByteView lines) {
  const bool took = log.file.append(lines) == base::AppendFile::Outcome::written;
  if (took == !log.dropping) return;
  log.dropping = !took;
  if (!took) {
    log.dropped_before = log.file.dropped() - 1;
    base::log_error("{}: cannot write {}: {}: its lines are dropped until that works again",
                    log.setting, log.file.path(), std::strerror(log.file.error_number()));
  } else {
    base::log_warn("{}: {} can be written again; {} line(s) were dropped", log.setting,
                   log.file.path(), log.file.dropped() - log.dropped_before);
  }
}

void Journal::flush() {
  if (access_lines_.empty()) return;
  append(access_, access_lines_);
  access_lines_.clear();
}

// ---- a request ----

std::unique_ptr<Entry> Journal::begin(const RequestName& name, const cgi::Variables& variables) {
  std::string followed = followers_.marker_of(variables);
  if (!access_.file.is_open() && !folder_.is_used() && followed.empty()) return nullptr;
  auto entry = std::make_unique<Entry>();
  entry->began_ms = clock_.unix_ms();
  entry->id = name.id;
  entry->params.reserve(variables.size());
  for (const auto& [param, value] : variables) entry->params.emplace_back(param, value);
  if (folder_.is_used()) entry->body_max = capture_settings_.body_max;
  entry->followed = std::move(followed);
  if (!entry->followed.empty()) followers_.began(*entry);
  return entry;
}

void Journal::end(Entry& entry, const config::ProgramSettings* settings) {
  if (access_.file.is_open()) {
    access_lines_ += access_line(entry, access_settings_.format, secrets_);
    if (access_lines_.size() >= kHeldMax) flush();
    flush_.schedule();
  }
  if (!entry.followed.empty()) followers_.ended(entry);
  const bool wanted = folder_.is_used() && settings != nullptr && settings->capture;
  if (wanted && worth_capturing(entry)) capture(entry);
}

bool Journal::may_capture_now() {
  const base::TimePoint now = clock_.now();
  if (now - minute_since_ >= std::chrono::minutes(1)) {
    minute_since_ = now;
    in_this_minute_ = 0;
  }
  in_this_minute_ += 1;
  return in_this_minute_ <= capture_settings_.per_minute;
}

void Journal::capture(const Entry& entry) {
  if (!may_capture_now()) {
    counts_.captures_too_many += 1;
    if (in_this_minute_ > capture_settings_.per_minute + 1) return;
    return base::log_warn(
        "captures: more than {} in a minute: others are "
        "left out until it is over",
        capture_settings_.per_minute);
  }
  const auto written = folder_.add(
      capture_text(entry, secrets_, settings_file_), file_name_of(entry.program), entry.began_ms,
      {.files = capture_settings_.max, .bytes = capture_settings_.size});
  if (!written) {
    counts_.captures_failed += 1;
    return base::log_error("id={} program={}: it failed, and cannot be captured: {}", entry.id,
                           entry.program, written.error().message);
  }
  counts_.captures_written += 1;
  base::log_info("id={} program={}: captured, {}: cgibridge replay {}", entry.id, entry.program,
                 compare::to_string(entry.seen.failure), written.value());
}

// ---- a slow one ----

std::unique_ptr<StackQueue::Turn> Journal::slow(const SlowRequest& request) {
  counts_.slow += 1;
  std::string uri(cgi::value_in(request.environment, "REQUEST_URI"));
  (void)secrets_.mask_text(uri);
  const std::string head =
      fmt::format("{} program={} pid={} arm={}: {} {} still runs after {} ms (slowlog.after)",
                  id_and_client(request.name), request.program, request.pid, request.arm,
                  base::printable(cgi::value_in(request.environment, "REQUEST_METHOD")),
                  base::printable(uri), request.after.count());
  if (request.stacks && request.pid > 0) {
    return stacks_.look_at(request.pid,
                           [this, head](const auto& stack) { write_slow(head, stack); });
  }
  write_slow(head, {});
  return nullptr;
}

void Journal::write_slow(const std::string& head, const std::string& stack) {
  std::string lines;
  base::ByteView rest = stack;
  const bool own_file = slow_.file.is_open();
  const auto add = [&](std::string_view indent, base::ByteView line) {
    const std::string shown = base::printable(line, 4096);
    if (own_file) {
      lines.append(indent).append(shown).append("\n");
    } else {
      base::log_warn("{}{}", indent, shown);
    }
  };
  const std::int64_t now = clock_.unix_ms();
  if (own_file) {
    lines = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z ",
                        fmt::gmtime(static_cast<std::time_t>(now / 1000)), now % 1000);
  }
  add("", head);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    add("    ", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (own_file) append(slow_, lines);
}

}  // namespace journal
