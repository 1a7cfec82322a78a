// The entry of a request that was given up: written once, whatever becomes of its program.
#include "journal/late_entry.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "journal/journal.h"

#include "worker/child_reaper.h"

namespace journal {
namespace {

using namespace std::chrono_literals;

class LateEntryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cgibridge-unit-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    config::BridgeSettings settings;
    settings.access_log = {folder_ + "/access.log", config::AccessFormat::json};
    journal_.use(settings);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<LateEntry> late(base::Duration patience) {
    auto entry = journal_.begin({}, {});
    entry->pid = 4711;
    return std::make_unique<LateEntry>(loop_, journal_, std::move(entry),
                                       std::make_shared<config::ProgramSettings>(), patience);
  }

  void run_for(base::Duration time) {
    loop::Timer end(loop_, [this] { loop_.stop(); });
    end.start(time);
    loop_.run();
  }

  std::vector<nlohmann::json> lines() {
    run_for(1ms);
    std::ifstream file(folder_ + "/access.log");
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(file, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  std::string folder_;
  loop::Loop loop_;
  worker::ChildReaper reaper_{loop_};
  Journal journal_{loop_, reaper_};
};

TEST_F(LateEntryTest, tells_how_the_program_ended) {
  auto entry = late(60s);
  EXPECT_EQ(lines().size(), 0u);
  worker::Ending ending;
  ending.app_status = 137;
  ending.cpu = 5us;
  ending.peak_kib = 64;
  entry->program_ended(ending);
  entry.reset();
  const auto written = lines();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].at("exit_code"), 137);
  EXPECT_EQ(written[0].at("cpu_us"), 5);
  EXPECT_EQ(written[0].at("peak_kib"), 64);
}

TEST_F(LateEntryTest, waits_for_no_program_that_outlives_its_end) {
  auto entry = late(1ms);
  run_for(20ms);
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_TRUE(lines()[0].at("exit_code").is_null());
  worker::Ending ending;
  ending.app_status = 137;
  entry->program_ended(ending);
  entry.reset();
  EXPECT_EQ(lines().size(), 1u) << "it is written once";
}

TEST_F(LateEntryTest, is_written_when_nobody_waits_any_more) {
  late(60s).reset();
  const auto written = lines();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_TRUE(written[0].at("exit_code").is_null());
}

}  // namespace
}  // namespace journal
