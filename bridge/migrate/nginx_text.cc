#include "migrate/nginx_text.h"

#include <optional>

namespace migrate {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Parsed run() {
    Parsed parsed;
    read_block(parsed.directives, 0);
    if (!why_.empty()) return {.directives = {}, .why = why_, .line = line_at(text_, at_)};
    return parsed;
  }

 private:
  bool fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }

  bool at_end() const { return at_ >= text_.size(); }

  void skip_blanks_and_comments() {
    while (!at_end()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (is_blank(text_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  // A backslash hides the next byte; before quotes, backslashes and t, r, n it is removed.
  void take_escaped(std::string& word) {
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    constexpr std::string_view kPlain = "\"'\\", kNamed = "trn", kMeant = "\t\r\n";
    if (kPlain.find(next) != kPlain.npos) {
      word += next;
    } else if (kNamed.find(next) != kNamed.npos) {
      word += kMeant[kNamed.find(next)];
    } else {
      word.append(text_.substr(at_, 2));
    }
    at_ = std::min(at_ + 2, text_.size());
  }

  bool read_quoted(std::string& word) {
    const char quote = text_[at_];
    const std::size_t begin = at_++;
    while (!at_end() && text_[at_] != quote) {
      if (text_[at_] == '\\') {
        take_escaped(word);
      } else {
        word += text_[at_++];
      }
    }
    if (at_end()) {
      at_ = begin;
      return fail("a quote is not closed");
    }
    ++at_;
    if (at_end() || is_blank(text_[at_]) || text_[at_] == ';' || text_[at_] == '{' ||
        text_[at_] == ')')
      return true;
    return fail("a quoted word goes on after its quote");
  }

  void read_plain(std::string& word) {
    while (!at_end() && !is_blank(text_[at_]) && text_[at_] != ';') {
      const bool of_variable = text_[at_] == '{' && !word.empty() && word.back() == '$';
      if (text_[at_] == '{' && !of_variable) return;
      if (text_[at_] == '\\') {
        take_escaped(word);
      } else {
        word += text_[at_++];
      }
    }
  }

  // The text of a Lua block, up to the brace that ends it.
  bool skip_lua() {
    const std::size_t begin = at_;
    for (unsigned depth = 0; !at_end(); ++at_) {
      const char c = text_[at_];
      const bool is_comment = text_.substr(at_, 2) == "--";
      if (text_.substr(at_ + (is_comment ? 2 : 0), 2) == "[[") {
        at_ = text_.find("]]", at_);
        if (at_ != text_.npos) ++at_;
      } else if (is_comment) {
        at_ = text_.find('\n', at_);
      } else if (c == '"' || c == '\'') {
        for (++at_; !at_end() && text_[at_] != c; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && depth-- == 0) {
        return true;
      }
      if (at_ == text_.npos) break;
    }
    at_ = begin;
    return fail("a Lua block is not closed");
  }

  // Ends a directive whose words have been read: by a semicolon, or by a block.
  bool read_rest(Directive& directive, unsigned depth) {
    if (at_end()) return fail("the file ends within a directive");
    const char end = text_[at_++];
    if (end == '{') {
      directive.is_block = true;
      if (directive.name.ends_with("_by_lua_block")) {
        if (!skip_lua()) return false;
      } else if (!read_block(directive.children, depth + 1)) {
        return false;
      }
      directive.body_end = at_;
      ++at_;  // the closing brace
    }
    directive.end = at_;
    return true;
  }

  bool read_directive(Directive& directive, unsigned depth) {
    directive.begin = at_;
    directive.line = line_at(text_, at_);
    for (std::size_t words = 0;; ++words) {
      skip_blanks_and_comments();
      if (at_end() || text_[at_] == ';' || text_[at_] == '{') break;
      if (text_[at_] == '}') return fail("unexpected \"}\": a semicolon is missing before it");
      std::string word;
      if (text_[at_] == '"' || text_[at_] == '\'') {
        if (!read_quoted(word)) return false;
      } else {
        read_plain(word);
      }
      if (words == 0) {
        directive.name = std::move(word);
      } else {
        directive.args.push_back(std::move(word));
      }
    }
    return read_rest(directive, depth);
  }

  // Up to the brace that ends the block, or, at depth 0, to the end of the text.
  bool read_block(std::vector<Directive>& into, unsigned depth) {
    if (depth > kDepthMax) return fail("blocks are nested too deeply");
    for (;;) {
      skip_blanks_and_comments();
      if (at_end()) return depth == 0 || fail("the file ends within a block: a \"}\" is missing");
      if (text_[at_] == '}') return depth > 0 || fail("unexpected \"}\"");
      if (text_[at_] == ';' || text_[at_] == '{') {
        return fail(std::string("unexpected \"") + text_[at_] + "\"");
      }
      Directive directive;
      if (!read_directive(directive, depth)) return false;
      into.push_back(std::move(directive));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string why_;
};

}  // namespace

Parsed parse_nginx(std::string_view text) {
  return Reader(text).run();
}

}  // namespace migrate
