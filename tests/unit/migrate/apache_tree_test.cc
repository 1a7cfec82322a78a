#include <gtest/gtest.h>

#include <algorithm>

#include "migrate/apache_text.h"
#include "some_files.h"

namespace migrate {
namespace {

class ApacheTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_apache().empty()) GTEST_SKIP() << why_no_apache();
  }

  static std::string outline(std::map<std::string, std::string> texts,
                             const std::map<std::string, std::string>& variables = {}) {
    const std::string main = texts.begin()->first;
    SomeFiles files(std::move(texts));
    return outline_of_tree(read_apache(main, files, variables).directives);
  }
};

// Debian's conf-available/serve-cgi-bin.conf.
constexpr const char* kServeCgiBin = R"(<IfModule mod_alias.c>
	<IfModule mod_cgi.c>
		Define ENABLE_USR_LIB_CGI_BIN
	</IfModule>

	<IfModule mod_cgid.c>
		Define ENABLE_USR_LIB_CGI_BIN
	</IfModule>

	<IfDefine ENABLE_USR_LIB_CGI_BIN>
		ScriptAlias /cgi-bin/ /usr/lib/cgi-bin/
	</IfDefine>
</IfModule>
)";

TEST_F(ApacheTreeTest, decides_conditions_by_the_modules_that_are_loaded) {
  const std::string alias = "LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so\n";
  const std::string cgid = "LoadModule cgid_module /usr/lib/apache2/modules/mod_cgid.so\n";
  EXPECT_EQ(outline({{"/e/a.conf", alias + kServeCgiBin}}).find("ScriptAlias"), std::string::npos);
  const std::string both = outline({{"/e/a.conf", alias + cgid + kServeCgiBin}});
  EXPECT_NE(both.find("ScriptAlias[/cgi-bin/|/usr/lib/cgi-bin/]"), std::string::npos);
  EXPECT_EQ(outline({{"/a",
                      "<IfModule !cgi_module>\nA b\n</IfModule>\n<IfVersion >= 2.4>\nC d\n"
                      "</IfVersion>\n"}}),
            "A[b] C[d]");
}

TEST_F(ApacheTreeTest, follows_includes_below_the_server_root) {
  EXPECT_EQ(outline({{"/etc/httpd/conf/httpd.conf",
                      "Include extra.d/*.conf\nIncludeOptional none/*.conf\nIncludeOptional gone\n"
                      "ServerRoot /srv\nInclude folder\n"},
                     {"/etc/httpd/extra.d/1.conf", "One x\n"},
                     {"/srv/folder/a", "A x\n"},
                     {"/srv/folder/b", "B x\n"}}),
            "Include[extra.d/*.conf]{One[x]} IncludeOptional[none/*.conf] IncludeOptional[gone] "
            "ServerRoot[/srv] Include[folder]{A[x] B[x]}");
}

TEST_F(ApacheTreeTest, puts_the_values_of_variables_in) {
  EXPECT_EQ(
      outline(
          {{"/a", "Define ROOT /srv\nA ${ROOT}/x ${USER} ${NONE} ${\nUnDefine ROOT\nB ${ROOT}\n"}},
          {{"USER", "www-data"}}),
      "Define[ROOT|/srv] A[/srv/x|www-data|${NONE}|${] UnDefine[ROOT] B[${ROOT}]");
}

TEST_F(ApacheTreeTest, goes_on_without_a_file_that_is_wrong) {
  SomeFiles files(
      Texts{{"/a", "Include bad\nInclude none\nC x\n"}, {"/bad", "<Directory /x>\nA b\n"}});
  const ApacheTree tree = read_apache("/a", files, {});
  EXPECT_EQ(outline_of_tree(tree.directives), "Include[bad] Include[none] C[x]");
  ASSERT_EQ(tree.problems.size(), 2U);
  EXPECT_EQ(tree.problems[0].file, "/bad");
  EXPECT_EQ(tree.problems[1].file, "/a");
  EXPECT_EQ(tree.problems[1].line, 2U);
}

TEST_F(ApacheTreeTest, says_that_macros_are_not_expanded) {
  SomeFiles files(Texts{{"/a", "<Macro Site $name>\nScriptAlias /x /y\n</Macro>\nUse Site a\n"}});
  const ApacheTree tree = read_apache("/a", files, {});
  EXPECT_EQ(outline_of_tree(tree.directives), "Use[Site|a]");
  ASSERT_EQ(tree.problems.size(), 1U);
  EXPECT_NE(tree.problems[0].why.find("not expanded"), std::string::npos);
}

TEST(ExportedVariables, are_those_that_are_plain) {
  const auto variables = exported_variables(
      "unset HOME\nif [ x ]; then\n  SUFFIX=\nfi\n: ${A:=b}\n# export NO=1\n"
      "export APACHE_RUN_USER=www-data\n  export APACHE_PID_FILE=/run/apache2$SUFFIX/apache2.pid\n"
      "export APACHE_RUN_DIR=/run/apache2$SUFFIX\nexport LANG='C.UTF-8'\nexport B=$(date)\n");
  const std::map<std::string, std::string> expected = {
      {"APACHE_RUN_USER", "www-data"}, {"APACHE_RUN_DIR", "/run/apache2"}, {"LANG", "C.UTF-8"}};
  EXPECT_EQ(variables, expected);
}

}  // namespace
}  // namespace migrate
