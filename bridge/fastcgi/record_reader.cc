#include "fastcgi/record_reader.h"

#include <algorithm>

#include "base/assert.h"

namespace fastcgi {

void RecordReader::feed(ByteView bytes) {
  BRIDGE_ASSERT(input_.empty());
  if (state_ != State::broken) input_ = bytes;
}

Step RecordReader::next(Fragment& out) {
  while (true) {
    switch (state_) {
      case State::header:
        if (Step step = read_header(); step != Step::fragment) return step;
        if (header_.content_length > 0) break;
        out = {.header = header_, .content = {}, .offset = 0};
        return Step::fragment;
      case State::content:
        if (input_.empty()) return Step::need_more;
        take_content(out);
        return Step::fragment;
      case State::padding:
        if (skip_padding() == Step::need_more) return Step::need_more;
        break;
      case State::broken:
        return Step::bad_record;
    }
  }
}

// Returns fragment when header_ is complete and what follows it can be read.
Step RecordReader::read_header() {
  if (input_.empty()) return Step::need_more;
  ByteView bytes = take(kHeaderSize - cut_header_size_);
  if (bytes.size() < kHeaderSize) {
    std::copy(bytes.begin(), bytes.end(), cut_header_.begin() + cut_header_size_);
    cut_header_size_ += bytes.size();
    if (cut_header_size_ < kHeaderSize) return Step::need_more;
    bytes = {cut_header_.data(), kHeaderSize};
  }
  cut_header_size_ = 0;
  const auto header = decode_header(bytes);
  if (!header) {
    state_ = State::broken;
    input_ = {};
    return Step::bad_record;
  }
  header_ = *header;
  content_read_ = 0;
  padding_left_ = header_.padding_length;
  state_ = header_.content_length > 0 ? State::content : State::padding;
  return Step::fragment;
}

void RecordReader::take_content(Fragment& out) {
  const ByteView content = take(header_.content_length - content_read_);
  out = {.header = header_, .content = content, .offset = content_read_};
  content_read_ = static_cast<std::uint16_t>(content_read_ + content.size());
  if (content_read_ == header_.content_length) state_ = State::padding;
}

Step RecordReader::skip_padding() {
  const std::size_t skipped = take(padding_left_).size();
  padding_left_ = static_cast<std::uint8_t>(padding_left_ - skipped);
  if (padding_left_ > 0) return Step::need_more;
  state_ = State::header;
  return Step::fragment;
}

ByteView RecordReader::take(std::size_t bytes_max) {
  const ByteView taken = input_.substr(0, bytes_max);
  input_.remove_prefix(taken.size());
  return taken;
}

}  // namespace fastcgi
