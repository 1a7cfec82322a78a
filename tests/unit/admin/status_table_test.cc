#include "admin/status_table.h"

#include <gtest/gtest.h>

namespace admin {
namespace {

using nlohmann::json;

// What a visitor, a program or a path may try to have printed.
const std::string kEvil = "a\x1b]0;b\x07\x7f\xc2\x9b\x9b\r\nforged";

json some_status() {
  const json quantiles = {{"p50", 1}, {"p95", 2}, {"p99", 3}};
  const json arm = {{"requests", 1},       {"errors", 1},   {"latency_us", quantiles},
                    {"cpu_us", quantiles}, {"peak_kib", 0}, {"failures", {{kEvil, 1}}}};
  const json program = {{"path", "/srv/" + kEvil},
                        {"arm", "rewind"},
                        {"level", "compiled"},
                        {"generation", 1},
                        {"workers", {{"idle", 1}, {"busy", 0}}},
                        {"queue", 0},
                        {"requests", 1},
                        {"errors", 1},
                        {"user", kEvil},
                        {"sandbox", kEvil},
                        {"level_reason", kEvil},
                        {"retry_in_ms", nullptr},
                        {"warm", {{"told", kEvil}}},
                        {"misfits", {{"count", 1}, {"variable", kEvil}}},
                        {"learned", {kEvil}},
                        {"failed_steps", {kEvil}},
                        {"reset_reason", kEvil},
                        {"reset_asked", "rewind"},
                        {"arms", {{"rewind", arm}}},
                        {"shadow",
                         {{"compared", 1},
                          {"same", 0},
                          {"masked", 0},
                          {"different", 1},
                          {"skipped", {{kEvil, 1}}},
                          {"differences",
                           {{{"what", kEvil},
                             {"method", kEvil},
                             {"uri", kEvil},
                             {"at", "now"},
                             {"arm", "rewind"}}}}}},
                        {"promotion", {{"stage", "shadow"}, {"outlook", kEvil}, {"held", true}}},
                        {"rewind", {{"rewinds", 0}}},
                        {"retired", {{kEvil, 1}}}};
  return {{"bridge",
           {{"version", "1"},
            {"pid", 1},
            {"connections", 0},
            {"requests_active", 0},
            {"requests_total", 1},
            {"errors", 0},
            {"workers_running", 0},
            {"workers", 1},
            {"draining", false},
            {"cgroups", {{"not_held", {kEvil}}}}}},
          {"programs", {program}}};
}

TEST(StatusTable, lets_no_visitor_or_program_steer_the_terminal_or_forge_a_line) {
  const std::string table = status_table(some_status());
  for (const char* control : {"\x1b", "\x07", "\x7f", "\x9b", "\r", "\nforged"}) {
    EXPECT_EQ(table.find(control), table.npos) << table;
  }
  EXPECT_NE(table.find("a\\x1b]0;b\\x07\\x7f\\xc2\\x9b\\x9b\\x0d\\nforged"), table.npos) << table;
}

}  // namespace
}  // namespace admin
