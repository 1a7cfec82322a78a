#include "config/show.h"

#include <gtest/gtest.h>

#include "config/fields.h"
#include "config/load.h"

namespace config {
namespace {

Settings settings_of(const std::string& text) {
  LoadOutcome outcome = parse(text, "test.toml");
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : to_string(outcome.problems().at(0)));
  return outcome.ok() ? outcome.take() : Settings();
}

TEST(Show, prints_every_default) {
  EXPECT_EQ(show(settings_of("[bridge]\nroots = [\"/srv\"]\n")),
            R"([bridge]
listen = []
bound = {}
socket_mode = "0660"
socket_owner = ""
socket_group = ""
allow = { users = [], addresses = [] }
control = "/run/cgibridge/control.sock"
roots = ["/srv"]
root_links = false
owner = { uid_min = 1000, gid_min = 100 }
params_max = "1MiB"
params_timeout = "1m"
connections_max = 1024
drain_timeout = "30s"
log_level = "info"
cache = "/var/cache/cgibridge"
adapters = ""
zygotes_max = 200
workers_max = 512
zygote_idle_timeout = "10m"
prewarm = []
cgroup = ""
limits = { cpu = 0, cpu_weight = 100, memory = 0, processes = 0 }
health = ""
page = { path = "", from = ["127.0.0.1", "::1"], switch_modes = false }
log = ""
access_log = { file = "", format = "text" }
slowlog = { file = "" }
captures = { folder = "", max = 100, secret = [] }

[defaults]
mode = "persistent"
split = { persistent = 10, sticky = "none" }
shadow = { share = 100, methods = ["GET", "HEAD"] }
promote = { after = 0, max_diff = 0 }
pin = { header = "", from = [] }
arm_header = ""
request_id_header = ""
interpreter = ""
launch = "auto"
reset = "rewind"
rewind = { verify = 1000, verify_cpu = 2, tracking = "auto", max_retired = 20 }
level = "compiled"
workers = { min = 0, max = 8, spare = 2, idle_timeout = "1m", )"
            R"(max_requests = 10000, max_age = "0s", max_memory = 0 }
queue = { max = 256, timeout = "5s" }
timeouts = { start = "10s", request = "30s", output = "0s", background = "10m", kill_grace = "3s" }
limits = { body = 0, cpu = 0, cpu_weight = 100, memory = 0, processes = 0, )"
            R"(open_files = 0, user_processes = 0, file_size = 0, address_space = 0, )"
            R"(cpu_time = "0s", core = true, error_output = "1MiB" }
slowlog = { after = "0s", stacks = true }
capture = true
user = ""
no_new_privs = false
sandbox = { read_only = false, write = [], private_tmp = false, tmp_size = "64MiB", )"
            R"(network = true, syscalls = [], landlock = true, best_effort = false }
wasm = { dirs = {}, read_only = [], memory = "256MiB", stack = "1MiB" }
env = {}
strict_params = false
pass_params = []
preload = []
learn = "installed"
accept = []
)");
}

TEST(Show, is_read_back_to_the_same_settings) {
  Settings settings = settings_of(R"(
[bridge]
roots = ["/srv/a \"b\" \\ c", "/srv/ü\u0001\u007f"]
listen = ["unix:/a", "[::1]:1", "localhost:2"]
bound = { "unix:/b \"c\"" = "/srv/\\u0001", "[::]:3" = "/srv/b" }
params_max = 5000
page = { path = "/cgi/bridge", from = ["::/0"], switch_modes = true }
[defaults]
env = { LANG = "C.UTF-8", TEXT = """
two lines""" }
mode = "classic"
[[program]]
name = "one"
match = "/srv/*.pl"
workers = { max = 1 }
preload = ["CGI", "DBI"]
wasm = { dirs = { "/data" = "/srv/a \"b\"", "/" = "/srv" }, read_only = ["/"], stack = "2MiB" }
learn = "none"
limits.body = "2GiB"
[[program]]
name = "two"
match = "/srv/*.py"
mode = "shadow"
split = { persistent = "0.5%", sticky = "cookie:sid" }
shadow = { share = 33.3, methods = ["GET", "POST"] }
promote = { after = 1000, max_diff = 2 }
pin = { header = "X-CGI-Mode", from = ["10.0.0.0/8", "fd00::/8", "unix"] }
arm_header = "X-CGI-Arm"
request_id_header = "X-Request-ID"
[[program]]
match = "*"
env = { EMPTY = "" }
)");
  ASSERT_EQ(settings.programs.size(), 3u);
  EXPECT_EQ(settings_of(show(settings)), settings);
}

TEST(Reference, has_a_row_for_every_setting) {
  std::string text = reference();
  for (const auto& field : bridge_fields()) {
    EXPECT_NE(text.find("\n| `" + std::string(field.name) + "` |"), std::string::npos);
  }
  for (const auto& field : program_fields()) {
    EXPECT_NE(text.find("\n| `" + std::string(field.name) + "` |"), std::string::npos);
  }
  EXPECT_NE(text.find("| `workers.max` | count | `8` | `1 to 10000` | live |"), std::string::npos);
  EXPECT_NE(text.find("| `listen` | list of address | `[]` | "), std::string::npos);
}

// Goal: every default passes the checks; one that did not could not be shown and read back.
TEST(Fields, have_defaults_within_their_own_ranges) {
  Settings settings;
  settings.bridge.roots = {"/srv"};
  EXPECT_EQ(settings_of(show(settings)), settings);
}

TEST(Fields, are_explained_each) {
  for (const auto& field : bridge_fields()) EXPECT_TRUE(field.doc.ends_with('.')) << field.name;
  for (const auto& field : program_fields()) EXPECT_TRUE(field.doc.ends_with('.')) << field.name;
}

}  // namespace
}  // namespace config
