#include "config/fields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/address_block.h"
#include "config/header_name.h"
#include "config/units.h"

namespace config {
namespace {

using namespace std::chrono_literals;
using enum TakesEffect;

template <typename At>
struct Member {
  std::string_view name;
  At at;
};

template <typename At>
Member<At> member_of(std::string_view name, At at) {
  return {name, at};
}

// A member of a section, by reference, together with its name in the file, which is the same.
#define MEMBER(path) \
  member_of(#path, [](auto& section) -> decltype(auto) { return (section.path); })

template <typename Section, typename At, typename T>
Field<Section> bind(Member<At> member, Kind<T> kind, TakesEffect takes_effect,
                    std::string_view doc) {
  At at = member.at;
  return {
      member.name,
      kind.type,
      kind.range,
      takes_effect,
      doc,
      [at, read = kind.read](const toml::value& value, Section& out, const Complain& complain) {
        read(value, at(out), complain);
      },
      [at, print = kind.print](const Section& section) { return print(at(section)); },
      [at](const Section& a, const Section& b) { return at(a) == at(b); },
  };
}

base::Status absolute(std::string_view path) {
  if (path.starts_with('/')) return base::Done{};
  return base::Error{quote(path) + " is not an absolute path"};
}

base::Status absolute_or_empty(std::string_view path) {
  return path.empty() ? base::Status(base::Done{}) : absolute(path);
}

base::Status cgroup_or_empty(std::string_view path) {
  const bool plain = path.find('\n') == std::string_view::npos && !path.ends_with('/') &&
                     path.find("//") == std::string_view::npos &&
                     path.find("/.") == std::string_view::npos;
  if (path.empty() || (path.starts_with('/') && plain)) return base::Done{};
  return base::Error{quote(path) + " is no cgroup like \"/system.slice/cgibridge.service\""};
}

constexpr const char* kImpurityNames = "random, time, pid, input, output, children, sockets, files";

base::Status check_impurity(std::string_view text) {
  if (std::ranges::find(kImpurities, text) != kImpurities.end()) return base::Done{};
  return base::Error{"\"" + std::string(text) + "\" is none of " + kImpurityNames};
}

base::Status not_empty(std::string_view text) {
  if (!text.empty()) return base::Done{};
  return base::Error{"\"\" is empty"};
}

// What an adapter can be given in its list of modules: separated by commas, in an argument.
base::Status module_name(std::string_view name) {
  const auto is_control = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; };
  if (name.empty()) return not_empty(name);
  if (name.front() == '-') return base::Error{quote(name) + " is no module: it begins with '-'"};
  if (name.find(',') == name.npos && std::ranges::none_of(name, is_control)) return base::Done{};
  return base::Error{quote(name) + " is no module: it has a comma or a control character in it"};
}

base::Status program_name(std::string_view name) {
  bool plain =
      name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
      std::string_view::npos;
  if (plain && name.size() <= 64) return base::Done{};
  return base::Error{quote(name) + " is no name of at most 64 letters, digits, '.', '_' and '-'"};
}

base::Status pattern(std::string_view glob) {
  if (glob.starts_with('/') || glob.starts_with('*')) return base::Done{};
  return base::Error{quote(glob) +
                     " can match no absolute path: it begins with neither '/' nor '*'"};
}

base::Status system_call(std::string_view text) {
  std::string_view name = text.substr(text.starts_with('~') ? 1 : 0);
  name.remove_prefix(name.starts_with('@') ? 1 : 0);
  const bool plain =
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
  if (plain && !name.empty()) return base::Done{};
  return base::Error{quote(text) + " is no system call like \"ptrace\", \"@cgi\""};
}

base::Status method(std::string_view text) {
  if (is_token(text)) return base::Done{};
  return base::Error{quote(text) + " is no method like \"GET\""};
}

base::Status sticky(std::string_view text) {
  constexpr std::string_view kCookie = "cookie:";
  if (text == "none" || text == "client") return base::Done{};
  if (text.starts_with(kCookie) && is_token(text.substr(kCookie.size()))) return base::Done{};
  return base::Error{quote(text) + " is none of \"none\", \"client\", \"cookie:NAME\""};
}

base::Status page_path(std::string_view path) {
  if (path.empty()) return base::Done{};
  if (!path.starts_with('/')) return base::Error{quote(path) + " does not begin with '/'"};
  if (path.ends_with('/')) return base::Error{quote(path) + " ends with '/'"};
  bool plain = path.find_first_not_of(
                   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                   "-._~/") == std::string_view::npos;
  bool normal =
      path.find("//") == std::string_view::npos && path.find("/.") == std::string_view::npos;
  if (plain && normal) return base::Done{};
  return base::Error{quote(path) + " is no path of letters, digits, '-', '.', '_', '~' and '/'"};
}

base::Status address_block(std::string_view text) {
  auto block = base::AddressBlock::parse(text);
  return block ? base::Status(base::Done{}) : base::Status(block.error());
}

Kind<std::vector<std::string>> addresses() {
  return list_of(
      text("address or block", R"("127.0.0.1", "10.0.0.0/8", "fd00::/8", "unix")", address_block));
}

constexpr Bytes kGreatSize = 1024 * 1024 * base::kGiB;

Kind<std::string> absolute_path() {
  return text("path", "absolute", absolute);
}

std::vector<Field<BridgeSettings>> make_bridge_fields() {
  auto field = [](auto member, auto kind, TakesEffect takes_effect, std::string_view doc) {
    return bind<BridgeSettings>(member, kind, takes_effect, doc);
  };
  return {
      field(MEMBER(listen), list_of(listen_address()), restart,
            "Where web servers connect. May be empty when sockets are handed over at the start "
            "(systemd, a web server, spawn-fcgi)."),
      field(MEMBER(bound), bound_addresses(absolute_path()), restart,
            "More addresses, each with the program that answers all requests there, whatever "
            "program their params name: as if spawn-fcgi had started it."),
      field(MEMBER(socket_mode), permissions(), restart,
            "Permissions of the unix sockets in listen and bound, in octal."),
      field(MEMBER(socket_owner), text("user", "name, number or empty", check_account), restart,
            "Who these unix sockets belong to. Empty: the bridge's own user."),
      field(MEMBER(socket_group), text("group", "name, number or empty", check_account), restart,
            "The group of these unix sockets. Empty: the bridge's own."),
      field(MEMBER(allow.users), list_of(text("user", "name or number", check_some_account)), live,
            "Which users' processes may connect by a unix socket. Empty: all that may open it."),
      field(MEMBER(allow.addresses), addresses(), live,
            "From which addresses others may connect. Empty: from all."),
      field(MEMBER(control), text("path", "absolute", check_socket_path), restart,
            "The unix socket on which commands like status and reload reach the bridge."),
      field(MEMBER(roots), list_of(absolute_path(), 1), live,
            "Folders with programs, or single programs. Nothing outside them is ever run, symlinks "
            "included. Required."),
      field(MEMBER(root_links), yes_or_no(), live,
            "Whether symlinks in the roots may lead out of them: root's own, that nobody else can "
            "change."),
      field(MEMBER(owner.uid_min), count(1, 4'000'000'000), live,
            "With user = owner: programs of users with a lower number never run."),
      field(MEMBER(owner.gid_min), count(1, 4'000'000'000), live,
            "With user = owner: the same for the number of their owner's group."),
      field(MEMBER(params_max), size(4 * base::kKiB, 64 * base::kMiB), live,
            "The largest params (the environment) of one request, in bytes."),
      field(MEMBER(params_timeout), duration(1s, 24h), live,
            "How long a request's params may take to arrive; after that its connection is closed."),
      field(MEMBER(connections_max), count(1, 1'000'000), live,
            "How many connections from web servers may be open at once. Beyond that, those idle "
            "longest are closed."),
      field(MEMBER(drain_timeout), duration(0s, 24h), live,
            "How long open requests may go on once the bridge was told to stop."),
      field(MEMBER(log_level), choice<LogLevel>(kLogLevelNames), live,
            "The lowest severity that is logged."),
      field(MEMBER(cache), text("path", "absolute or empty", absolute_or_empty), restart,
            "The folder for compiled WebAssembly modules. It is made if it does not exist; what "
            "others than the bridge's user, the program's own and root can change is never loaded. "
            "Empty: each start compiles."),
      field(MEMBER(adapters), text("path", "absolute or empty", absolute_or_empty), restart,
            "The folder of libcgibridge_checkpoint.so and the starters of the languages. Empty: "
            "found from where the executable is installed."),
  };
}

// What applies to all programs together: their limits, their figures, their page.
std::vector<Field<BridgeSettings>> make_common_fields() {
  auto field = [](auto member, auto kind, TakesEffect takes_effect, std::string_view doc) {
    return bind<BridgeSettings>(member, kind, takes_effect, doc);
  };
  return {
      field(MEMBER(zygotes_max), count(0, 100'000), live,
            "How many programs are kept warm at most. Another one takes the place of the least "
            "used, once that has had no request for 10 s; until then it runs classic."),
      field(MEMBER(workers_max), count(0, 1'000'000), live,
            "How many requests are answered at once, and how many workers exist, in all programs "
            "together; free places go to the programs that have the fewest. 0: no limit."),
      field(MEMBER(zygote_idle_timeout), duration(1s, 30 * 24h), live,
            "A zygote that no request has needed for this long is ended."),
      field(MEMBER(prewarm), list_of(absolute_path()), live,
            "Programs that are made warm when the bridge starts."),
      field(
          MEMBER(cgroup), text("cgroup", "begins with /, or empty", cgroup_or_empty), restart,
          "The cgroup below which the bridge makes those of its programs. Empty: the one in which "
          "it was started."),
      field(MEMBER(limits.cpu), per_cent(0, 100'000), live,
            "The most CPU time of all programs together, of one core: 200 is two cores. 0: no "
            "limit."),
      field(MEMBER(limits.cpu_weight), count(1, 10'000), live,
            "Their share of the CPU where others want it as well: 100 is what a process has."),
      field(MEMBER(limits.memory), size(0, 1024 * 1024 * base::kGiB), live,
            "The most memory of all of them, swap included. 0: no limit."),
      field(MEMBER(limits.processes), count(0, 4'000'000), live,
            "The most processes and threads of all of them. 0: no limit."),
      field(MEMBER(health), text("path", "of a URL, or empty", page_path), live,
            "Where the bridge itself says whether requests should be sent to it: 200, or 503 while "
            "what is in prewarm is not warm yet and once it is about to end. Empty: nowhere."),
      field(MEMBER(page.path), text("path", "of a URL, or empty", page_path), live,
            "Where the bridge answers with its own page. Empty: nowhere."),
      field(MEMBER(page.from), addresses(), live,
            "Who may see the page, by REMOTE_ADDR. unix: clients without an address."),
      field(MEMBER(page.switch_modes), yes_or_no(), live,
            "Whether the page may switch a program's mode."),
  };
}

// What is recorded about requests.
std::vector<Field<BridgeSettings>> make_journal_fields() {
  auto field = [](auto member, auto kind, TakesEffect takes_effect, std::string_view doc) {
    return bind<BridgeSettings>(member, kind, takes_effect, doc);
  };
  auto file = text("path", "absolute or empty", absolute_or_empty);
  return {
      field(MEMBER(log), file, live, "The file of the log. Empty: standard error."),
      field(MEMBER(access_log.file), file, live,
            "A file that gets a line for each request. Empty: none."),
      field(MEMBER(access_log.format), choice<AccessFormat>(kAccessFormatNames), live,
            "text: a web server's log line, followed by the bridge's figures; json: an object per "
            "line."),
      field(MEMBER(slowlog.file), file, live,
            "The file that slowlog.after writes to. Empty: the log."),
      field(MEMBER(captures.folder), file, live,
            "Where failing requests are kept for `cgibridge replay`. Empty: nowhere."),
      field(MEMBER(captures.max), count(1, 100'000), live,
            "How many captures are kept; the oldest are deleted."),
      field(MEMBER(captures.secret), list_of(text("name", "", not_empty)), live,
            "Params, headers, cookies and fields of forms whose values are masked, in addition to "
            "those whose names say that they are secret."),
  };
}

// For a [[program]]: what it is for and which side answers.
std::vector<Field<ProgramSettings>> make_side_fields() {
  auto field = [](auto member, auto kind, TakesEffect takes_effect, std::string_view doc) {
    return bind<ProgramSettings>(member, kind, takes_effect, doc);
  };
  return {
      field(MEMBER(name), text("name", "letters, digits, . _ -", program_name), live,
            "What commands and logs call the program. Unique."),
      field(MEMBER(match), text("pattern", "begins with / or *", pattern), live,
            "Which programs the section is for, by the path that the web server names: * (also "
            "matches "
            "/), ?, [...]. The first section that matches counts. Required."),
      field(MEMBER(mode), choice<Mode>(kModeNames), live,
            "How requests are answered: by a fork + exec each, by warm workers, by either, or by "
            "fork + exec with a second run by a warm worker that is only compared."),
      field(MEMBER(split.persistent), per_cent(0, 100), live,
            "With mode = split: the percentage of requests that warm workers answer."),
      field(MEMBER(split.sticky), text("text", R"("none", "client", "cookie:NAME")", sticky), live,
            "Whether all requests of one address, or with one cookie, are answered by the same "
            "side."),
      field(MEMBER(shadow.share), per_cent(0, 100), live,
            "With mode = shadow: the percentage of requests that are run twice."),
      field(MEMBER(shadow.methods), list_of(text("method", "", method)), live,
            "Only requests with these methods are run twice."),
      field(MEMBER(promote.after), count(0, 1'000'000'000), live,
            "After this many requests without trouble a program goes from shadow to split, and "
            "then to persistent; with trouble it goes back to shadow. 0: never."),
      field(MEMBER(promote.max_diff), count(0, 1'000'000), live,
            "How many different answers are accepted before that counts as trouble."),
      field(MEMBER(pin.header), text("header", "or empty", check_header), live,
            "A request header in which those named in pin.from choose a side, classic or "
            "persistent. Empty: none."),
      field(MEMBER(pin.from), addresses(), live,
            "Whose pin.header counts, by REMOTE_ADDR. unix: clients without an address."),
      field(
          MEMBER(arm_header), text("header", "or empty", check_added_header), live,
          "A response header that says which arm answered, or not-begun if the request was refused "
          "before any program began, so that it may be sent again. Empty: none."),
      field(MEMBER(request_id_header), text("header", "or empty", check_added_header), live,
            "A response header with the request's id, as the logs have it. Empty: none."),
  };
}

// What its workers are and may do.
std::vector<Field<ProgramSettings>> make_worker_fields() {
  auto field = [](auto member, auto kind, TakesEffect takes_effect, std::string_view doc) {
    return bind<ProgramSettings>(member, kind, takes_effect, doc);
  };
  return {
      field(MEMBER(interpreter), text("path", "absolute or empty", absolute_or_empty),
            new_generation,
            "What runs the program, whatever its first line says; the program itself need not be "
            "executable then. /usr/bin/php-cgi for .php. Empty: the program runs itself."),
      field(MEMBER(launch), choice<Launch>(kLaunchNames), new_generation,
            "How warm workers are made: cgi: from a checkpoint of the CGI program. fastcgi: each "
            "is a process of a program that speaks FastCGI itself, and keeps what state it keeps. "
            "auto: fastcgi for what php-cgi runs, cgi for all else."),
      field(MEMBER(reset), choice<Reset>(kResetNames), new_generation,
            "How the next request gets a worker that has seen nothing before: a worker puts its "
            "memory and kernel state back, or serves one request and another is forked. none: it "
            "keeps its state, for scripts in Perl, Python, Ruby, Tcl or Node that were written for "
            "it."),
      field(MEMBER(rewind.verify), count(0, 1'000'000'000), live,
            "After this many rewinds a worker is compared with its zygote. 0: never."),
      field(MEMBER(rewind.verify_cpu), per_cent(0, 100), live,
            "In addition, idle workers are compared while a core is free, using at most this "
            "percentage of one core. 0: never."),
      field(MEMBER(rewind.tracking), choice<Tracking>(kTrackingNames), new_generation,
            "How a worker finds the memory that a request changed. auto: the cheapest way that the "
            "kernel offers."),
      field(MEMBER(rewind.max_retired), count(0, 100), live,
            "A program gets reset = fork for a time if more than this percentage of its requests "
            "leave a worker that cannot be put back, and rewinding costs more than forking."),
      field(MEMBER(level), choice<Level>(kLevelNames), new_generation,
            "The deepest checkpoint that is tried: before main, with the interpreter up (Node), or "
            "after a "
            "script was compiled."),
  };
}

// How many there are, how long they may take, and what they start with.
std::vector<Field<ProgramSettings>> make_pool_fields() {
  auto field = [](auto member, auto kind, TakesEffect takes_effect, std::string_view doc) {
    return bind<ProgramSettings>(member, kind, takes_effect, doc);
  };
  return {
      field(MEMBER(workers.min), count(0, 10'000), live,
            "Workers that are kept even while there are no requests. Never above workers.max."),
      field(MEMBER(workers.max), count(1, 10'000), live,
            "How many requests of the program are answered at once."),
      field(MEMBER(workers.spare), count(0, 10'000), live,
            "Idle workers kept ready for the next requests. Never above workers.max; if only "
            "workers.max is set, this is lowered to it."),
      field(
          MEMBER(workers.idle_timeout), duration(1s, 24h), live,
          "A worker above workers.min is ended once it has been idle for this long. While requests "
          "come, as many stay as were needed at once within that time, plus workers.spare."),
      field(MEMBER(workers.max_requests), count(0, 1'000'000'000), live,
            "A worker that serves many requests is replaced after this many. 0: no limit."),
      field(MEMBER(workers.max_age), duration(0s, 30 * 24h), live,
            "A worker that serves many requests is replaced at this age. 0: no limit."),
      field(MEMBER(workers.max_memory), size(0, 1024 * base::kGiB), live,
            "A worker that serves many requests is replaced when it uses more memory than this "
            "(PSS, checked each second). 0: no limit."),
      field(MEMBER(queue.max), count(0, 1'000'000), live,
            "How many requests may wait for a worker; one more is answered as overloaded."),
      field(MEMBER(queue.timeout), duration(0s, 1h), live,
            "How long a request may wait for a worker."),
      field(MEMBER(timeouts.start), duration(100ms, 1h), live,
            "How long a zygote may take to reach its checkpoint."),
      field(MEMBER(timeouts.request), duration(0s, 24h), live,
            "How long a request may take from start to end. 0: no limit."),
      field(MEMBER(timeouts.output), duration(0s, 24h), live,
            "How long a program may go without printing anything. 0: no limit."),
      field(MEMBER(timeouts.background), duration(0s, 24h), live,
            "How long a program may go on after it has closed its standard output, which completes "
            "its answer. 0: no limit."),
      field(MEMBER(timeouts.kill_grace), duration(0s, 10min), live,
            "The time between SIGTERM and SIGKILL for a program that has to end."),
  };
}

// What its processes may do.
std::vector<Field<ProgramSettings>> make_process_fields() {
  auto field = [](auto member, auto kind, TakesEffect takes_effect, std::string_view doc) {
    return bind<ProgramSettings>(member, kind, takes_effect, doc);
  };
  return {
      field(MEMBER(limits.body), size(0, kGreatSize), live,
            "The most bytes of a request's body. 0: no limit."),
      field(MEMBER(limits.cpu), per_cent(0, 100'000), live,
            "The most CPU time of all its processes together, of one core: 200 is two cores. 0: no "
            "limit. This and the next three take cgroups."),
      field(MEMBER(limits.cpu_weight), count(1, 10'000), live,
            "Its share of the CPU beside that of other programs with a cgroup: 200 is twice 100."),
      field(
          MEMBER(limits.memory), size(0, 1024 * 1024 * base::kGiB), live,
          "The most memory of all its processes, swap included; the kernel kills what wants more. "
          "0: no limit."),
      field(MEMBER(limits.processes), count(0, 4'000'000), live,
            "The most processes and threads of it, its zygote and workers included; fork() fails "
            "then. 0: no limit."),
      field(MEMBER(limits.open_files), count(0, 1'000'000'000), new_generation,
            "Descriptors that a process may have open (RLIMIT_NOFILE). 0 here and in the next "
            "four: as the bridge has it."),
      field(MEMBER(limits.user_processes), count(0, 1'000'000'000), new_generation,
            "Processes and threads that its user may have in all (RLIMIT_NPROC). Not for root."),
      field(MEMBER(limits.file_size), size(0, kGreatSize), new_generation,
            "The most bytes of a file that it writes (RLIMIT_FSIZE)."),
      field(MEMBER(limits.address_space), size(0, kGreatSize), new_generation,
            "The most bytes that a process may have mapped (RLIMIT_AS)."),
      field(MEMBER(limits.cpu_time), duration(0s, 24h), new_generation,
            "Processor time of a process for one request, in whole seconds (RLIMIT_CPU)."),
      field(MEMBER(limits.core), yes_or_no(), new_generation,
            "Whether a crash may leave a core file (false: RLIMIT_CORE is 0)."),
      field(MEMBER(limits.error_output), size(0, kGreatSize), live,
            "How many bytes of a request's standard error are passed on and logged; a line counts "
            "as at least 64. The rest is dropped. 0: no limit."),
      field(MEMBER(slowlog.after), duration(0s, 24h), live,
            "A request that runs for this long is put into the slow log. 0: none."),
      field(MEMBER(slowlog.stacks), yes_or_no(), live,
            "Whether the program is stopped for a moment to read where it is."),
      field(MEMBER(capture), yes_or_no(), live, "Whether its failing requests are captured."),
      field(MEMBER(user), text("user", R"("NAME", "NAME:GROUP", "owner" or empty)", check_user),
            new_generation,
            "The user, and the group, that it runs as: names or numbers; or owner: the owner of "
            "its file, under suEXEC's conditions. Needs a bridge started as root. Empty: the "
            "bridge's own user."),
      field(MEMBER(no_new_privs), yes_or_no(), new_generation,
            "Whether nothing that it starts can have more rights than itself: no sudo, no setuid "
            "sendmail."),
  };
}

// What they are prevented from doing.
std::vector<Field<ProgramSettings>> make_sandbox_fields() {
  auto field = [](auto member, auto kind, TakesEffect takes_effect, std::string_view doc) {
    return bind<ProgramSettings>(member, kind, takes_effect, doc);
  };
  return {
      field(MEMBER(sandbox.read_only), yes_or_no(), new_generation,
            "Whether the whole file system, including /proc, is read-only for it except "
            "sandbox.write (systemd: ProtectSystem=strict). Any of read_only, private_tmp, "
            "network, syscalls sets no_new_privs."),
      field(MEMBER(sandbox.write), list_of(text("path", "", absolute)), new_generation,
            "Folders and files that it may write to nevertheless (ReadWritePaths=)."),
      field(MEMBER(sandbox.private_tmp), yes_or_no(), new_generation,
            "Whether it has a /tmp, /var/tmp and /dev/shm of its own, in memory, which all its "
            "requests share and which end with the bridge (PrivateTmp=)."),
      field(MEMBER(sandbox.tmp_size), size(64 * base::kKiB, 1024 * base::kGiB), new_generation,
            "The most bytes in each of these; a write beyond fails (ENOSPC)."),
      field(MEMBER(sandbox.network), yes_or_no(), new_generation,
            "false: no network but a loopback of its own (PrivateNetwork=). Sockets that are files "
            "can be connected to."),
      field(
          MEMBER(sandbox.syscalls),
          list_of(text("call", "NAME, @GROUP, ~NAME or ~@GROUP", system_call)), new_generation,
          "The system calls that it may make (SystemCallFilter=); @cgi is what CGI programs need. "
          "Empty: all."),
      field(MEMBER(sandbox.landlock), yes_or_no(), new_generation,
            "Whether a sandbox also uses Landlock if the kernel has it: it enforces read_only a "
            "second time, and keeps the program from looking into processes outside and (Linux "
            "6.12) from signalling them."),
      field(MEMBER(sandbox.best_effort), yes_or_no(), new_generation,
            "What happens if this machine cannot enforce all of it: true: it runs with the rest; "
            "false: 500."),
  };
}

// What the WebAssembly modules among them may use.
std::vector<Field<ProgramSettings>> make_wasm_fields() {
  auto field = [](auto member, auto kind, TakesEffect takes_effect, std::string_view doc) {
    return bind<ProgramSettings>(member, kind, takes_effect, doc);
  };
  return {
      field(MEMBER(wasm.dirs), folders(absolute_path()), new_generation,
            "The folders that a WebAssembly module sees: their name in the module = their path. "
            "It has no other files. A [[program]] adds to [defaults], name by name."),
      field(MEMBER(wasm.read_only), list_of(text("name", "absolute", folder_name)), new_generation,
            "Those of wasm.dirs, by their name in the module, in which it may only read."),
      field(MEMBER(wasm.memory), size(64 * base::kKiB, 4 * base::kGiB), new_generation,
            "The most memory of a WebAssembly module in one request; it cannot grow beyond."),
      field(MEMBER(wasm.stack), size(64 * base::kKiB, 4 * base::kMiB), new_generation,
            "The most stack of a WebAssembly module; deeper recursion is a trap."),
  };
}

// What they are given.
std::vector<Field<ProgramSettings>> make_environment_fields() {
  auto field = [](auto member, auto kind, TakesEffect takes_effect, std::string_view doc) {
    return bind<ProgramSettings>(member, kind, takes_effect, doc);
  };
  return {
      field(MEMBER(env), environment(), new_generation,
            "Environment that every request gets besides the web server's. A [[program]] adds to "
            "[defaults], name by name."),
      field(MEMBER(strict_params), yes_or_no(), live,
            "Whether only CGI's own variables and pass_params come from the web server."),
      field(MEMBER(pass_params), list_of(text("name", "NAME, NAME* or *", check_param)), live,
            "Params that pass although such names can change which code runs (NODE_ENV, HGRCPATH). "
            "If requests alternate between several values of one, only those with the most "
            "frequent value are warm."),
      field(MEMBER(preload), list_of(text("string", "", module_name)), new_generation,
            "Modules loaded before the checkpoint, besides those that are learned."),
      field(MEMBER(learn), choice<Learn>(kLearnNames), new_generation,
            "Which of the modules that requests load are loaded before the checkpoint from then "
            "on: those in the interpreter's own folders, all (the program's own, too), or none "
            "except preload."),
      field(MEMBER(accept), list_of(text("kind", kImpurityNames, check_impurity)), new_generation,
            "What a program may do before the checkpoint, once for all visitors, while it loads."),
  };
}

#undef MEMBER

std::vector<Field<ProgramSettings>> make_program_fields() {
  std::vector<Field<ProgramSettings>> fields = make_side_fields();
  for (auto& field : make_worker_fields()) fields.push_back(std::move(field));
  for (auto& field : make_pool_fields()) fields.push_back(std::move(field));
  for (auto& field : make_process_fields()) fields.push_back(std::move(field));
  for (auto& field : make_sandbox_fields()) fields.push_back(std::move(field));
  for (auto& field : make_wasm_fields()) fields.push_back(std::move(field));
  for (auto& field : make_environment_fields()) fields.push_back(std::move(field));
  return fields;
}

std::vector<Field<ProgramSettings>> without_naming(std::vector<Field<ProgramSettings>> fields) {
  std::erase_if(fields,
                [](const auto& field) { return field.name == "name" || field.name == "match"; });
  return fields;
}

}  // namespace

const std::vector<Field<BridgeSettings>>& bridge_fields() {
  static const auto fields = [] {
    std::vector<Field<BridgeSettings>> all = make_bridge_fields();
    for (auto& field : make_common_fields()) all.push_back(std::move(field));
    for (auto& field : make_journal_fields()) all.push_back(std::move(field));
    return all;
  }();
  return fields;
}

const std::vector<Field<ProgramSettings>>& program_fields() {
  static const auto fields = make_program_fields();
  return fields;
}

const std::vector<Field<ProgramSettings>>& defaults_fields() {
  static const auto fields = without_naming(make_program_fields());
  return fields;
}

}  // namespace config
