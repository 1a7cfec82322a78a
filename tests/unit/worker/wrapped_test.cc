#include "worker/wrapped.h"

#include <gtest/gtest.h>

namespace worker {
namespace {

using Words = std::vector<std::string_view>;

TEST(FixedWords, of_an_interpreter_end_with_its_script) {
  EXPECT_EQ(fixed_words("/usr/bin/perl", Words{"perl", "x.pl", "a", "b"}), 2u);
  EXPECT_EQ(fixed_words("/usr/bin/perl", Words{"perl", "-wT", "-I/lib", "x.pl", "a"}), 4u);
  EXPECT_EQ(fixed_words("/usr/bin/python3.11", Words{"python", "-u", "x.py"}), 3u);
  EXPECT_EQ(fixed_words("/usr/bin/ruby", Words{"ruby", "x.rb", "-w"}), 2u);
  EXPECT_EQ(fixed_words("/usr/bin/node", Words{"node", "x.js", "a"}), 2u);
}

TEST(FixedWords, of_anything_else_are_its_name) {
  EXPECT_EQ(fixed_words("/bin/cat", Words{"cat", "-n", "x"}), 1u);
  EXPECT_EQ(fixed_words("/srv/x.cgi", Words{"x.cgi", "a"}), 1u);
  EXPECT_EQ(fixed_words("/usr/bin/perl", Words{"perl", "-e", "print 1"}), 1u);
  EXPECT_EQ(fixed_words("/usr/bin/perl", Words{"perl"}), 1u);
  EXPECT_EQ(fixed_words("/usr/bin/python3", Words{"python3", "-m", "x"}), 1u);
  EXPECT_EQ(fixed_words("/usr/bin/php-cgi", Words{"php-cgi", "x.php"}), 1u);
}

TEST(FixedWords, of_java_end_with_its_class_or_archive) {
  EXPECT_EQ(fixed_words("/usr/bin/java", Words{"java", "-Xmx9m", "-jar", "x.jar", "a"}), 4u);
  EXPECT_EQ(fixed_words("/usr/bin/java", Words{"java", "-cp", "/lib", "Main", "a"}), 4u);
  EXPECT_EQ(fixed_words("/usr/bin/java", Words{"java", "-jar"}), 2u);
}

TEST(Executed, is_known_by_what_stays_the_same) {
  const auto executed = [](std::vector<std::string_view> words, std::string_view environment) {
    return executed_by({.folder = "/srv",
                        .file = "/usr/bin/perl",
                        .words = std::move(words),
                        .environment = environment});
  };
  const Executed one = executed({"perl", "x.pl", "a"}, std::string_view("PATH=/bin\0", 10));
  EXPECT_EQ(one.words, (std::vector<std::string>{"perl", "x.pl"}));
  EXPECT_EQ(one.search_path, "/bin");
  EXPECT_EQ(one.name(), "x.pl");
  EXPECT_EQ(one.key(), executed({"perl", "x.pl"}, std::string_view("PATH=/bin\0", 10)).key());
  EXPECT_NE(one.key(), executed({"perl", "y.pl"}, std::string_view("PATH=/bin\0", 10)).key());
  EXPECT_NE(one.key(), executed({"perl", "x.pl"}, std::string_view("PATH=/\0", 7)).key());
  EXPECT_EQ(executed({"perl"}, {}).name(), "/usr/bin/perl");
}

TEST(Executed, becomes_what_the_kernel_would_make_of_it) {
  const auto executable = executable_of({"/bin/cat", "/", "/bin/cat", {"a cat"}, "/bin", 0});
  ASSERT_TRUE(executable);
  EXPECT_EQ(executable->file, "/bin/cat");
  EXPECT_EQ(executable->argv, (std::vector<std::string>{"a cat"}));
  EXPECT_EQ(executable->name, "cat");
  EXPECT_EQ(executable->assignments, (std::vector<std::string>{"PATH=/bin"}));
  EXPECT_FALSE(executable_of({"/nowhere", "/", "/nowhere", {"x"}, {}, 0}));
  EXPECT_FALSE(executable_of({"/etc/passwd", "/", "etc/passwd", {"x"}, {}, 0}));
}

}  // namespace
}  // namespace worker
