// Where the secrets are in a text that may be anything: a query, a URL, a form, a header's value.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace journal {

// A field's name, where in the text its value is, and what is written over each of its bytes.
struct Field {
  std::string name;
  std::size_t begin = 0;
  std::size_t length = 0;
  char with = 'x';
};

// Whether a field with that name is secret.
using Wanted = std::function<bool(std::string_view)>;

// The values after wanted names in NAME=VALUE and NAME: VALUE, encoded in any way and inside of
// other values (next=/x%3Fpassword%3D1), and the user and password of URLs ("userinfo"). A value
// ends at the next "&", or at a ";" before another NAME=; inside another value that is only a
// guess, so such a value includes everything up to there. After ":" it ends as it does in JSON, or
// with its line.
std::vector<Field> text_fields(std::string_view text, const Wanted& wanted);

}  // namespace journal
