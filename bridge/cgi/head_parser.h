// What a whole response head says. response_head.h finds where a head ends; this reads it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cgi/header_field.h"
#include "cgi/response_head.h"

namespace cgi {

// Used once for one head. The views in the head point into the bytes read and into rewritten,
// which are the caller's and must outlive the head.
class HeadParser {
 public:
  HeadParser(base::ByteView bytes, ResponseHead& head, std::string& rewritten)
      : bytes_(bytes), head_(head), rewritten_(rewritten) {}

  // bytes must end with the head's blank line. HeadFault::none: head is filled.
  HeadFault parse();

 private:
  enum class Verdict { keep, drop, status_is_bad };

  Verdict take_nph(std::string_view status_text);
  Verdict judge(std::string_view line);
  Verdict judge_field(const HeaderField& field);
  void drop_line(std::string_view line, std::size_t start, std::size_t end);
  void add_status(std::string_view status);
  void replace(std::size_t start, std::size_t end, std::string_view with);
  void finish();

  base::ByteView bytes_;
  ResponseHead& head_;
  std::string& rewritten_;
  std::size_t copied_ = 0;  // how much of bytes_ rewritten_ stands for, once something was changed
  bool is_rewritten_ = false;
  std::size_t fields_ = 0;
  bool has_status_ = false;
  bool has_location_ = false;
  bool has_type_ = false;
  bool has_length_ = false;
};

}  // namespace cgi
