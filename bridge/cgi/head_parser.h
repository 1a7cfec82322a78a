// Reads a whole response head. response_head.h finds where the head ends; this interprets it.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cgi/header_field.h"
#include "cgi/response_head.h"

namespace cgi {

// Used once for one head. The views in the head point into bytes and into rewritten, which belong
// to the caller and must outlive the head.
class HeadParser {
 public:
  // Rules that do not come from the program. reserved_names: fields with these names are dropped.
  struct Rules {
    const std::vector<ReservedName>& reserved_names;
    bool server_redirects = true;  // the web server follows a local redirect (RFC 3875 6.2.2)
  };
  HeadParser(base::ByteView bytes, ResponseHead& head, std::string& rewritten, const Rules& rules)
      : bytes_(bytes), head_(head), rewritten_(rewritten), rules_(rules) {}

  // bytes must end with the head's blank line. With HeadFault::none, head is filled.
  HeadFault parse();

 private:
  enum class Verdict { keep, drop, status_is_bad };

  Verdict take_nph(std::string_view status_text);
  void survey();
  void note_last(const HeaderField& field);
  void read_connection(std::string_view names);
  Verdict judge(std::string_view line);
  Verdict judge_field(const HeaderField& field);
  Verdict judge_status(const HeaderField& field);
  Verdict judge_length(const HeaderField& field);
  Verdict drop(std::string_view why);
  bool is_last(std::size_t own, const HeaderField& field) const;
  bool belongs_to_connection(std::string_view name) const;
  void drop_line(std::string_view line, std::size_t start, std::size_t end);
  void separate_reason(std::string_view status);
  void put_status_last(std::string_view added);
  void replace(std::size_t start, std::size_t end, std::string_view with);
  void finish();

  base::ByteView bytes_;
  ResponseHead& head_;
  std::string& rewritten_;
  const Rules rules_;
  // Named by the head's Connection fields. They may be as many as the head's fields, and a head
  // must not cost the product of both.
  std::set<std::string_view, NameBefore> connection_names_;
  // Of Status, Location, Content-Type and Content-Length: where the last one that counts begins;
  // null: there is none.
  std::array<const char*, 4> last_{};
  std::string_view why_;    // the current line is dropped
  std::size_t copied_ = 0;  // how much of bytes_ rewritten_ covers, once something has changed
  bool is_rewritten_ = false;
  std::size_t fields_ = 0;
  bool has_status_field_ = false;
  bool has_status_ = false;
  bool has_location_ = false;
  bool has_type_ = false;
};

}  // namespace cgi
