// Which values are secret, and how they are masked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "journal/entry.h"

namespace journal {

// A masked value keeps its length and is all "x": so lengths, quotes and separators around it stay
// right, and a masked request can be sent again. Masking works with what is there: if a text was
// cut, or does not match its type, whatever can be recognized is masked.
class Secrets {
 public:
  // more: names (of headers, cookies, fields, params) that are secret in addition to those that are
  // recognized by themselves.
  explicit Secrets(const std::vector<std::string>& more = {});

  // Whether a value with that name is secret. Case, "-" and "_" make no difference.
  bool is_secret(std::string_view name) const;

  // Each of these masks in place and returns the names of the masked values.
  using Masked = std::vector<std::string>;
  Masked mask_params(Params& params) const;
  Masked mask_body(std::string& body, std::string_view content_type) const;
  // "a=1&b=2": after the first "?" of a URL, or a whole query.
  Masked mask_url(std::string& url) const;
  Masked mask_query(std::string& query) const;

 private:
  std::vector<std::string> more_;  // as is_secret() compares them
};

}  // namespace journal
