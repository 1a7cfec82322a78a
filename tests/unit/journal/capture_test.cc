// A failed request as a file: what is in it, what is not, and how it is kept.
#include "journal/capture.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "journal/capture_folder.h"
#include "journal/text_bytes.h"

namespace journal {
namespace {

Entry failing_entry() {
  Entry entry;
  entry.began_ms = 1'700'000'000'123;
  entry.program = "/srv/a.pl";
  entry.params = {{"REQUEST_METHOD", "POST"},
                  {"CONTENT_TYPE", "application/x-www-form-urlencoded"},
                  {"HTTP_COOKIE", "id=4711"},
                  {"HTTP_X_BYTES", std::string("\xff\xfe\0z", 4)}};
  entry.body_max = 20;
  entry.add_body("name=eve&password=");
  entry.add_body("hunter2");
  entry.seen.arm = compare::Arm::rewind;
  entry.seen.failure = compare::Failure::signal;
  entry.seen.status = 502;
  entry.seen.bytes_in = entry.received;
  entry.exit_code = 139;
  entry.ended_by = "killed by signal 11 (Segmentation fault)";
  return entry;
}

TEST(Capture, gives_back_what_was_put_in_but_masked_and_cut) {
  const auto parsed = parse_capture(capture_text(failing_entry(), Secrets(), "/etc/b.toml"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Capture& capture = parsed.value();
  EXPECT_EQ(capture.settings_file, "/etc/b.toml");
  EXPECT_EQ(capture.program, "/srv/a.pl");
  EXPECT_EQ(capture.time, "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(capture.params[0], (std::pair<std::string, std::string>("REQUEST_METHOD", "POST")));
  EXPECT_EQ(capture.params[2].second, "id=xxxx");
  EXPECT_EQ(capture.params[3].second, std::string("\xff\xfe\0z", 4));
  EXPECT_EQ(capture.body, "name=eve&password=xx");
  EXPECT_EQ(capture.body_bytes, 25u);
  EXPECT_EQ(capture.masked, (std::vector<std::string>{"HTTP_COOKIE", "body:password"}));
  EXPECT_EQ(capture.arm, "rewind");
  EXPECT_EQ(capture.failure, "signal");
  EXPECT_EQ(capture.status, 502);
  EXPECT_EQ(capture.exit_code, 139u);
  EXPECT_EQ(capture.ended_by, "killed by signal 11 (Segmentation fault)");
}

TEST(Capture, tells_an_exit_code_and_a_settings_file_only_if_it_knows_them) {
  Entry entry = failing_entry();
  entry.exit_code.reset();
  const auto parsed = parse_capture(capture_text(entry, Secrets()));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_FALSE(parsed.value().exit_code.has_value());
  EXPECT_EQ(parsed.value().settings_file, "");
}

TEST(Capture, holds_no_secret) {
  const std::string text = capture_text(failing_entry(), Secrets());
  EXPECT_EQ(text.find("hunt"), text.npos);
  EXPECT_EQ(text.find("4711"), text.npos);
}

TEST(Capture, refuses_every_file_that_is_cut) {
  const std::string text = capture_text(failing_entry(), Secrets());
  for (std::size_t cut = 0; cut + 2 < text.size(); ++cut) {
    EXPECT_FALSE(parse_capture(text.substr(0, cut))) << cut;
  }
}

TEST(Capture, says_why_it_takes_no_other_file) {
  const auto why = [](const std::string& text) { return parse_capture(text).error().message; };
  EXPECT_EQ(why("hello"), "is no JSON, or not whole");
  EXPECT_EQ(why("{}"), "is no capture of this version of the bridge");
  EXPECT_EQ(why("[1]"), "is no capture of this version of the bridge");
  EXPECT_EQ(why(R"({"cgibridge_capture":1})"), "\"params\" is no list of [name, value]");
  EXPECT_EQ(why(R"({"cgibridge_capture":1,"params":[["A"]]})"),
            "\"params\" is no list of [name, value]");
  EXPECT_EQ(why(R"({"cgibridge_capture":1,"params":[],"body":7})"), "\"body\" is no text");
  EXPECT_EQ(why(R"({"cgibridge_capture":1,"params":[],"body":"","program":"a"})"),
            "\"program\" is no absolute path");
}

TEST(Capture, is_made_of_failures_of_programs_alone) {
  Entry entry = failing_entry();
  EXPECT_TRUE(worth_capturing(entry));
  for (const auto failure :
       {compare::Failure::none, compare::Failure::gone, compare::Failure::refused}) {
    entry.seen.failure = failure;
    EXPECT_FALSE(worth_capturing(entry)) << compare::to_string(failure);
  }
  entry = failing_entry();
  entry.program.clear();
  EXPECT_FALSE(worth_capturing(entry));
}

TEST(TextBytes, are_the_same_bytes_again_whatever_they_are) {
  for (const std::string& bytes :
       {std::string("plain"), std::string("größe"), std::string("\xff\x80"), std::string("a\0b", 3),
        std::string("\xed\xa0\x80"), std::string("\xc0\xaf"), std::string("\xf0\x9f\x98\x80"),
        std::string("\xe2\x82")}) {
    const auto again = bytes_of_json(nlohmann::json::parse(json_of_bytes(bytes).dump()));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, bytes);
  }
  EXPECT_TRUE(json_of_bytes("größe").is_string());
}

class CaptureFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cgibridge-unit-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    parent_ = name;
    path_ = parent_ + "/captures";
  }
  void TearDown() override { std::filesystem::remove_all(parent_); }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

  std::string parent_, path_;
};

TEST_F(CaptureFolderTest, keeps_the_newest_within_both_limits) {
  CaptureFolder folder;
  ASSERT_TRUE(folder.use(path_));
  std::ofstream(path_ + "/another-file") << "x";
  std::string newest;
  for (int i = 0; i < 9; ++i) {
    auto added = folder.add(std::string(100, 'a'), "a.pl", 1'700'000'000'000 + i,
                            {.files = 5, .bytes = 350});
    ASSERT_TRUE(added) << added.error().message;
    newest = added.value();
    EXPECT_LE(files(), 4u);
  }
  EXPECT_EQ(files(), 4u) << "three of 100 bytes, and the other file";
  EXPECT_TRUE(std::filesystem::exists(newest));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/another-file"));
  EXPECT_FALSE(folder.add(std::string(351, 'a'), "a.pl", 0, {.files = 5, .bytes = 350}));
}

TEST_F(CaptureFolderTest, counts_and_removes_what_a_bridge_that_was_killed_left_unfinished) {
  CaptureFolder folder;
  ASSERT_TRUE(folder.use(path_));
  const std::string left = path_ + "/20230101T000000.000-000000-a.pl.capture.json.new";
  std::ofstream(left) << std::string(100, 'a');
  for (int i = 0; i < 2; ++i) {
    const auto added = folder.add(std::string(100, 'a'), "a.pl", 1'700'000'000'000 + i,
                                  {.files = 2, .bytes = 350});
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_TRUE(added.value().ends_with(".capture.json"));
    EXPECT_EQ(std::filesystem::exists(left), i == 0);
  }
  EXPECT_EQ(files(), 2u);
}

TEST_F(CaptureFolderTest, is_for_its_owner_alone) {
  CaptureFolder folder;
  ASSERT_TRUE(folder.use(path_));
  const auto added = folder.add("{}", "../../a b", 0, {.files = 5, .bytes = 350});
  ASSERT_TRUE(added) << added.error().message;
  struct stat found;
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(added.value().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_EQ(std::filesystem::path(added.value()).parent_path(), path_);
}

TEST_F(CaptureFolderTest, refuses_a_folder_that_others_may_write_to) {
  std::filesystem::create_directory(path_);
  ::chmod(path_.c_str(), 0777);
  CaptureFolder folder;
  EXPECT_FALSE(folder.use(path_));
  EXPECT_FALSE(folder.is_used());
  std::filesystem::create_symlink("/tmp", parent_ + "/link");
  EXPECT_FALSE(folder.use(parent_ + "/link"));
  EXPECT_FALSE(folder.use(parent_ + "/no/such"));
}

}  // namespace
}  // namespace journal
