#include "router/exec_wrapper.h"

#include <gtest/gtest.h>

namespace router {
namespace {

using Words = std::vector<std::string>;

std::optional<ExecWrapper> parsed(const std::string& lines) {
  return parse_exec_wrapper("#!/bin/sh\n" + lines, "/cgi/x");
}

TEST(ExecWrapper, finds_what_is_executed) {
  const auto wrapper = parsed("exec /usr/sbin/smokeping_cgi /etc/smokeping/config\n");
  ASSERT_TRUE(wrapper);
  EXPECT_EQ(wrapper->words, (Words{"/usr/sbin/smokeping_cgi", "/etc/smokeping/config"}));
  EXPECT_FALSE(wrapper->passes_words);
  EXPECT_TRUE(wrapper->assignments.empty());
}

TEST(ExecWrapper, knows_quotes) {
  const auto wrapper = parsed("exec perl -w \"/srv/a b\"'$c'd \"\" '' \"$@\"  # and no more");
  ASSERT_TRUE(wrapper);
  EXPECT_EQ(wrapper->words, (Words{"perl", "-w", "/srv/a b$cd", "", ""}));
  EXPECT_TRUE(wrapper->passes_words);
}

TEST(ExecWrapper, knows_the_script_itself_and_the_old_way_to_say_its_words) {
  const auto wrapper =
      parsed("# the next line restarts by tclsh \\\nexec tclsh \"$0\" ${1+\"$@\"}\n}{");
  ASSERT_TRUE(wrapper);
  EXPECT_EQ(wrapper->words, (Words{"tclsh", "/cgi/x"}));
  EXPECT_TRUE(wrapper->passes_words);
}

TEST(ExecWrapper, collects_what_is_exported) {
  const auto wrapper = parsed(
      "\n# ours\nset -e\nexport A=1 B='2 3'\n\tPERL5LIB=/opt/lib; export PERL5LIB\n"
      "export E= # empty\nexec /x");
  ASSERT_TRUE(wrapper);
  EXPECT_EQ(wrapper->assignments, (Words{"A=1", "B=2 3", "PERL5LIB=/opt/lib", "E="}));
}

TEST(ExecWrapper, is_none_if_anything_might_depend_on_anything) {
  for (const char* lines : {"",
                            "exec",
                            "exec \"$@\"",
                            "# exec /x",
                            "/x",
                            "exec ./x",
                            "exec x/y",
                            "exec /x/",
                            "exec -a y /x",
                            "exec A=1 /x",
                            "exec ''",
                            "exec $PERL /x",
                            "exec /x $1",
                            "exec /x \"$1\"",
                            "exec /x $@",
                            "exec /x \"$*\"",
                            "exec /x \"$@\" y",
                            "exec /x \"$@\"y",
                            "exec /x y\"$0\"",
                            "exec /x $0",
                            "exec /x \"$HOME\"",
                            "exec /x `date`",
                            "exec /x $(date)",
                            "exec /x \"`date`\"",
                            "exec /x \"a\\b\"",
                            "exec /x a\\b",
                            "exec /x \\",
                            "exec /x 'a\tb'",
                            "exec /x '\xc3\xa4'",
                            "exec /x \"\x81\"",
                            "exec /x \xc3\xa4",
                            "exec /x 'a",
                            "exec /x \"a",
                            "exec /x > /y",
                            "exec /x 2>&1",
                            "exec /x </y",
                            "exec /x | y",
                            "exec /x &",
                            "exec /x; y",
                            "exec /x *",
                            "exec /x a?",
                            "exec /x [a]",
                            "exec /x ~",
                            "exec /x {a,b}",
                            "exec /x !y",
                            "exec /x\r",
                            "cd /y\nexec /x",
                            "umask 022\nexec /x",
                            "ulimit -c 0\nexec /x",
                            ". /y\nexec /x",
                            "set -x\nexec /x",
                            "set -e -x\nexec /x",
                            "A=1\nexec /x",
                            "A=1 exec /x",
                            "A=1; export B\nexec /x",
                            "A=1; export A B\nexec /x",
                            "A=1; exec /x",
                            "A=1;; export A\nexec /x",
                            "export A\nexec /x",
                            "export A=$B\nexec /x",
                            "export -n A=1\nexec /x",
                            "export 1A=1\nexec /x",
                            "export A-B=1\nexec /x",
                            "export PWD=/y\nexec /x",
                            "export IFS=x\nexec /x",
                            "export BASH_ENV=/y\nexec /x",
                            "unset A\nexec /x",
                            "test -x /x && exec /x",
                            "if :; then\nexec /x\nfi",
                            "function f {\nexec /x\n}",
                            "trap '' 1\nexec /x",
                            "read A\nexec /x",
                            "\\\nexec /x",
                            "exec\\\n /x",
                            ": ; exec /x",
                            "exec /x\tA=\"\n\"",
                            "alias exec=y\nexec /x",
                            "exec() {\n:\n}\nexec /x",
                            "cat <<E\nexec /x\nE",
                            "#\r\nA\nexec /x"}) {
    EXPECT_FALSE(parsed(lines)) << lines;
  }
  EXPECT_FALSE(parse_exec_wrapper(std::string("#!/bin/sh\nexec /x\n\0", 19), "/cgi/x"));
  EXPECT_FALSE(parsed(std::string(kExecWrapperBytesMax, '\n') + "exec /x"));
  EXPECT_FALSE(parse_exec_wrapper("exec /x", "/cgi/x")) << "its first line is not looked at";
}

TEST(ExecWrapper, knows_which_names_mean_something) {
  for (const char* name :
       {"PWD", "IFS", "SHLVL", "_", "BASH_ENV", "BASHOPTS", "COMP_LINE", "ENV"}) {
    EXPECT_TRUE(means_something_to_shells(name)) << name;
  }
  for (const char* name :
       {"", "HTTP_HOST", "QUERY_STRING", "PATH", "HOME", "LANG", "PERL5LIB", "PW"}) {
    EXPECT_FALSE(means_something_to_shells(name)) << name;
  }
}

}  // namespace
}  // namespace router
