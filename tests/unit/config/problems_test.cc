// Bad files, and every message about each.
#include <gtest/gtest.h>

#include <ostream>

#include "config/load.h"
#include "config/toml_text.h"

namespace config {
namespace {

struct BadFile {
  const char* name;
  std::string text;
  std::vector<std::string> problems;  // without the file's name
};

void PrintTo(const BadFile& file, std::ostream* out) {
  *out << file.name;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// The messages of toml11 3 and of toml11 4.
std::string by_toml11([[maybe_unused]] std::string third, [[maybe_unused]] std::string fourth) {
#ifdef CGIBRIDGE_TOML11_4
  return fourth;
#else
  return third;
#endif
}

// 3.7 takes the greatest number there is; 3.8 says so.
std::string too_great_for_toml11() {
#ifdef CGIBRIDGE_TOML11_3_8
  return "3:19: syntax: parse_integer:: out of range";
#else
  return by_toml11("3:19: bridge.connections_max: 9223372036854775807 is not within 1 to 1000000",
                   "3:42: syntax: parse_dec_integer: too large integer: current max digits = 2^63: "
                   "must be < 2^63");
#endif
}

// Lines 1 and 2 of most files below.
const std::string kBridge = "[bridge]\nroots = [\"/srv\"]\n";
const std::string kProgram = "[[program]]\nmatch = \"/srv/a\"\n";

// clang-format off
const std::vector<BadFile> kBadFiles = {
    {"empty_file", "", {"1:1: bridge.roots: is missing: the folders that programs may be in"}},
    {"missing_roots", "\n[bridge]\n",
     {"2:1: bridge.roots: is missing: the folders that programs may be in"}},
    {"empty_roots", "[bridge]\nroots = []\n",
     {"2:9: bridge.roots: is too short: it needs at least 1"}},
    {"root_not_absolute", "[bridge]\nroots = [\"/srv\",\n  \"cgi-bin\", \"\"]\n",
     {R"(3:3: bridge.roots[2]: "cgi-bin" is not an absolute path)",
      R"(3:14: bridge.roots[3]: "" is not an absolute path)"}},
    {"roots_no_list", "[bridge]\nroots = \"/srv\"\n",
     {"2:9: bridge.roots: is a string, but a list [...] is wanted"}},
    {"root_twice", "[bridge]\nroots = [\"/srv\", \"/srv\"]\n",
     {R"(2:18: bridge.roots[2]: "/srv" is there twice)"}},
    {"bad_listen", kBridge + "listen = [\"9000\", \"unix:x\", \"localhost:0\", 9000]\n",
     {R"(3:11: bridge.listen[1]: "9000" is neither "unix:/path" nor "address:port")",
      R"(3:19: bridge.listen[2]: "x" is not an absolute path)",
      R"(3:29: bridge.listen[3]: "localhost:0" has no port from 1 to 65535 after the last colon)",
      "3:44: bridge.listen[4]: is an integer, but a string (address) is wanted"}},
    {"control_is_listen",
     kBridge + "listen = [\"127.0.0.1:9\", \"unix:/run//a.sock\"]\ncontrol = \"/run/a.sock\"\n",
     {R"(4:11: bridge.control: "/run/a.sock" is also in bridge.listen: )"
      "commands and web servers need a socket each"}},
    {"listen_is_control", kBridge + "listen = [\"unix:/run/cgibridge/control.sock\"]\n",
     {R"(3:10: bridge.listen: "/run/cgibridge/control.sock" is also bridge.control: )"
      "commands and web servers need a socket each"}},
    {"control_is_bound",
     kBridge + "control = \"/run/a\"\nbound = { \"unix:/run/a\" = \"/srv/a\" }\n",
     {R"(3:11: bridge.control: "/run/a" is also in bridge.bound: )"
      "commands and web servers need a socket each"}},
    {"bad_bound",
     kBridge + "bound = { \"9000\" = \"/srv/a\", \"[::1]:1\" = \"a\", \"[::1]:2\" = 1 }\n",
     {R"(3:20: bridge.bound.9000: the key "9000" is neither "unix:/path" nor "address:port")",
      R"(3:42: bridge.bound."[::1]:1": "a" is not an absolute path)",
      R"(3:59: bridge.bound."[::1]:2": is an integer, but a string is wanted)"}},
    {"bound_is_a_list", kBridge + "bound = [\"[::1]:1\"]\n",
     {R"(3:9: bridge.bound: is a list, but a table { "address" = "/path" } is wanted)"}},
    {"bound_twice", kBridge + "bound = { \"localhost:1\" = \"/a\", \"127.0.0.1:1\" = \"/b\" }\n",
     {R"(3:27: bridge.bound."localhost:1": "127.0.0.1:1" is there twice)"}},
    {"bound_is_in_listen",
     kBridge + "listen = [\"[::1]:1\"]\nbound = { \"[::1]:1\" = \"/srv/a\" }\n",
     {R"(4:9: bridge.bound: "[::1]:1" is also in bridge.listen: )"
      "what comes there is either for one program or for all"}},
    {"bad_socket_mode", kBridge + "socket_mode = \"0888\"\n",
     {R"(3:15: bridge.socket_mode: "0888" is no octal permission like "0660")"}},
    {"control_not_absolute", kBridge + "control = \"c.sock\"\n",
     {R"(3:11: bridge.control: "c.sock" is not an absolute path)"}},
    {"bad_sizes", kBridge + "params_max = \"1MB\"\n",
     {R"(3:14: bridge.params_max: "1MB" is no size like "64KiB", "1MiB", "2GiB")"}},
    {"negative_size", kBridge + "params_max = -1\n",
     {"3:14: bridge.params_max: -1 is not within 4KiB to 64MiB"}},
    {"bad_sandbox", kBridge + kProgram +
     R"(sandbox = { write = ["lib"], syscalls = ["@cgi", "~", "b b"], tmp_size = 1 })"
     "\n",
     {R"(5:22: program[1].sandbox.write[1]: "lib" is not an absolute path)",
      R"(5:50: program[1].sandbox.syscalls[2]: "~" is no system call like "ptrace", "@cgi")",
      R"(5:55: program[1].sandbox.syscalls[3]: "b b" is no system call like "ptrace", "@cgi")",
      "5:74: program[1].sandbox.tmp_size: 1 is not within 64KiB to 1024GiB"}},
    {"bad_wasm", kBridge + kProgram +
     R"(wasm = { dirs = { data = "/srv", "/a=b" = "/srv", "/c" = "d" }, read_only = ["/e/"] })"
     "\n",
     {R"(5:26: program[1].wasm.dirs.data: "data" is no folder's name like "/data")",
      R"(5:43: program[1].wasm.dirs."/a=b": "/a=b" is no folder's name like "/data")",
      R"(5:58: program[1].wasm.dirs."/c": "d" is not an absolute path)",
      R"(5:78: program[1].wasm.read_only[1]: "/e/" is no folder's name like "/data")"}},
    {"read_only_wasm_elsewhere", kBridge + kProgram +
     R"(wasm = { dirs = { "/data" = "/srv" }, read_only = ["/dat"] })" "\n",
     {R"(5:51: program[1].wasm.read_only: "/dat" is none of wasm.dirs)"}},
    {"write_without_read_only", kBridge + kProgram + "sandbox = { write = [\"/srv\"] }\n",
     {"5:21: program[1].sandbox.write: means nothing without sandbox.read_only = true"}},
    {"bad_durations", kBridge + "drain_timeout = 30\nzygote_idle_timeout = \"31 days\"\n",
     {R"(3:17: bridge.drain_timeout: 30 has no unit: a duration is a string like "5s")",
      "4:23: bridge.zygote_idle_timeout: \"31 days\" is no duration like "
      R"("250ms", "5s", "2m", "1h")"}},
    {"bad_choice", kBridge + "log_level = \"loud\"\n[defaults]\nmode = 1\n",
     {R"(3:13: bridge.log_level: "loud" is none of "debug", "info", "warn", "error")",
      R"(5:8: defaults.mode: is an integer, but one of "classic", "persistent", "split", "shadow" )"
      "is wanted"}},
    {"bad_journal", kBridge +
     "log = \"bridge.log\"\naccess_log = { file = \"/a\", format = \"xml\" }\n"
     "slowlog = { file = 1 }\n"
     "captures = { folder = \"c\", max = 0, secret = [\"\"] }\n",
     {R"(3:7: bridge.log: "bridge.log" is not an absolute path)",
      R"(4:38: bridge.access_log.format: "xml" is none of "text", "json")",
      "5:20: bridge.slowlog.file: is an integer, but a string is wanted",
      R"(6:23: bridge.captures.folder: "c" is not an absolute path)",
      "6:34: bridge.captures.max: 0 is not within 1 to 100000",
      R"(6:47: bridge.captures.secret[1]: "" is empty)"}},
    {"bad_slowlog", kBridge +
     "[defaults]\nslowlog = { after = 5, stacks = 1 }\ncapture = \"yes\"\n",
     {R"(4:21: defaults.slowlog.after: 5 has no unit: a duration is a string like "5s")",
      "4:33: defaults.slowlog.stacks: is an integer, but true or false is wanted",
      "5:11: defaults.capture: is a string, but true or false is wanted"}},
    {"bad_counts", kBridge + "connections_max = 0\nzygotes_max = 1.5\n",
     {"3:19: bridge.connections_max: 0 is not within 1 to 1000000",
      "4:15: bridge.zygotes_max: is a float, but a whole number is wanted"}},
    {"bad_allow", kBridge + "socket_owner = \"a b\"\n"
     "allow = { users = [\"\"], addresses = [\"x\"] }\nowner.uid_min = 0\n",
     {R"(3:16: bridge.socket_owner: "a b" is no name or number of a user or a group)",
      R"(4:20: bridge.allow.users[1]: "" is no name or number of a user or a group)",
      R"(4:38: bridge.allow.addresses[1]: "x" is no address like 127.0.0.1, ::1, 10.0.0.0/8, )"
      "fd00::/8, or unix",
      "5:17: bridge.owner.uid_min: 0 is not within 1 to 4000000000"}},
    {"bad_error_output", kBridge + "[defaults]\nlimits = { error_output = \"much\" }\n",
     {R"(4:27: defaults.limits.error_output: "much" is no size like "64KiB", "1MiB", "2GiB")"}},
    {"bad_user", kBridge + "[defaults]\nuser = \"owner:adm\"\n"
     "limits = { cpu_time = 5, core = 1 }\npass_params = [\"a*b\", \"CGIBRIDGE_X\"]\n",
     {R"(4:8: defaults.user: "owner:adm" is neither "owner" nor a user like "www-data", )"
      R"("www-data:adm", "33:33")",
      R"(5:23: defaults.limits.cpu_time: 5 has no unit: a duration is a string like "5s")",
      "5:33: defaults.limits.core: is an integer, but true or false is wanted",
      R"(6:16: defaults.pass_params[1]: "a*b" is neither a param's name nor the beginning of one )"
      "followed by *",
      R"(6:23: defaults.pass_params[2]: "CGIBRIDGE_X" names what the bridge alone may set)"}},
    {"bad_rewind", kBridge + "[defaults]\nreset = \"rewnid\"\n"
     "rewind = { verify = -1, tracking = \"none\", max_retired = \"20%\" }\n"
     "workers = { max_requests = 1.5 }\n",
     {R"(4:9: defaults.reset: "rewnid" is none of "rewind", "fork", "none")",
      "5:21: defaults.rewind.verify: -1 is not within 0 to 1000000000",
      R"(5:36: defaults.rewind.tracking: "none" is none of "auto", "compare", "scan", )"
      R"("soft-dirty")",
      "5:58: defaults.rewind.max_retired: is a string, but a whole number is wanted",
      "6:28: defaults.workers.max_requests: is a float, but a whole number is wanted"}},
    {"bad_page", kBridge +
     "page = { path = \"/x/\", from = [\"localhost\", \"10.0.0.1/8\"], switch_modes = 1 }\n",
     {R"(3:17: bridge.page.path: "/x/" ends with '/')",
      R"(3:32: bridge.page.from[1]: "localhost" is no address like 127.0.0.1, ::1, 10.0.0.0/8, )"
      "fd00::/8, or unix",
      R"(3:45: bridge.page.from[2]: "10.0.0.1/8" has bits of its address beyond the prefix)",
      "3:75: bridge.page.switch_modes: is an integer, but true or false is wanted"}},
    {"health_below_the_page", kBridge + "health = \"/x/h\"\npage.path = \"/x\"\n",
     {R"(3:10: bridge.health: "/x/h" is bridge.page.path or below it)"}},
    {"bad_health", kBridge + "health = \"up\"\n",
     {R"(3:10: bridge.health: "up" does not begin with '/')"}},
    {"page_that_nobody_sees", kBridge + "page = { path = \"/x\", from = [] }\n",
     {"3:30: bridge.page.from: is empty: nobody could see the page"}},
    {"page_path_without_slash", kBridge + "page.path = \"x\"\n",
     {R"(3:13: bridge.page.path: "x" does not begin with '/')"}},
    {"page_path_with_a_step_up", kBridge + "page.path = \"/a/../b\"\n",
     {R"(3:13: bridge.page.path: "/a/../b" is no path of letters, digits, '-', '.', '_', '~' and )"
      "'/'"}},
    {"bad_per_cents", kBridge + "[defaults]\nsplit.persistent = 100.5\nshadow.share = \"10\"\n"
     "[[program]]\nmatch = \"*\"\nshadow.share = [1]\nsplit.persistent = nan\n"
     "[[program]]\nmatch = \"*\"\nshadow.share = \"-1%\"\nsplit.persistent = \"101%\"\n",
     {"4:20: defaults.split.persistent: 100.5 is not within 0 to 100",
      R"(5:16: defaults.shadow.share: "10" is no per cent like "25%", "0.1%")",
      R"(8:16: program[1].shadow.share: is a list, but per cent like 10, 0.5 or "0.1%" is wanted)",
      "9:20: program[1].split.persistent: nan is not within 0 to 100",
      R"(12:16: program[2].shadow.share: "-1%" is no per cent like "25%", "0.1%")",
      R"(13:20: program[2].split.persistent: "101%" is not within 0 to 100)"}},
    {"bad_sides", kBridge + "[defaults]\nsplit.sticky = \"cookie:a b\"\n"
     "shadow = { methods = [\"GET\", \"GET \"] }\n"
     "arm_header = \"X-CGI-Arm:\"\n",
     {R"(4:16: defaults.split.sticky: "cookie:a b" is none of "none", "client", "cookie:NAME")",
      R"(5:30: defaults.shadow.methods[2]: "GET " is no method like "GET")",
      R"(6:14: defaults.arm_header: "X-CGI-Arm:" is no header's name of at most 64 bytes, like )"
      R"("X-CGI-Arm")"}},
    {"same_headers", kBridge + "[defaults]\narm_header = \"X-A\"\nrequest_id_header = \"x-a\"\n",
     {R"(5:21: defaults.request_id_header: "x-a" is what arm_header names)"}},
    {"headers_with_a_meaning", kBridge + "[defaults]\narm_header = \"content-length\"\n"
     "request_id_header = \"X-Accel-Redirect\"\npin = { header = \"Cookie\", from = [\"unix\"] }\n",
     {R"(4:14: defaults.arm_header: "content-length" already has a meaning in answers: )"
      R"(a name of its own is wanted, like "X-CGI-Arm")",
      R"(5:21: defaults.request_id_header: "X-Accel-Redirect" already has a meaning in answers: )"
      R"(a name of its own is wanted, like "X-CGI-Arm")"}},
    {"bad_cgroups", kBridge + "cgroup = \"x\"\nlimits = { cpu = 0.5, memory = \"1023KiB\" }\n" +
     "[defaults]\n"
     "limits = { cpu = \"-1%\", cpu_weight = 0, memory = \"64 MiB\", processes = -1 }\n" +
     kProgram + "limits.cpu = \"0.9%\"\n",
     {R"(3:10: bridge.cgroup: "x" is no cgroup like "/system.slice/cgibridge.service")",
      "4:18: bridge.limits.cpu: 0.5 is below 1, the least that can be held",
      "4:32: bridge.limits.memory: 1023KiB is less than any program needs (1MiB)",
      R"(6:18: defaults.limits.cpu: "-1%" is no per cent like "25%", "0.1%")",
      "6:38: defaults.limits.cpu_weight: 0 is not within 1 to 10000",
      R"(6:50: defaults.limits.memory: "64 MiB" is no size like "64KiB", "1MiB", "2GiB")",
      "6:72: defaults.limits.processes: -1 is not within 0 to 4000000",
      "9:14: program[1].limits.cpu: 0.9 is below 1, the least that can be held"}},
    {"bad_launch", kBridge + kProgram + "interpreter = \"php-cgi\"\nlaunch = \"fcgi\"\n",
     {R"(5:15: program[1].interpreter: "php-cgi" is not an absolute path)",
      R"(6:10: program[1].launch: "fcgi" is none of "auto", "cgi", "fastcgi")"}},
    {"bad_pin", kBridge + "[defaults]\n"
     "pin = { header = \"X Mode\", from = [\"10.0.0.0/33\"] }\n",
     {R"(4:18: defaults.pin.header: "X Mode" is no header's name of at most 64 bytes, like )"
      R"("X-CGI-Arm")",
      R"(4:36: defaults.pin.from[1]: "10.0.0.0/33" has no prefix from 0 to 32 after the /)"}},
    {"pin_of_nobody", kBridge + kProgram + "pin = { header = \"X-CGI-Mode\" }\n",
     {R"(5:18: program[1].pin.header: "X-CGI-Mode" counts for nobody: pin.from says whose it )"
      "does"}},
    {"promotion_without_comparison", kBridge + kProgram + "promote.after = 1000\n",
     {R"(5:17: program[1].promote.after: 1000 needs mode = "shadow" or "split", not )"
      R"("persistent")"}},
    {"promotion_of_defaults_that_are_classic",
     kBridge + "[defaults]\nmode = \"classic\"\npromote.after = 5\n" + kProgram,
     {R"(5:17: defaults.promote.after: 5 needs mode = "shadow" or "split", not "classic")"}},
    {"number_beyond_64_bits", kBridge + "connections_max = 99999999999999999999999\n",
     {too_great_for_toml11()}},
    {"unknown_section", "[brigde]\n" + kBridge + "[[programs]]\n[x]\n",
     {"1:2: brigde: is no section, did you mean \"bridge\"?",
      "4:3: programs: is no section, did you mean \"program\"?",
      "5:2: x: is no section"}},
    {"unknown_key", kBridge + "  root = []\nxyzzy = 1\n",
     {"3:3: bridge.root: is no setting, did you mean \"roots\"?",
      "4:1: bridge.xyzzy: is no setting"}},
    {"unknown_key_in_inline_table", kBridge + "[defaults]\nqueue = { mx = 3, max = 4 }\n",
     {"4:11: defaults.queue.mx: is no setting, did you mean \"max\"?"}},
    {"unknown_dotted_key", kBridge + "[defaults]\nqueue.mx = 3\nquue.max = 3\n",
     {"4:7: defaults.queue.mx: is no setting, did you mean \"max\"?",
      "5:1: defaults.quue: is no setting, did you mean \"queue\"?"}},
    {"key_one_table_too_high", kBridge + kProgram + "kill_grace = \"1s\"\n",
     {"5:1: program[1].kill_grace: is no setting, did you mean \"timeouts.kill_grace\"?"}},
    {"unprintable_key", kBridge + "\"a\\nb\" = 1\n", {R"(3:10: bridge."a\u000Ab": is no setting)"}},
    {"name_in_defaults", kBridge + "[defaults]\nname = \"x\"\nmatch = \"/x\"\n",
     {"4:1: defaults.name: is no setting", "5:1: defaults.match: is no setting"}},
    {"value_for_a_table", kBridge + "[defaults]\nqueue = 3\n",
     {"4:9: defaults.queue: is an integer, but a table { max, timeout } is wanted"}},
    {"program_no_list", kBridge + "[program]\nmatch = \"/srv/a\"\n",
     {"3:1: program: is a table: write [[program]]"}},
    {"program_no_table", "program = [1]\n" + kBridge,
     {"1:12: program[1]: is an integer, but a table is wanted"}},
    {"bridge_no_table", "bridge = 1\n",
     {"1:10: bridge: is an integer, but a table is wanted",
      "1:10: bridge.roots: is missing: the folders that programs may be in"}},
    {"missing_match", kBridge + "[[program]]\nname = \"x\"\n",
     {"3:1: program[1].match: is missing: which programs the section is for"}},
    {"match_without_slash", kBridge + "[[program]]\nmatch = \"guestbook.*\"\n",
     {R"(4:9: program[1].match: "guestbook.*" can match no absolute path: )"
      "it begins with neither '/' nor '*'"}},
    {"name_twice", kBridge + kProgram + "name = \"x\"\n" + kProgram + "name = \"x\"\n",
     {R"(8:8: program[2].name: "x" is also the name of program[1])"}},
    {"bad_name", kBridge + kProgram + "name = \"a b\"\n",
     {R"(5:8: program[1].name: "a b" is no name of at most 64 letters, digits, '.', '_' and '-')"}},
    {"max_below_min_of_defaults",
     kBridge + "[defaults]\nworkers.min = 4\n" + kProgram + kProgram +
         "  [program.workers]\n  max = 2\n",
     {"10:9: program[2].workers.max: 2 is below workers.min (4)"}},
    {"min_above_max_of_defaults", kBridge + kProgram + "workers = { min = 9 }\n",
     {"5:19: program[1].workers.min: 9 is above workers.max (8)"}},
    {"spare_above_max", kBridge + "[defaults]\nworkers = { max = 2, spare = 3 }\n",
     {"4:19: defaults.workers.max: 2 is below workers.spare (3)"}},
    {"bad_workers", kBridge + "workers_max = -1\n" +
     kProgram + "workers = { max_age = 5, max_memory = \"1TB\" }\n",
     {"3:15: bridge.workers_max: -1 is not within 0 to 1000000",
      "6:23: program[1].workers.max_age: 5 has no unit: a duration is a string like \"5s\"",
      R"(6:39: program[1].workers.max_memory: "1TB" is no size like "64KiB", "1MiB", "2GiB")"}},
    {"settings_that_were", kBridge + "figures_max = 5\nslowlog.readers = 2\n" + kProgram +
     "workers = { kind = \"static\", max = 2 }\nsandbox.syscall_error = \"kill\"\n",
     {"3:1: bridge.figures_max: is no setting any more: the figures of 1000 programs are kept",
      "4:9: bridge.slowlog.readers: is no setting any more: two stacks are read at once",
      "7:13: program[1].workers.kind: is no setting any more: min = max is static; min = 0 with "
      "spare = 0 is ondemand",
      "8:9: program[1].sandbox.syscall_error: is no setting any more: a refused call gets EPERM"}},
    {"refused_value_is_not_compared", kBridge + "[defaults]\nworkers = { min = 9, max = 99999 }\n",
     {"4:28: defaults.workers.max: 99999 is not within 1 to 10000"}},
    {"defaults_are_not_blamed_on_programs",
     kBridge + "[defaults]\nworkers = { min = 9 }\n" + kProgram,
     {"4:19: defaults.workers.min: 9 is above workers.max (8)"}},
    {"bad_env", kBridge + "[defaults]\nenv = { A = 1, \"B=C\" = \"x\", D = \"\\u0000\" }\n",
     {"4:13: defaults.env.A: is an integer, but a string is wanted",
      R"(4:24: defaults.env."B=C": is no name of letters, digits and _)",
      R"(4:33: defaults.env.D: "\u0000" has a NUL byte in it)"}},
    {"bad_preload", kBridge + "[defaults]\npreload = [\"json\", \"\", true]\n",
     {R"(4:20: defaults.preload[2]: "" is empty)",
      "4:24: defaults.preload[3]: is a boolean, but a string is wanted"}},
    {"preload_of_no_module", kBridge + "[defaults]\n"
     "preload = [\"-e\", \"a\\nb\", \"a,b\", \"./a b.tcl\"]\n",
     {R"(4:12: defaults.preload[1]: "-e" is no module: it begins with '-')",
      R"(4:18: defaults.preload[2]: "a\u000Ab" is no module: )"
      "it has a comma or a control character in it",
      R"(4:26: defaults.preload[3]: "a,b" is no module: )"
      "it has a comma or a control character in it"}},
    {"text_without_quotes", kBridge + "[defaults]\nmode = persistent\n",
     {"4:8: syntax: bad format: unknown value appeared (a text stands in quotes)"}},
    {"key_twice", kBridge + "roots = []\n",
     {by_toml11("3:9: syntax: insert_value: value (\"roots\") already exists: value defined twice",
                "3:1: syntax: insert_value: failed to insert a value, value already exists: "
                "inserting this")}},
    {"open_string", kBridge + "control = \"/run\n",
     {by_toml11("3:11: syntax: parse_basic_string: the next token is not a valid string",
                "3:16: syntax: parse_basic_string: invalid string format: expected \"")}},
    {"not_utf8", kBridge + "control = '/\xff\xffx'\n", {"3:13: syntax: a byte that is not UTF-8"}},
    {"overlong_utf8", "# \xc0\xaf\n", {"1:3: syntax: a byte that is not UTF-8"}},
    {"surrogate_in_utf8", "# \xed\xa0\x80\n", {"1:3: syntax: a byte that is not UTF-8"}},
    {"a_zero_byte_in_a_comment", std::string("# a\0b\n", 6), {"1:4: syntax: a control character"}},
    {"a_bell_in_a_string", kBridge + "control = '/\x07'\n", {"3:13: syntax: a control character"}},
    {"too_deep", "a = " + std::string(100000, '['),
     {"1:21: syntax: tables and lists are nested too deeply"}},
    {"too_many_dots", "a" + repeated(".a", 50000) + " = 1",
     {"1:34: syntax: tables and lists are nested too deeply"}},
};
// clang-format on

class Problems : public testing::TestWithParam<BadFile> {};

TEST_P(Problems, are_all_reported_with_their_place) {
  LoadOutcome outcome = parse(GetParam().text, "c.toml");
  ASSERT_FALSE(outcome.ok());
  std::vector<std::string> said;
  for (const Problem& problem : outcome.problems()) said.push_back(to_string(problem));
  std::vector<std::string> expected;
  for (const std::string& problem : GetParam().problems) expected.push_back("c.toml:" + problem);
  EXPECT_EQ(said, expected);
}

INSTANTIATE_TEST_SUITE_P(BadFiles, Problems, testing::ValuesIn(kBadFiles),
                         [](const auto& info) { return info.param.name; });

TEST(Load, reports_the_problems_of_all_sections_at_once) {
  LoadOutcome outcome = parse(R"([bridge]
roots = ["srv"]
lisen = []
[defaults]
mode = "fast"
[[program]]
match = "/a"
queue = { timeout = "5" }
[[program]]
limits = { body = "1GB" }
)",
                              "c.toml");
  ASSERT_FALSE(outcome.ok());
  std::vector<std::string> paths;
  for (const Problem& problem : outcome.problems()) paths.push_back(problem.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"bridge.roots[1]", "bridge.lisen", "defaults.mode",
                                             "program[1].queue.timeout", "program[2].match",
                                             "program[2].limits.body"}));
}

// Goal: no part of a correct file causes a crash, wherever it is cut.
TEST(Load, survives_a_file_cut_at_every_byte) {
  std::string text =
      kBridge + "[defaults]\nenv = { A = \"x\\u0041\" }\nworkers.max = 3\n" + kProgram;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    LoadOutcome outcome = parse(std::string_view(text).substr(0, size), "c.toml");
    EXPECT_TRUE(outcome.ok() || !outcome.problems().empty());
  }
}

}  // namespace
}  // namespace config
