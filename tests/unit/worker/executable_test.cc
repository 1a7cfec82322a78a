#include "worker/executable.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "router/elf_file.h"
#include "worker/wasm_words.h"

namespace worker {
namespace {

constexpr std::string_view kPath = "/usr/local/bin:/usr/bin:/bin";

class ExecutableTest : public testing::Test {
 protected:
  ExecutableTest() {
    char name[] = "/tmp/executable_test.XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~ExecutableTest() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content, mode_t mode = 0755) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
    return path;
  }

  std::string folder_;
};

using Words = std::vector<std::string>;

TEST_F(ExecutableTest, a_native_program_is_executed_itself) {
  const Executable executable = inspect("/bin/true", kPath);
  EXPECT_EQ(executable.file, "/bin/true");
  EXPECT_EQ(executable.argv, Words{"/bin/true"});
  EXPECT_EQ(executable.cold_reason, "");
  EXPECT_EQ(deepest_level(executable, config::Level::compiled), config::Level::linked);
}

// An executable with a loader (or without one), and with notes of these owners.
std::string elf_with_notes(const std::vector<std::string>& owners, bool has_loader) {
  const std::string loader("/lib64/ld-linux-x86-64.so.2\0", 28);
  std::string notes;
  for (const std::string& owner : owners) {
    const Elf64_Nhdr head{
        .n_namesz = static_cast<Elf64_Word>(owner.size()), .n_descsz = 5, .n_type = 4};
    notes.append(reinterpret_cast<const char*>(&head), sizeof head);
    notes += owner + std::string(-owner.size() & 3, '\0') + "12345" + std::string(3, '\0');
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = router::kOwnMachine;
  header.e_phoff = sizeof header;
  header.e_phnum = has_loader ? 2 : 1;
  Elf64_Phdr segments[2]{};
  const std::size_t content = sizeof header + header.e_phnum * sizeof(Elf64_Phdr);
  segments[0].p_type = PT_NOTE;
  segments[0].p_offset = content;
  segments[0].p_filesz = notes.size();
  segments[1].p_type = PT_INTERP;
  segments[1].p_offset = content + notes.size();
  segments[1].p_filesz = loader.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(segments), header.e_phnum * sizeof(Elf64_Phdr));
  return bytes + notes + loader;
}

TEST_F(ExecutableTest, what_go_s_linker_has_made_can_stop_deeper_whatever_else_it_is) {
  using namespace std::string_literals;
  if (router::kOwnMachine != EM_X86_64) GTEST_SKIP() << "the way in is for x86-64";
  const std::string go = "Go\0\0"s, gnu = "GNU\0"s;
  for (const bool has_loader : {true, false}) {
    const auto language = [&](const std::vector<std::string>& owners) {
      return inspect(file("go", elf_with_notes(owners, has_loader)), kPath);
    };
    const Executable executable = language({gnu, go});
    EXPECT_EQ(executable.language, Language::go);
    EXPECT_EQ(executable.is_static, !has_loader);
    EXPECT_EQ(deepest_level(executable, config::Level::compiled), config::Level::compiled);
    EXPECT_EQ(deepest_level(executable, config::Level::linked), config::Level::linked);
    EXPECT_EQ(zygote_argv(executable, config::Level::compiled, "/a", {}), executable.argv);
    EXPECT_FALSE(runs_again(executable.language, config::Level::compiled));
    EXPECT_EQ(language({go}).language, Language::go);
    EXPECT_EQ(language({gnu, gnu}).language, Language::none);
    EXPECT_EQ(language({"Gopher"}).language, Language::none);
    EXPECT_EQ(language({}).language, Language::none);
  }
}

TEST_F(ExecutableTest, notes_may_be_damaged) {
  using namespace std::string_literals;
  const std::string damaged = elf_with_notes({"GNU\0"s, "Go\0\0"s}, true);
  for (std::size_t at = 0; at < damaged.size(); ++at) {
    for (const char byte : {'\0', '\xff'}) {
      std::string changed = damaged;
      changed[at] = byte;
      inspect(file("damaged", changed), kPath);
    }
    inspect(file("cut", damaged.substr(0, at)), kPath);
  }
}

TEST_F(ExecutableTest, a_script_runs_in_its_interpreter_as_the_kernel_would_start_it) {
  const std::string script = file("x.sh", "#!/bin/bash -e\n");
  const Executable executable = inspect(script, kPath);
  EXPECT_EQ(executable.file, "/bin/bash");
  EXPECT_EQ(executable.argv, (Words{"/bin/bash", "-e", script}));
  EXPECT_EQ(executable.language, Language::none);
}

TEST_F(ExecutableTest, env_is_seen_through_to_the_interpreter) {
  const std::string script = file("x.pl", "#!/usr/bin/env perl\n");
  const Executable executable = inspect(script, kPath);
  EXPECT_EQ(executable.file, "/usr/bin/perl");
  EXPECT_EQ(executable.argv, (Words{"perl", script}));
  EXPECT_EQ(executable.language, Language::perl);
}

TEST_F(ExecutableTest, a_perl_zygote_keeps_the_switches_of_the_first_line) {
  const std::string script = file("x.pl", "#!/usr/bin/perl -wT\n");
  const Executable executable = inspect(script, kPath);
  EXPECT_EQ(zygote_argv(executable, config::Level::compiled, "/a", {}),
            (Words{"/usr/bin/perl", "-I/a/perl", "-MCGIBridge", "-wT", script}));
  EXPECT_EQ(zygote_argv(executable, config::Level::linked, "/a", {}),
            (Words{"/usr/bin/perl", "-wT", script}));
}

TEST_F(ExecutableTest, a_perl_zygote_gets_the_modules_to_load) {
  const Executable executable = inspect(file("x.pl", "#!/usr/bin/perl\n"), kPath);
  const Words argv =
      zygote_argv(executable, config::Level::compiled, "/a", {"DBD::SQLite", "JSON"});
  EXPECT_EQ(argv[2], "-MCGIBridge=DBD::SQLite,JSON");
}

TEST_F(ExecutableTest, a_tcl_zygote_gets_its_library_and_the_modules_to_load_by_its_environment) {
  if (!std::filesystem::exists("/usr/bin/tclsh8.6")) GTEST_SKIP() << "tclsh8.6 is not installed";
  const std::string script = file("x.tcl", "#!/usr/bin/tclsh8.6\n");
  const Executable executable = inspect(script, kPath);
  EXPECT_EQ(executable.language, Language::tcl);
  EXPECT_EQ(zygote_argv(executable, config::Level::compiled, "/a", {"http/2.9"}),
            (Words{"/usr/bin/tclsh8.6", script}));
  using Variables = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(zygote_variables(executable, config::Level::compiled, "/a", {"http/2.9", "clock.tcl"}),
            (Variables{{"TCL_LIBRARY", "/a/tcl"}, {"CGIBRIDGE_PRELOAD", "http/2.9,clock.tcl"}}));
  EXPECT_EQ(zygote_variables(executable, config::Level::linked, "/a", {}), Variables{});
}

TEST_F(ExecutableTest, a_tclsh_of_another_version_is_no_tcl_program) {
  std::filesystem::copy_file("/bin/true", folder_ + "/tclsh");
  const Executable executable = inspect(file("x.tcl", "#!" + folder_ + "/tclsh\n"), kPath);
  EXPECT_EQ(executable.language, Language::none);
}

TEST_F(ExecutableTest, a_python_zygote_gets_the_modules_to_load) {
  const std::string script = file("x.py", "#!/usr/bin/python3\n");
  const Executable executable = inspect(script, kPath);
  EXPECT_EQ(executable.language, Language::python);
  EXPECT_EQ(zygote_argv(executable, config::Level::compiled, "/a", {"json", "sqlite3"}),
            (Words{"/usr/bin/python3", "/a/python/start.py", "--preload=json,sqlite3", script}));
}

TEST_F(ExecutableTest, node_gets_its_adapter_before_modules_that_its_first_line_names) {
  const Executable executable = inspect(file("a.js", "#!/usr/bin/env -S " +
                                                         file("node",
                                                              "\x7f"
                                                              "ELF") +
                                                         " --require ./own.js\n"),
                                        kPath);
  EXPECT_EQ(executable.language, Language::node);
  const config::Level level = deepest_level(executable, config::Level::compiled);
  EXPECT_EQ(level, config::Level::compiled);
  EXPECT_TRUE(may_be_ahead(executable.language, level));
  EXPECT_EQ(zygote_argv(executable, level, "/a", {}),
            (Words{folder_ + "/node", "--require", "/a/node/start.js", "--min-semi-space-size=16",
                   "--require", "./own.js", folder_ + "/a.js"}));
}

TEST_F(ExecutableTest, java_gets_its_agent_before_the_words_of_its_first_line) {
  const std::string java = file("java", std::string("\x7f") + "ELF");
  const std::string script = file("a", "#!/usr/bin/env -S " + java + " --source 17\n");
  const Executable executable = inspect(script, kPath);
  EXPECT_EQ(executable.language, Language::java);
  const config::Level level = deepest_level(executable, config::Level::compiled);
  EXPECT_EQ(level, config::Level::booted);
  EXPECT_TRUE(may_be_ahead(executable.language, level));
  EXPECT_FALSE(runs_again(executable.language, level));
  EXPECT_EQ(zygote_argv(executable, level, "/a", {}),
            (Words{java, "-agentpath:/a/libcgibridge_java.so", "-XX:+PerfDisableSharedMem",
                   "--source", "17", script}));
  EXPECT_EQ(zygote_argv(executable, config::Level::linked, "/a", {}), executable.argv);
}

TEST_F(ExecutableTest, env_looks_for_the_interpreter_where_its_own_assignment_of_path_says) {
  const std::string interpreter = file("own-interpreter",
                                       "\x7f"
                                       "ELF");
  const std::string line = "#!/usr/bin/env -S PATH=/nowhere:" + folder_ + " own-interpreter\n";
  EXPECT_EQ(inspect(file("x", line), kPath).file, interpreter);
}

TEST_F(ExecutableTest, node_before_main_is_forked_like_any_program) {
  const Executable executable = inspect(file("a.js", "#!/usr/bin/nodejs\n"), kPath);
  const config::Level level = deepest_level(executable, config::Level::linked);
  EXPECT_EQ(level, config::Level::linked);
  EXPECT_FALSE(may_be_ahead(executable.language, level));
}

TEST_F(ExecutableTest, only_node_has_a_checkpoint_between_linked_and_compiled) {
  const Executable executable = inspect(file("a.pl", "#!/usr/bin/perl\n"), kPath);
  EXPECT_EQ(deepest_level(executable, config::Level::booted), config::Level::linked);
  EXPECT_EQ(shallower_level(Language::perl, config::Level::compiled), config::Level::linked);
  const Executable node = inspect(file("a.js", "#!/usr/bin/node\n"), kPath);
  EXPECT_EQ(deepest_level(node, config::Level::booted), config::Level::booted);
  EXPECT_TRUE(may_be_ahead(Language::node, config::Level::booted));
  EXPECT_EQ(shallower_level(Language::node, config::Level::compiled), config::Level::booted);
  EXPECT_EQ(shallower_level(Language::node, config::Level::booted), config::Level::linked);
  EXPECT_EQ(shallower_level(Language::none, config::Level::linked), config::Level::linked);
}

TEST_F(ExecutableTest, a_ruby_zygote_gets_its_adapter_in_front_of_the_first_line_s_switches) {
  const std::string ruby = file("ruby3.1", std::string("\x7f") + "ELF");
  const std::string script = file("x.rb", "#!" + ruby + " -rset\n");
  const Executable executable = inspect(script, kPath);
  EXPECT_EQ(executable.language, Language::ruby);
  EXPECT_EQ(
      zygote_argv(executable, config::Level::compiled, "/a", {"json", "net/http"}),
      (Words{ruby, "-I/a/ruby/preload=json,net/http", "-r/a/ruby/start.rb", "-rset", script}));
}

TEST_F(ExecutableTest, only_adapters_that_can_run_a_script_again_keep_its_process) {
  for (const Language language :
       {Language::perl, Language::python, Language::ruby, Language::tcl}) {
    EXPECT_TRUE(runs_again(language, config::Level::compiled));
    EXPECT_FALSE(runs_again(language, config::Level::linked));
  }
  EXPECT_TRUE(runs_again(Language::node, config::Level::booted));
  EXPECT_FALSE(runs_again(Language::none, config::Level::linked));
}

TEST_F(ExecutableTest, a_script_whose_interpreter_is_a_script_gets_both_in_front) {
  const std::string inner = file("inner", "#!/bin/sh\n");
  const std::string outer = file("outer", "#!" + inner + " -x\n");
  const Executable executable = inspect(outer, kPath);
  EXPECT_EQ(executable.file, "/bin/sh");
  EXPECT_EQ(executable.argv, (Words{"/bin/sh", inner, "-x", outer}));
}

TEST_F(ExecutableTest, setuid_programs_are_cold) {
  const std::string program = folder_ + "/setuid";
  std::filesystem::copy_file("/bin/true", program);
  ::chmod(program.c_str(), 04755);
  EXPECT_NE(inspect(program, kPath).cold_reason.find("setuid"), std::string::npos);
}

TEST_F(ExecutableTest, what_is_neither_elf_nor_script_is_cold_and_says_so) {
  const std::string program = file("x", std::string(100, 'x'));
  EXPECT_TRUE(inspect(program, kPath).cold_reason.starts_with(program + " has no \"#!\" line"));
}

TEST_F(ExecutableTest, a_missing_interpreter_is_named) {
  const std::string script = file("x", "#!/usr/bin/env no-such-interpreter\n");
  EXPECT_NE(inspect(script, kPath).cold_reason.find("no-such-interpreter"), std::string::npos);
}

std::string wasm_module() {
  return std::string("\0asm\x01\0\0\0", 8);
}

TEST_F(ExecutableTest, webassembly_is_run_by_what_the_bridge_has_for_it) {
  const std::string runner = folder_ + "/cgibridge-wasm";
  std::filesystem::copy_file("/bin/true", runner);
  const config::ProgramSettings::Wasm wasm{.dirs = {{"/data", "/srv/a"}}, .read_only = {"/data"}};
  const RunBy run_by{.wasm = wasm_words(folder_, "/var/cache/x", wasm)};
  const std::string module = file("m", wasm_module(), 0644);
  const Executable executable = inspect(module, kPath, run_by);
  EXPECT_EQ(executable.file, runner);
  EXPECT_EQ(executable.language, Language::wasm);
  EXPECT_EQ(executable.cold_reason, "");
  EXPECT_EQ(deepest_level(executable, config::Level::compiled), config::Level::compiled);
  ASSERT_GT(executable.argv.size(), 4u);
  EXPECT_EQ(executable.interpreter_words, executable.argv.size() - 1);
  EXPECT_EQ(executable.argv.back(), module);
  EXPECT_EQ(executable.argv[1], "--dir=/data=/srv/a");
  EXPECT_EQ(executable.argv[2], "--read-only=/data");
  // The settings' own choice comes first.
  const Executable other = inspect(module, kPath, {.interpreter = "/bin/cat", .wasm = run_by.wasm});
  EXPECT_EQ(other.argv, (Words{"/bin/cat", module}));
  EXPECT_EQ(other.language, Language::none);
}

TEST_F(ExecutableTest, webassembly_without_a_runner_says_what_to_install) {
  const RunBy run_by{.wasm = wasm_words("/nowhere", "", {})};
  const Executable executable = inspect(file("m", wasm_module(), 0644), kPath, run_by);
  EXPECT_EQ(executable.language, Language::wasm);
  EXPECT_NE(executable.cold_reason.find("install the package cgibridge-wasm"), std::string::npos);
}

TEST_F(ExecutableTest, the_operators_ceiling_holds) {
  const Executable executable = inspect(file("x.pl", "#!/usr/bin/perl\n"), kPath);
  EXPECT_EQ(deepest_level(executable, config::Level::compiled), config::Level::compiled);
  EXPECT_EQ(deepest_level(executable, config::Level::linked), config::Level::linked);
}

}  // namespace
}  // namespace worker
