// Which values are secret, and how they are made unreadable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "journal/entry.h"

namespace journal {

// A masked value is as long as it was, all "x": so lengths, quotes and separators around it stay
// right, and a masked request can be sent again. Masking works on what is there: of a text that was
// cut, or is not as its type says, what can be told apart is masked.
class Secrets {
 public:
  // more: names (of headers, cookies, fields, params) that are secret beside those that say so by
  // themselves.
  explicit Secrets(const std::vector<std::string>& more = {});

  // Whether a value of that name is secret. Case, "-" and "_" make no difference.
  bool is_secret(std::string_view name) const;

  // Each of these masks in place and returns the names of what it masked.
  using Masked = std::vector<std::string>;
  Masked mask_params(Params& params) const;
  Masked mask_body(std::string& body, std::string_view content_type) const;
  // "a=1&b=2": behind the first "?" of a URL, or the whole of a query.
  Masked mask_url(std::string& url) const;
  Masked mask_query(std::string& query) const;

 private:
  std::vector<std::string> more_;  // as is_secret() compares them
};

}  // namespace journal
