#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/log.h"
#include "base/unique_fd.h"
#include "cgi/environment.h"
#include "cli/adapters_folder.h"
#include "cli/commands.h"
#include "cli/own_bridge.h"
#include "cli/report.h"
#include "cli/trial.h"
#include "journal/text_bytes.h"
#include "router/first_line.h"
#include "router/regular_file.h"
#include "worker/executable.h"
#include "worker/launch.h"
#include "worker/wasm_words.h"

namespace cli {
namespace {

constexpr std::chrono::milliseconds kVersionPatience{1000};

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

// The first line that argv prints; empty if it takes too long or prints nothing.
std::string first_line_of(const std::vector<std::string>& argv) {
  auto pipe = base::make_pipe(base::NonblockingEnd::reading);
  const base::UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!pipe || !null) return {};
  const std::string environment("PATH=/usr/local/bin:/usr/bin:/bin\0", 34), folder = "/";
  const auto pid = worker::launch({.file = argv.front(),
                                   .argv = argv,
                                   .environment = environment,
                                   .environment_count = 1,
                                   .cwd = folder,
                                   .stdin_fd = null.get(),
                                   .stdout_fd = pipe.value().second.get(),
                                   .stderr_fd = null.get()});
  if (!pid) return {};
  pipe.value().second.reset();
  std::string said;
  pollfd wanted{pipe.value().first.get(), POLLIN, 0};
  while (said.size() < 4096 && ::poll(&wanted, 1, kVersionPatience.count()) > 0) {
    std::array<char, 1024> bytes;
    const ssize_t got = ::read(wanted.fd, bytes.data(), bytes.size());
    if (got <= 0) break;
    said.append(bytes.data(), static_cast<std::size_t>(got));
  }
  ::kill(pid.value(), SIGKILL);
  ::waitpid(pid.value(), nullptr, 0);
  said.erase(0, said.find_first_not_of('\n'));
  return base::printable(said.substr(0, said.find('\n')), 100);
}

// Only for interpreters that are known to have a --version option that does nothing else.
std::string version_of(const std::string& interpreter) {
  const std::string name = base_name(interpreter);
  if (name.starts_with("perl")) return first_line_of({interpreter, "-e", "print qq(perl $^V)"});
  for (const std::string_view known : {"python", "bash", "ruby", "node", "php", "java"}) {
    if (name.starts_with(known)) return first_line_of({interpreter, "--version"});
  }
  return {};
}

std::string kind_of(const worker::Executable& executable, bool is_script) {
  if (!executable.shell.empty()) {
    worker::Executable executed = executable;
    executed.shell.clear();
    return kind_of(executed, executed.interpreter_words > 0) + ", executed by a shell script";
  }
  const std::string_view language = worker::name_of(executable.language);
  if (executable.language == worker::Language::go) return std::string(kGoExecutable);
  if (executable.language == worker::Language::wasm) return std::string(language) + " module";
  if (!language.empty()) return std::string(language) + " script";
  if (is_script) return base_name(executable.file) + " script";
  return "executable";
}

void describe_program(const TrialPlan& plan, Findings& findings) {
  std::string search_path(cgi::kDefaultPath);
  for (const auto& [name, value] : plan.settings_env) {
    if (name == "PATH") search_path = value;
  }
  const worker::RunBy run_by{.wasm = worker::wasm_words(adapters_folder(), {}, {})};
  const worker::Executable executable = worker::inspect(plan.program, search_path, run_by);
  std::array<char, router::kFirstLineBytes> start;
  const base::UniqueFd fd = router::open_regular(plan.program);
  const ssize_t got = ::read(fd.get(), start.data(), start.size());
  const std::string_view bytes(start.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const bool is_script = router::parse_first_line(bytes).has_value();
  findings.kind = kind_of(executable, is_script);
  if (!is_script) return;
  findings.first_line = bytes.substr(2, bytes.find('\n') - 2);
  if (executable.file == plan.program) return;
  findings.interpreter = executable.file;
  findings.version = version_of(executable.file);
}

base::Result<std::vector<AskedRequest>> asked_requests(const Invocation& invocation) {
  const CheckOptions& options = invocation.check;
  std::vector<AskedRequest> requests;
  for (const std::string& text : options.requests) {
    auto request = parse_request_line(text);
    if (!request) return request.error();
    requests.push_back(request.take());
    if (!is_safe(requests.back()) && requests.back().body_file.empty()) {
      requests.back().body_file = invocation.body_file;
    }
  }
  if (!options.requests_file.empty()) {
    auto text = read_file(options.requests_file);
    if (!text) return text.error();
    auto more = parse_request_lines(text.value());
    if (!more) return base::Error{options.requests_file + ": " + more.error().message};
    // Files with bodies are in the same folder as the file that names them.
    const auto folder = std::filesystem::path(options.requests_file).parent_path();
    for (AskedRequest& request : more.value()) {
      if (!request.body_file.empty()) request.body_file = folder / request.body_file;
      requests.push_back(std::move(request));
    }
    if (requests.empty()) return base::Error{options.requests_file + ": there is no request in it"};
  }
  if (requests.empty()) requests = default_requests(options.posts);
  for (AskedRequest& request : requests) {
    if (const auto read = read_body(request); !read) return read.error();
  }
  return requests;
}

base::Result<TrialPlan> plan_of(const Invocation& invocation) {
  auto program = name_of_program(invocation.program);
  if (!program) return program.error();
  auto requests = asked_requests(invocation);
  if (!requests) return requests.error();
  TrialPlan plan{.program = program.take(), .requests = requests.take()};
  for (const std::string& text : invocation.env) {
    const Assignment assignment = parse_assignment(text);
    // Variables that web servers may not set go into the settings, as in a bridge.
    const bool forbidden = cgi::forbidden_name(assignment.first).has_value();
    (forbidden ? plan.settings_env : plan.variables).push_back(assignment);
  }
  plan.level = invocation.check.level;
  plan.runs = invocation.check.runs;
  plan.timeout = std::chrono::seconds(invocation.check.timeout_s);
  return plan;
}

// Uses a single line of the terminal, which is rewritten each time.
void show_progress(const std::string& what) {
  if (::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\x1b[K{}", base::printable(what));
}

}  // namespace

int run_check(const Invocation& invocation) {
  base::start_log(invocation.check.log_level);
  Findings findings;
  auto plan = plan_of(invocation);
  if (plan) {
    findings = run_trial(plan.value(), show_progress);
    show_progress({});
    findings.posts = invocation.check.posts;
    findings.requests_are_asked =
        !invocation.check.requests.empty() || !invocation.check.requests_file.empty();
    describe_program(plan.value(), findings);
  } else {
    findings.program = invocation.program;
    findings.problem = plan.error().message;
  }
  const Verdict verdict = judge(findings);
  if (invocation.form == Form::json) {
    const auto json = report_json(findings, verdict);
    fmt::print("{}\n", journal::ascii_json(json, 2));
  } else {
    fmt::print("{}", report_text(findings, verdict, terminal_of_stdout()));
  }
  return exit_code(verdict.safety);
}

}  // namespace cli
