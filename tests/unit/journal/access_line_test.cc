#include "journal/access_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace journal {
namespace {

using namespace std::chrono_literals;
using config::AccessFormat;

Entry some_entry() {
  Entry entry;
  entry.began_ms = 1'700'000'000'123;
  entry.params = {{"REMOTE_ADDR", "192.0.2.7"},
                  {"REMOTE_USER", "eve"},
                  {"REQUEST_METHOD", "GET"},
                  {"REQUEST_URI", "/cgi-bin/a.pl?x=1&password=abc"},
                  {"SERVER_PROTOCOL", "HTTP/1.1"}};
  entry.id = "5f1c";
  entry.program = "/srv/a.pl";
  entry.level = "compiled";
  entry.pid = 4711;
  entry.exit_code = 0;
  entry.seen = {.arm = compare::Arm::rewind,
                .failure = compare::Failure::none,
                .status = 200,
                .latency = 1500us,
                .queue = 200us,
                .cpu = 900us,
                .peak_kib = 8192,
                .bytes_in = 3,
                .bytes_out = 512};
  return entry;
}

TEST(AccessLine, is_a_web_servers_line_with_our_figures_behind) {
  EXPECT_EQ(
      access_line(some_entry(), AccessFormat::text, Secrets()),
      "192.0.2.7 - eve [14/Nov/2023:22:13:20 +0000] \"GET /cgi-bin/a.pl?x=1&password=xxx "
      "HTTP/1.1\" 200 512 program=/srv/a.pl arm=rewind level=compiled pid=4711 "
      "id=5f1c latency_us=1500 queue_us=200 run_us=1300 cpu_us=900 peak_kib=8192 received=3 exit=0 "
      "failure=none\n");
}

TEST(AccessLine, shows_what_is_not_known_as_such) {
  Entry entry;
  entry.seen.failure = compare::Failure::gone;
  const std::string line = access_line(entry, AccessFormat::text, Secrets());
  EXPECT_NE(line.find("\"- - -\" - 0 program=- arm=- level=- pid=- "), line.npos) << line;
  EXPECT_NE(line.find("cpu_us=- peak_kib=- received=0 exit=- failure=client_gone\n"), line.npos);
  const auto json = nlohmann::json::parse(access_line(entry, AccessFormat::json, Secrets()));
  for (const char* name : {"status", "program", "arm", "level", "pid", "cpu_us", "peak_kib",
                           "exit_code", "remote_addr"}) {
    EXPECT_TRUE(json.at(name).is_null()) << name;
  }
}

TEST(AccessLine, is_one_json_object_a_line) {
  const std::string line = access_line(some_entry(), AccessFormat::json, Secrets());
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json.at("time"), "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(json.at("status"), 200);
  EXPECT_EQ(json.at("arm"), "rewind");
  EXPECT_EQ(json.at("id"), "5f1c");
  EXPECT_EQ(json.at("queue_us"), 200);
  EXPECT_EQ(json.at("run_us"), 1300);
  EXPECT_EQ(json.at("peak_kib"), 8192);
  EXPECT_EQ(json.at("uri"), "/cgi-bin/a.pl?x=1&password=xxx");
}

TEST(AccessLine, cannot_be_forged_by_a_client) {
  Entry entry = some_entry();
  const std::string evil = "/\"\n 200 arm=classic \\\r\x01\xff";
  for (auto& [name, value] : entry.params) value = evil;
  entry.program = evil;
  const std::string text = access_line(entry, AccessFormat::text, Secrets());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(std::count(text.begin(), text.end(), '"'), 2);
  EXPECT_EQ(text.find(" arm=classic"), text.npos);
  const std::string line = access_line(entry, AccessFormat::json, Secrets());
  EXPECT_EQ(nlohmann::json::parse(line).at("method"), "/\"\n 200 arm=classic \\\r\x01\xc3\xbf");
}

}  // namespace
}  // namespace journal
