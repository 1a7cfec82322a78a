// A web server's configuration as a tree of directives: pure values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace migrate {

// A directive, or a block of them. Offsets are bytes in the text of its own file.
struct Directive {
  std::string name;                   // as written
  std::vector<std::string> args;      // without their quotes
  std::size_t file = 0;               // its place in Tree::files
  unsigned line = 1;                  // from 1
  std::size_t begin = 0;              // of its first byte
  std::size_t end = 0;                // after its last one, which ends the block if it is one
  bool is_block = false;              // it has a body, which may be empty
  std::size_t body_end = 0;           // of a block: where a last line of the body can be inserted
  std::vector<Directive> children{};  // of a block; of an include: what the files have
};

// What a parser made of one text.
struct Parsed {
  std::vector<Directive> directives;
  std::string why;    // why it is not one of the server's files; empty: it is
  unsigned line = 0;  // where; 0: not known
};

struct SourceFile {
  std::string path;  // absolute, without links
  std::string text;
};

// Something that could not be read, and where.
struct Problem {
  std::string file;
  unsigned line = 0;  // 0: the file as a whole
  std::string why;    // with what that means for the rest
};

struct Tree {
  std::vector<SourceFile> files;      // the main one first
  std::vector<Directive> directives;  // of the main one, others where they are included
  std::vector<Problem> problems;
};

// The number of the line that the byte at offset is in, from 1.
unsigned line_at(std::string_view text, std::size_t offset);

// The blanks at the beginning of the line that the byte at offset is in.
std::string indent_at(std::string_view text, std::size_t offset);

// Whether two names are the same without regard to the case of ASCII letters.
bool same_name(std::string_view one, std::string_view other);

}  // namespace migrate
