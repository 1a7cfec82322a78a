#include "doctor/proc_texts.h"

#include <gtest/gtest.h>

namespace doctor {
namespace {

constexpr std::string_view kStatus =
    "Name:\tnginx\nUmask:\t0022\nState:\tS (sleeping)\nPid:\t812\nPPid:\t811\n"
    "Uid:\t33\t34\t33\t33\nGid:\t33\t35\t33\t33\nGroups:\t4 33 \nNSpid:\t812\n"
    "CapPrm:\t00000000000000c0\n";

TEST(ParseStatus, reads_who_a_process_is) {
  const auto status = parse_status(kStatus);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->name, "nginx");
  EXPECT_EQ(status->parent, 811);
  EXPECT_EQ(status->uid, 34u) << "the effective one";
  EXPECT_EQ(status->gid, 35u);
  EXPECT_EQ(status->groups, (std::vector<::gid_t>{4, 33}));
  EXPECT_EQ(status->capabilities, 0xc0u);
  EXPECT_FALSE(status->in_container);
}

TEST(ParseStatus, notices_a_container) {
  EXPECT_TRUE(parse_status("Uid:\t0\t0\t0\t0\nNSpid:\t900\t1\n")->in_container);
}

TEST(ParseStatus, accepts_any_text_without_one) {
  for (const auto* text : {"", "Name:", "Name:\tx\nUid:\n", "Uid:\t1\n", ":\n:", "Name:\tx"}) {
    EXPECT_FALSE(parse_status(text)) << text;
  }
}

TEST(ParseStatus, takes_a_name_for_nothing_else) {
  const auto status = parse_status("Name:\tUid: 0 0 0\\n\nUid:\t7\t8\t7\t7\n");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->uid, 8u);
}

TEST(WebServerOf, goes_by_the_executable_if_it_is_known) {
  EXPECT_EQ(web_server_of("nginx", "nginx"), "nginx");
  EXPECT_EQ(web_server_of("apache2", ""), "Apache");
  EXPECT_EQ(web_server_of("nginx", "python3.11"), "") << "it only calls itself so";
  EXPECT_EQ(web_server_of("bash", ""), "");
}

TEST(HidesProcesses, reads_the_option_of_the_last_mount) {
  const std::string with = "22 1 0:5 / /proc rw - proc proc rw,hidepid=2\n";
  EXPECT_TRUE(hides_processes(with));
  EXPECT_TRUE(hides_processes("22 1 0:5 / /proc rw - proc proc rw,hidepid=invisible\n"));
  EXPECT_FALSE(hides_processes("22 1 0:5 / /proc rw - proc proc rw\n"));
  EXPECT_FALSE(hides_processes("22 1 0:5 / /mnt rw - proc proc rw,hidepid=2\n"));
  EXPECT_FALSE(hides_processes(with + "23 1 0:6 / /proc rw - proc proc rw,hidepid=0\n"));
}

constexpr std::string_view kUnix =
    "Num       RefCount Protocol Flags    Type St Inode Path\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 23 /run/a.sock\n"
    "0000000000000000: 00000003 00000000 00000000 0001 03 24 /run/b.sock\n"
    "0000000000000000: 00000003 00000000 00000000 0001 03 25\n";

TEST(AcceptsAtPath, finds_only_who_listens) {
  EXPECT_TRUE(accepts_at_path(kUnix, "/run/a.sock"));
  EXPECT_FALSE(accepts_at_path(kUnix, "/run/b.sock")) << "a connection";
  EXPECT_FALSE(accepts_at_path(kUnix, "/a.sock")) << "the end of another path";
  EXPECT_FALSE(accepts_at_path("", "/run/a.sock"));
}

TEST(AcceptsOnPort, finds_only_who_listens) {
  const std::string_view tcp =
      "  sl  local_address rem_address   st\n"
      "   0: 0100007F:2328 00000000:0000 0A 0\n"
      "   1: 0100007F:2329 0100007F:1000 01 0\n";
  EXPECT_TRUE(accepts_on_port(tcp, 9000));
  EXPECT_FALSE(accepts_on_port(tcp, 9001));
  EXPECT_FALSE(accepts_on_port(tcp, 4096));
}

TEST(OpenFilesLimit, is_the_soft_one) {
  EXPECT_EQ(open_files_limit("Max open files            1024                 524288  files \n"),
            1024u);
  EXPECT_FALSE(open_files_limit("Max open files            unlimited   unlimited\n"));
  EXPECT_FALSE(open_files_limit(""));
}

TEST(SecondsSinceStart, skips_a_name_with_blanks_and_parentheses) {
  std::string stat = "7 (a) b) S";
  for (int field = 4; field < 22; ++field) stat += " 1";
  EXPECT_EQ(seconds_since_start(stat + " 5000 0", "60.25 1.0", 100), 10);
  EXPECT_EQ(seconds_since_start(stat + " 9000 0", "60.25 1.0", 100), 0) << "never below 0";
  EXPECT_FALSE(seconds_since_start("7 (a) S 1", "60.25", 100));
  EXPECT_FALSE(seconds_since_start("", "", 100));
}

}  // namespace
}  // namespace doctor
