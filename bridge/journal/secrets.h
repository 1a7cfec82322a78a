// Which values are secret, and how they are masked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "journal/entry.h"
#include "journal/secret_text.h"

namespace journal {

// A masked value keeps its length and is all "x" (a number: all "1"): so lengths, quotes and
// separators around it stay right, and a masked request can be sent again. Masking works with what
// is there: if a text was cut, or does not match its type, whatever can be recognized is masked; in
// doubt, more than the secret.
class Secrets {
 public:
  // more: names (of headers, cookies, fields, params) that are secret in addition to those that are
  // recognized by themselves.
  explicit Secrets(const std::vector<std::string>& more = {});

  // Whether a value with that name is secret. Case, blanks and punctuation make no difference.
  bool is_secret(std::string_view name) const;

  // Each of these masks in place and returns the names of the masked values.
  using Masked = std::vector<std::string>;
  Masked mask_params(Params& params) const;
  Masked mask_body(std::string& body, std::string_view content_type) const;
  // A text that may be anything: a URL, a query, a header's value.
  Masked mask_text(std::string& text) const;

 private:
  Masked mask_fields(std::string& text, const std::vector<Field>& fields) const;
  Wanted wanted() const {
    return [this](std::string_view name) { return is_secret(name); };
  }

  std::vector<std::string> more_;  // as is_secret() compares them
};

}  // namespace journal
