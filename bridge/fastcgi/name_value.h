// Name-value pairs (FastCGI 1.0 §3.4), as FCGI_PARAMS and FCGI_GET_VALUES carry them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fastcgi/wire.h"

namespace fastcgi {

struct NameValue {
  std::string_view name;
  std::string_view value;

  bool operator==(const NameValue&) const = default;
};

// pair: out was filled. end: all pairs were read. bad: the stream ends within a length, a name or a
// value; every later step is bad too.
enum class PairStep { pair, end, bad };

// Walks over a whole, assembled stream of pairs. Pairs are views into that stream. Names and values
// may contain any byte, and may be empty.
class NameValueDecoder {
 public:
  // stream is borrowed for the decoder's life.
  explicit NameValueDecoder(ByteView stream) : rest_(stream) {}

  PairStep next(NameValue& out);

 private:
  std::optional<std::size_t> read_length();

  ByteView rest_;
};

// Appends one pair. Lengths below 128 take one byte, others four; lengths of 2 GiB or more cannot
// be encoded and are a programmer error.
void append_name_value(std::string& out, std::string_view name, std::string_view value);

// A request's params: the bytes of its PARAMS stream and the pairs in them, in the order given,
// including repeated names. Moving it keeps every view into it valid. Besides its bytes it holds
// sizeof(NameValue) per pair; a pair takes at least two bytes.
class Params {
 public:
  Params() = default;
  Params(Params&&) noexcept = default;
  Params& operator=(Params&&) noexcept = default;
  Params(const Params&) = delete;
  Params& operator=(const Params&) = delete;

  // Takes a whole PARAMS stream. An error if a pair in it is cut off.
  static base::Result<Params> decode(std::vector<char> stream);

  // The value of the first pair with that name, as with libfcgi's FCGX_GetParam. Linear in the
  // number of pairs.
  std::optional<std::string_view> find(std::string_view name) const;

  using Iterator = std::vector<NameValue>::const_iterator;
  Iterator begin() const { return pairs_.begin(); }
  Iterator end() const { return pairs_.end(); }
  std::size_t size() const { return pairs_.size(); }
  bool empty() const { return pairs_.empty(); }

 private:
  std::vector<char> bytes_;  // not a std::string: moving a short one moves its bytes too
  std::vector<NameValue> pairs_;
};

}  // namespace fastcgi
