#include "router/first_line.h"

#include <gtest/gtest.h>

namespace {

using namespace std::literals;
using router::Lookup;

struct LineCase {
  std::string start;
  std::string interpreter;  // "" = no first line
  std::optional<std::string> argument;
};

TEST(FirstLine, is_read_as_the_kernel_reads_it) {
  const std::string path_of_252 = "/" + std::string(251, 'p');
  const LineCase cases[] = {
      {"#!/bin/sh\necho", "/bin/sh", {}},
      {"#! \t/bin/sh \t\n", "/bin/sh", {}},
      {"#!/bin/sh", "/bin/sh", {}},
      {"#!/usr/bin/perl -w -T \n", "/usr/bin/perl", "-w -T"},
      {"#!/usr/bin/perl\t-w\n", "/usr/bin/perl", "-w"},
      {"#!/usr/bin/perl -T\r\n", "/usr/bin/perl", "-T\r"},
      {"#!/bin/sh\r\n", "/bin/sh\r", {}},
      {"#!sh\n", "sh", {}},
      {"#!/bin/sh\0x\n"s, "/bin/sh", {}},
      {"#!/bin/sh a\0x\n"s, "/bin/sh", "a"},
      {"", "", {}},
      {"#", "", {}},
      {"#!", "", {}},
      {"#!\n/bin/sh", "", {}},
      {"#! \t \n", "", {}},
      {" #!/bin/sh\n", "", {}},
      {"\x7f"
       "ELF",
       "",
       {}},
      {"#!" + path_of_252 + "\nmore", path_of_252, {}},
      {"#!" + path_of_252 + "p\nmore", path_of_252 + "p", {}},
      {"#!" + path_of_252 + "pp\nmore", "", {}},
      {"#!" + path_of_252 + " \n", path_of_252, {}},
      {"#!" + path_of_252 + "p x\n", path_of_252 + "p", {}},
      {"#!" + path_of_252 + "p", path_of_252 + "p", {}},
      {"#!/bin/sh " + std::string(300, 'a') + "\n", "/bin/sh", std::string(245, 'a')},
      {"#!" + std::string(300, ' '), "", {}},
  };
  for (const LineCase& c : cases) {
    SCOPED_TRACE(c.start);
    const auto line = router::parse_first_line(c.start);
    ASSERT_EQ(line.has_value(), !c.interpreter.empty());
    if (!line) continue;
    EXPECT_EQ(line->interpreter, c.interpreter);
    EXPECT_EQ(line->argument, c.argument);
  }
}

struct InterpreterCase {
  std::string line;
  std::string interpreter;  // "" = not seen through
  Lookup lookup = Lookup::path;
  std::vector<std::string> words = {};
  std::vector<std::string> assignments = {};
};

TEST(Interpreter, is_seen_through_env) {
  const InterpreterCase cases[] = {
      {"/bin/sh", "/bin/sh"},
      {"/usr/bin/perl -w -T", "/usr/bin/perl", Lookup::path, {"-w -T"}},
      {"/usr/bin/env perl", "perl", Lookup::search_path},
      {"/bin/env /opt/perl", "/opt/perl"},
      // env looks for a program with this very name.
      {"/usr/bin/env perl -w", "perl -w", Lookup::search_path},
      {"/usr/bin/env -S perl -w -T", "perl", Lookup::search_path, {"-w", "-T"}},
      {"/usr/bin/env -Sperl", "perl", Lookup::search_path},
      {"/usr/bin/env -vS perl", "perl", Lookup::search_path},
      {"/usr/bin/env --split-string=perl -w", "perl", Lookup::search_path, {"-w"}},
      {"/usr/bin/env -S A=1 B= python3 -u", "python3", Lookup::search_path, {"-u"}, {"A=1", "B="}},
      {"/usr/bin/env -S -- perl a=b", "perl", Lookup::search_path, {"a=b"}},
      {"/usr/bin/env -S perl 'a b' \"c d\"e '' # f",
       "perl",
       Lookup::search_path,
       {"a b", "c de", ""}},
      {"/usr/bin/env -S perl\\_a \"b\\_c\" d\\te 'f\\n' g#h\\c i",
       "perl",
       Lookup::search_path,
       {"a", "b c", "d\te", "f\\n", "g#h"}},
      {"/usr/bin/env -S perl \\\"\\#\\$\\'\\\\ '\\\\\\''",
       "perl",
       Lookup::search_path,
       {"\"#$'\\", "\\'"}},
      {"/usr/bin/env", "/usr/bin/env"},
      {"/usr/bin/env -i perl", ""},
      {"/usr/bin/env -S -i perl", ""},
      {"/usr/bin/env -", ""},
      {"/usr/bin/env A=1", ""},
      {"/usr/bin/env -S", ""},
      {"/usr/bin/env -S ''", ""},
      {"/usr/bin/env -S perl ${X}", ""},
      {"/usr/bin/env -S perl 'a", ""},
      {"/usr/bin/env -S perl \\q", ""},
      {"/usr/bin/env -S perl a\\", ""},
      {"/usr/bin/env -S perl \"a\\c\"", ""},
  };
  for (const InterpreterCase& c : cases) {
    SCOPED_TRACE(c.line);
    const auto line = router::parse_first_line("#!" + c.line + "\n");
    ASSERT_TRUE(line);
    const auto interpreter = router::interpreter_of(*line);
    ASSERT_EQ(interpreter.ok(), !c.interpreter.empty());
    if (!interpreter) {
      EXPECT_FALSE(interpreter.error().message.empty());
      continue;
    }
    EXPECT_EQ(interpreter.value().interpreter, c.interpreter);
    EXPECT_EQ(interpreter.value().lookup, c.lookup);
    EXPECT_EQ(interpreter.value().words, c.words);
    EXPECT_EQ(interpreter.value().assignments, c.assignments);
  }
}

}  // namespace
