// Goal: only modules in the interpreter's own folders are loaded in advance, whatever a worker
// names.
#include "modules/learned.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace modules {
namespace {

using worker::Language;

struct Note {
  Language language;
  const char* text;
};

// clang-format off
const Note kGood[] = {
    {Language::perl, "POSIX\n/usr/lib/perl/5.36/POSIX.pm"},
    {Language::perl, "Text::Wrap\n/usr/share/perl/5.36/Text/Wrap.pm"},
    {Language::python, "decimal\n/usr/lib/python3.11/decimal.py"},
    {Language::python, "xml.dom\n/usr/lib/python3.11/xml/dom/__init__.py"},
    {Language::python, "_json\n/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64.so"},
    {Language::ruby, "json\n/usr/lib/ruby/3.1.0/json.rb"},
    {Language::ruby, "json/ext\n/var/lib/gems/3.1.0/gems/json-2.6/lib/json/ext.rb"},
    {Language::ruby, "x86_64-linux-gnu/stringio\n/usr/lib/ruby/x86_64-linux-gnu/stringio.so"},
    {Language::tcl, "http/2.9.5\n/usr/share/tcltk/tcl8.6/tcl8/http-2.9.5.tm"},
    {Language::tcl, "struct::list/1.8.5\n/usr/share/tcltk/tcllib1.21/struct/list.tcl"},
    {Language::tcl, "clock.tcl\n/usr/share/tcltk/tcl8.6/clock.tcl"},
};

const Note kBad[] = {
    {Language::perl, ""},
    {Language::perl, "POSIX"},
    {Language::perl, "POSIX\n"},
    {Language::perl, "POSIX\nPOSIX.pm"},
    {Language::perl, "POSIX\n/usr/lib/perl/Other.pm"},
    {Language::perl, "..::..::uploads::evil\n/srv/uploads/evil.pm"},
    {Language::perl, "::uploads::evil\n/uploads/evil.pm"},
    {Language::perl, "a::::b\n/a//b.pm"},
    {Language::perl, "a/b\n/a/b.pm"},
    {Language::perl, "a;b\n/a;b.pm"},
    {Language::perl, "-a\n/-a.pm"},
    {Language::perl, "a,b\n/a,b.pm"},
    {Language::perl, "a\n/x/a.pm\n/y"},
    {Language::perl, "evil\n/srv/notevil.pm"},
    {Language::python, "os\n/uploads/os.txt"},
    {Language::python, "..evil\n/evil.py"},
    {Language::python, ".evil\n/evil.py"},
    {Language::python, "a b\n/a b.py"},
    {Language::python, "evil\n/srv/evil.py/x.py"},
    {Language::ruby, "/srv/uploads/evil\n/srv/uploads/evil.rb"},
    {Language::ruby, "../evil\n/srv/evil.rb"},
    {Language::ruby, "a/../evil\n/srv/a/../evil.rb"},
    {Language::ruby, "./evil\n/srv/evil.rb"},
    {Language::ruby, "evil.rb\n/srv/evil.txt"},
    {Language::tcl, "../evil.tcl\n/srv/evil.tcl"},
    {Language::tcl, "a/b/evil.tcl\n/srv/a/b/evil.tcl"},
    {Language::tcl, "evil.tcl\n/srv/good.tcl"},
    {Language::tcl, "[exec/1.0\n/usr/x.tcl"},
    {Language::node, "fs\n/usr/fs.js"},
    {Language::none, "fs\n/usr/fs.js"},
    {Language::php, "fs\n/usr/fs.php"},
};
// clang-format on

TEST(LoadedNote, names_a_module) {
  for (const Note& note : kGood) {
    const std::string_view text = note.text;
    const auto module = read_loaded_note(note.language, text);
    ASSERT_TRUE(module.has_value()) << text;
    EXPECT_EQ(module->name, text.substr(0, text.find('\n')));
    EXPECT_EQ(module->file, text.substr(text.find('\n') + 1));
  }
}

TEST(LoadedNote, is_nothing_if_it_names_none) {
  for (const Note& note : kBad) {
    EXPECT_FALSE(read_loaded_note(note.language, note.text).has_value()) << note.text;
  }
  const std::string with_nul("a\n/x/a.pm\0/b/a.pm", 17);
  EXPECT_FALSE(read_loaded_note(Language::perl, with_nul).has_value());
  EXPECT_FALSE(read_loaded_note(Language::perl,
                                std::string(300, 'a') + "\n/x/" + std::string(300, 'a') + ".pm"));
}

TEST(FoldersNote, gives_absolute_paths_and_not_too_many) {
  std::vector<std::string> folders;
  read_folders_note("/a\nb\n\n/c", folders);
  read_folders_note("/d", folders);
  EXPECT_EQ(folders, (std::vector<std::string>{"/a", "/c", "/d"}));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "/x\n";
  read_folders_note(many, folders);
  EXPECT_EQ(folders.size(), kModuleFoldersMax);
}

// A folder of modules that root owns, if root runs the test. Otherwise this user owns it, and then
// alice is a different user, too.
class Ahead : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/learned_test_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    top_ = name;
    ::chmod(name, 0755);
    for (const char* folder : {"/modules", "/modules/deep", "/uploads"}) {
      std::filesystem::create_directory(top_ + folder);
    }
    for (const char* file : {"/modules/good.pm", "/uploads/evil.pm"}) {
      std::ofstream(top_ + file) << "1;\n";
    }
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  std::optional<std::string> judge(const std::string& file,
                                   config::Learn learn = config::Learn::installed) const {
    const limits::Identity alice{.name = "alice", .uid = 4242, .gid = 4242, .groups = {}};
    return why_not_ahead({"x", top_ + file}, {top_ + "/modules", top_ + "/gone"}, learn, alice);
  }
  void link(const std::string& to, const std::string& name) const {
    std::filesystem::create_symlink(top_ + to, top_ + name);
  }

  std::string top_;
};

TEST_F(Ahead, is_what_lies_where_modules_are) {
  EXPECT_EQ(judge("/modules/good.pm"), std::nullopt);
  EXPECT_EQ(judge("/modules/good.pm", config::Learn::all), std::nullopt);
}

TEST_F(Ahead, is_nothing_of_elsewhere) {
  EXPECT_NE(judge("/uploads/evil.pm"), std::nullopt);
  EXPECT_NE(judge("/modules/../uploads/evil.pm"), std::nullopt);
  EXPECT_NE(judge("/modules/deep/../../uploads/evil.pm"), std::nullopt);
  EXPECT_NE(judge("/modules/none.pm"), std::nullopt);
  EXPECT_NE(judge("/modules/deep"), std::nullopt) << "a folder";
}

TEST_F(Ahead, is_nothing_that_looks_as_if_it_lay_there) {
  std::filesystem::create_directory(top_ + "/modules2");
  std::ofstream(top_ + "/modules2/x.pm") << "1;\n";
  EXPECT_NE(judge("/modules2/x.pm"), std::nullopt);
}

TEST_F(Ahead, is_nothing_that_all_may_write) {
  ::chmod((top_ + "/modules/good.pm").c_str(), 0666);
  EXPECT_NE(judge("/modules/good.pm"), std::nullopt);
  EXPECT_NE(judge("/modules/good.pm", config::Learn::all), std::nullopt);
  ::chmod((top_ + "/modules/good.pm").c_str(), 0644);
  ::chmod((top_ + "/modules").c_str(), 0777);
  EXPECT_NE(judge("/modules/good.pm"), std::nullopt);
}

TEST_F(Ahead, is_a_link_only_to_what_is_as_safe) {
  link("/uploads/evil.pm", "/modules/linked.pm");
  EXPECT_EQ(judge("/modules/linked.pm"), std::nullopt);
  ::chmod((top_ + "/uploads").c_str(), 0777);
  EXPECT_NE(judge("/modules/linked.pm"), std::nullopt);
  link("/uploads", "/modules/folder");
  EXPECT_NE(judge("/modules/folder/evil.pm"), std::nullopt) << "the folder leads out";
}

TEST_F(Ahead, is_nothing_of_the_program_s_user_but_with_learn_all) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown((top_ + "/modules/good.pm").c_str(), 4242, 4242), 0);
  EXPECT_NE(judge("/modules/good.pm"), std::nullopt);
  EXPECT_EQ(judge("/modules/good.pm", config::Learn::all), std::nullopt);
}

}  // namespace
}  // namespace modules
