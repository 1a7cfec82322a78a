#include "fastcgi/name_value.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace fastcgi {

namespace {

// §3.4: a length whose first bit is 0 takes one byte; others take four, without that bit.
constexpr unsigned kLongLengthBit = 0x80;
constexpr std::size_t kLengthMax = 0x7fffffff;

// Where the next byte goes.
char* put_length(char* at, std::size_t length) {
  BRIDGE_ASSERT(length <= kLengthMax);
  if (length >= kLongLengthBit) {
    *at++ = static_cast<char>(length >> 24 | kLongLengthBit);
    *at++ = static_cast<char>(length >> 16 & 0xff);
    *at++ = static_cast<char>(length >> 8 & 0xff);
  }
  *at++ = static_cast<char>(length & 0xff);
  return at;
}

}  // namespace

PairStep NameValueDecoder::next(NameValue& out) {
  if (rest_.empty()) return PairStep::end;
  const ByteView pair = rest_;
  const auto name_size = read_length();
  const auto value_size = name_size ? read_length() : std::nullopt;
  if (!value_size || *name_size > rest_.size() || *value_size > rest_.size() - *name_size) {
    rest_ = pair;
    return PairStep::bad;
  }
  out = {rest_.substr(0, *name_size), rest_.substr(*name_size, *value_size)};
  rest_.remove_prefix(*name_size + *value_size);
  return PairStep::pair;
}

std::optional<std::size_t> NameValueDecoder::read_length() {
  if (rest_.empty()) return std::nullopt;
  const auto byte_at = [this](std::size_t at) -> std::size_t {
    return static_cast<unsigned char>(rest_[at]);
  };
  const bool is_long = (byte_at(0) & kLongLengthBit) != 0;
  const std::size_t length_size = is_long ? 4 : 1;
  if (rest_.size() < length_size) return std::nullopt;
  std::size_t length = byte_at(0);
  if (is_long) {
    length = (length << 24 | byte_at(1) << 16 | byte_at(2) << 8 | byte_at(3)) & kLengthMax;
  }
  rest_.remove_prefix(length_size);
  return length;
}

void append_name_value(std::string& out, std::string_view name, std::string_view value) {
  std::array<char, 8> lengths;
  const char* const end = put_length(put_length(lengths.data(), name.size()), value.size());
  out.append(lengths.data(), static_cast<std::size_t>(end - lengths.data()));
  out += name;
  out += value;
}

base::Result<Params> Params::decode(std::vector<char> stream) {
  // About as many as web servers send, or a few more.
  constexpr std::size_t kPairsExpected = 48;
  Params params;
  params.bytes_ = std::move(stream);
  params.pairs_.reserve(std::min(kPairsExpected, params.bytes_.size() / 2));
  NameValueDecoder decoder({params.bytes_.data(), params.bytes_.size()});
  NameValue pair;
  while (true) {
    switch (decoder.next(pair)) {
      case PairStep::pair:
        params.pairs_.push_back(pair);
        break;
      case PairStep::end:
        return params;
      case PairStep::bad:
        return base::Error{"name-value pair " + std::to_string(params.size() + 1) +
                           " is cut off by the end of its stream"};
    }
  }
}

std::optional<std::string_view> Params::find(std::string_view name) const {
  for (const NameValue& pair : pairs_) {
    if (pair.name == name) return pair.value;
  }
  return std::nullopt;
}

}  // namespace fastcgi
