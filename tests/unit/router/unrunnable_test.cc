#include "router/unrunnable.h"

#include "router/elf_file.h"
#include "temp_folder.h"

namespace router {
namespace {

using namespace std::string_literals;

constexpr std::string_view kPath = "/usr/local/bin:/usr/bin:/bin";

// The message about a file with this text.
std::string said_of(const std::string& text, mode_t mode = 0755) {
  const TempFolder folder;
  return why_unrunnable(folder.file("x", mode, text), kPath);
}

bool has(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

TEST(WhyUnrunnable, says_nothing_of_what_can_be_executed) {
  EXPECT_EQ(said_of("#!/bin/sh\n"), "");
  EXPECT_EQ(said_of("#!/bin/sh"), "");
  EXPECT_EQ(said_of("#! /usr/bin/env -S LANG=C sh -e\n"), "");
  EXPECT_EQ(why_unrunnable("/bin/true", kPath), "");
}

TEST(WhyUnrunnable, tells_each_kind_apart) {
  EXPECT_TRUE(has(said_of(""), "is empty"));
  EXPECT_TRUE(has(said_of("echo\n"), "no \"#!\" line"));
  EXPECT_TRUE(has(said_of("  <?php\n"), "PHP"));
  EXPECT_TRUE(has(said_of("\0asm\1\0\0\0"s), "WebAssembly"));
  EXPECT_TRUE(has(said_of("\xEF\xBB\xBF#!/bin/sh\n"), "byte order mark"));
  EXPECT_TRUE(has(said_of("\xFE\xFF\0#\0!"s), "UTF-16"));
  EXPECT_TRUE(has(said_of(" #!/bin/sh\n"), "in front of its \"#!\""));
  EXPECT_TRUE(has(said_of("#!\n/bin/sh\n"), "names no interpreter"));
  EXPECT_TRUE(has(said_of("#!/" + std::string(300, 'x')), "too long"));
  EXPECT_TRUE(has(said_of("#!/bin/sh\r\n"), "CR LF"));
  EXPECT_TRUE(has(said_of("#!/usr/bin/env sh\r\n"), "CR LF"));
  EXPECT_TRUE(has(said_of("#!/no/such/sh\n"), "does not exist"));
  EXPECT_TRUE(has(said_of("#!/usr/bin/env no-such-name\n"), "\"no-such-name\" in PATH"));
  EXPECT_TRUE(has(said_of("#!/bin\n"), "is a folder"));
  EXPECT_TRUE(has(said_of("#!/bin/sh\n", 0644), "not executable"));
  EXPECT_TRUE(has(said_of("\x7f"
                          "ELF"),
                  "cut off"));
  EXPECT_TRUE(has(why_unrunnable("/tmp", kPath), "is a folder"));
  EXPECT_TRUE(has(why_unrunnable("/no/such", kPath), "does not exist"));
}

TEST(WhyUnrunnable, knows_this_machine_from_others) {
  Elf64_Ehdr header{};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_type = ET_EXEC;
  header.e_machine = kOwnMachine;
  const auto bytes = [&] { return std::string(reinterpret_cast<char*>(&header), sizeof header); };
  EXPECT_EQ(said_of(bytes()), "");
  header.e_type = ET_REL;
  EXPECT_TRUE(has(said_of(bytes()), "object file"));
  header.e_machine = EM_S390;
  EXPECT_TRUE(has(said_of(bytes()), "another architecture, s390"));
}

TEST(WhyUnrunnable, follows_interpreters_that_are_scripts_and_names_the_one_that_is_wrong) {
  const TempFolder folder;
  const std::string inner = folder.file("inner", 0755, "#!/no/such/sh\n");
  const std::string outer = folder.file("outer", 0755, "#!" + inner + "\n");
  const std::string said = why_unrunnable(outer, kPath);
  EXPECT_TRUE(has(said, outer) && has(said, "/no/such/sh")) << said;
  folder.file("inner", 0755, "#!" + outer + "\n");
  EXPECT_TRUE(has(why_unrunnable(outer, kPath), "too many interpreters"));
}

TEST(WhyUnrunnable, looks_at_the_interpreter_of_the_settings_instead_of_the_first_line) {
  const TempFolder folder;
  const std::string page = folder.file("x.php", 0644, "<?php\n");
  EXPECT_EQ(why_unrunnable(page, kPath, "/bin/sh"), "");
  EXPECT_TRUE(
      has(why_unrunnable(page, kPath, "/no/such"), "interpreter /no/such (of the settings)"));
}

TEST(WhyUnrunnable, shows_no_control_bytes) {
  EXPECT_EQ(said_of("#!/no/\x1b[31m\n").find('\x1b'), std::string::npos);
}

TEST(SearchPathIn, finds_the_value_in_an_environment) {
  EXPECT_EQ(search_path_in("XPATH=/no\0PATH=/a:/b\0"s), "/a:/b");
  EXPECT_EQ(search_path_in("A=1\0"s), "");
  EXPECT_EQ(search_path_in(""), "");
}

}  // namespace
}  // namespace router
