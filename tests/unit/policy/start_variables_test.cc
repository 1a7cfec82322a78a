#include "policy/start_variables.h"

#include <gtest/gtest.h>

namespace policy {
namespace {

using namespace std::string_literals;
using config::Level;
using worker::Language;

constexpr base::TimePoint kNow{};

TEST(ConstantVariables, takes_what_is_the_same_for_every_request_and_nothing_else) {
  const ConstantVariables constants = constant_variables(
      "QUERY_STRING=a=b\0DOCUMENT_ROOT=/srv\0HTTP_COOKIE=secret\0SERVER_NAME=x\0"s);
  EXPECT_EQ(constants, (ConstantVariables{{"DOCUMENT_ROOT", "/srv"}, {"SERVER_NAME", "x"}}));
}

TEST(ReadAtStart, at_linked_is_what_the_loader_and_its_allocator_read) {
  for (const char* name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX"}) {
    EXPECT_TRUE(is_read_at_start(name, Level::linked)) << name;
  }
  for (const char* name : {"TZ", "LANG", "LC_ALL", "LOCPATH", "PERL5LIB", "HOME", "PATH"}) {
    EXPECT_FALSE(is_read_at_start(name, Level::linked)) << name;
  }
}

TEST(ReadAtStart, is_the_folder_at_every_level) {
  EXPECT_TRUE(is_read_at_start("FCGI_CHDIR", Level::linked));
  EXPECT_TRUE(is_read_at_start("FCGI_CHDIR", Level::compiled));
}

TEST(ReadAtStart, behind_main_is_what_libc_and_interpreters_read_as_well) {
  for (const char* name : {"TZ",
                           "TZDIR",
                           "LANG",
                           "LANGUAGE",
                           "LC_ALL",
                           "LC_TIME",
                           "NLSPATH",
                           "LOCPATH",
                           "LD_PRELOAD",
                           "PERL_USE_UNSAFE_INC",
                           "PERL5LIB",
                           "PERL_HASH_SEED",
                           "PYTHONPATH",
                           "PYTHONIOENCODING",
                           "PYTHONUTF8",
                           "RUBYLIB",
                           "RUBYOPT",
                           "NODE_OPTIONS",
                           "UV_THREADPOOL_SIZE",
                           "TCLLIBPATH",
                           "PHPRC",
                           "GLIBC_TUNABLES",
                           "MALLOC_PERTURB_",
                           "HOME",
                           "PATH"}) {
    EXPECT_TRUE(is_read_at_start(name, Level::booted)) << name;
    EXPECT_TRUE(is_read_at_start(name, Level::compiled)) << name;
  }
}

TEST(ReadAtStart, is_nothing_that_only_requests_differ_in) {
  for (const char* name : {"QUERY_STRING", "HTTP_ACCEPT_LANGUAGE", "REMOTE_ADDR", "SERVER_NAME",
                           "GIT_PROJECT_ROOT", "CGIBRIDGE_CHECKPOINT", "LANGUAGES", "TZ_", ""}) {
    EXPECT_FALSE(is_read_at_start(name, Level::compiled)) << name;
  }
}

TEST(StartVariables, suit_a_request_that_brings_what_was_launched) {
  const StartVariables start({{"TZ", "UTC"}, {"PATH", "/bin"}, {"SERVER_NAME", "a"}}, {});
  EXPECT_EQ(start.misfit("QUERY_STRING=x\0PATH=/bin\0TZ=UTC\0SERVER_NAME=b\0"s, Language::perl,
                         Level::compiled),
            "");
}

TEST(StartVariables, name_what_differs_is_new_or_is_missing) {
  const StartVariables start({{"TZ", "UTC"}}, {});
  const auto misfit = [&](const std::string& environment) {
    return start.misfit(environment, Language::perl, Level::compiled);
  };
  EXPECT_EQ(misfit("TZ=Asia/Tokyo\0"s), "TZ");
  EXPECT_EQ(misfit("TZ=UTC\0LC_ALL=C\0"s), "LC_ALL");
  EXPECT_EQ(misfit("QUERY_STRING=\0"s), "TZ");
  EXPECT_EQ(misfit(""), "TZ");
}

TEST(StartVariables, do_not_count_the_time_zone_before_main_nor_of_node) {
  const StartVariables start({{"TZ", "UTC"}}, {});
  EXPECT_EQ(start.misfit("TZ=Asia/Tokyo\0"s, Language::none, Level::linked), "");
  EXPECT_EQ(start.misfit("TZ=Asia/Tokyo\0"s, Language::node, Level::booted), "");
  EXPECT_EQ(start.misfit("TZ=UTC\0LANG=C\0"s, Language::node, Level::booted), "LANG");
}

TEST(StartVariables, count_whatever_was_read) {
  StartVariables start({{"SERVER_NAME", "a"}}, {});
  const auto misfit = [&](const std::string& environment) {
    return start.misfit(environment, Language::none, Level::linked);
  };
  EXPECT_EQ(misfit("SERVER_NAME=b\0"s), "");
  start.note_read("SERVER_NAME\nOMP_NUM_THREADS\n\nCGIBRIDGE_CHECKPOINT\n");
  EXPECT_EQ(misfit("SERVER_NAME=b\0"s), "SERVER_NAME");
  EXPECT_EQ(misfit("SERVER_NAME=a\0OMP_NUM_THREADS=1\0"s), "OMP_NUM_THREADS");
  EXPECT_EQ(misfit("SERVER_NAME=a\0CGIBRIDGE_CHECKPOINT=x\0"s), "");
}

TEST(StartVariables, leave_out_what_the_first_line_assigns) {
  const StartVariables start({{"LANG", "C"}}, {"LANG=C"});
  EXPECT_EQ(start.misfit("LANG=de_DE.UTF-8\0"s, Language::perl, Level::compiled), "");
}

TEST(StartVariables, keep_a_bounded_number_of_names) {
  StartVariables start({}, {});
  std::string lines;
  for (int i = 0; i < 5000; ++i) lines += "NAME" + std::to_string(i) + "\n";
  start.note_read(lines);
  EXPECT_EQ(start.read().size(), StartVariables::kReadNamesMax);
}

TEST(StartChoice, launches_with_what_a_request_brings_of_that) {
  StartChoice choice;
  choice.take("TZ=UTC\0QUERY_STRING=x\0SERVER_NAME=a\0HTTP_COOKIE=c\0"s);
  EXPECT_EQ(choice.constants(), (ConstantVariables{{"SERVER_NAME", "a"}, {"TZ", "UTC"}}));
}

TEST(StartChoice, follows_the_first_request_if_it_was_launched_without_any) {
  StartChoice choice;
  choice.take("");
  EXPECT_TRUE(choice.count_misfit("TZ=UTC\0"s, {}, kNow));
  choice.take("TZ=UTC\0"s);
  EXPECT_FALSE(choice.count_misfit("TZ=Asia/Tokyo\0"s, {}, kNow));
}

TEST(StartChoice, of_no_request_launches_with_what_every_request_has) {
  StartChoice choice;
  choice.take("");
  EXPECT_EQ(choice.constants(), (ConstantVariables{{"GATEWAY_INTERFACE", "CGI/1.1"}}));
}

TEST(StartChoice, follows_the_first_request_once_if_a_program_read_what_it_brings) {
  StartChoice choice;
  choice.take("");
  EXPECT_FALSE(choice.follow_first_request());
  choice.note_request("DOCUMENT_ROOT=/a\0"s);
  choice.note_request("DOCUMENT_ROOT=/b\0"s);
  choice.count_fit();
  EXPECT_TRUE(choice.follow_first_request());
  EXPECT_EQ(choice.constants(), (ConstantVariables{{"DOCUMENT_ROOT", "/a"}}));
  choice.note_request("DOCUMENT_ROOT=/b\0"s);
  EXPECT_FALSE(choice.follow_first_request());
}

TEST(StartChoice, keeps_what_the_first_request_that_suited_confirmed) {
  StartChoice choice;
  choice.take("");
  choice.count_fit();
  EXPECT_FALSE(choice.count_misfit("TZ=UTC\0"s, {}, kNow));
}

TEST(StartChoice, follows_once_for_a_name_that_nobody_knew_to_be_read) {
  StartChoice choice;
  choice.take("OMP_NUM_THREADS=1\0"s);
  EXPECT_TRUE(choice.constants().empty());
  EXPECT_TRUE(choice.count_misfit("OMP_NUM_THREADS=1\0"s, {"OMP_NUM_THREADS"}, kNow));
  choice.take("OMP_NUM_THREADS=1\0"s);
  EXPECT_EQ(choice.constants().at("OMP_NUM_THREADS"), "1");
  EXPECT_FALSE(choice.count_misfit("OMP_NUM_THREADS=2\0"s, {"OMP_NUM_THREADS"}, kNow));
}

TEST(StartChoice, tells_once_a_generation) {
  StartChoice choice;
  EXPECT_TRUE(choice.is_first_in(1));
  EXPECT_FALSE(choice.is_first_in(1));
  EXPECT_TRUE(choice.is_first_in(2));
}

}  // namespace
}  // namespace policy
