// Cuts a byte stream into records, however the reads split it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fastcgi/wire.h"

namespace fastcgi {

// need_more: every byte fed was used up. fragment: out holds a piece of a record.
// bad_record: the stream is not FastCGI 1; the connection must be closed. This is final.
enum class Step { need_more, fragment, bad_record };

// The same for the events of a connection. need_more: every byte fed was used up. event: out was
// filled; call next() again.
enum class EventStep { need_more, event };

// A piece of one record's content. A record with content gives one or more fragments, none of them
// empty; a record without content gives one empty fragment. Padding is never passed on.
struct Fragment {
  RecordHeader header;
  ByteView content;          // into the bytes fed; valid as long as those are
  std::uint16_t offset = 0;  // where content begins within the record's content

  bool is_first() const { return offset == 0; }
  bool is_last() const { return offset + content.size() == header.content_length; }
};

// A push parser over views: no I/O, no allocation, and no copy except of a header that a read
// split. It does not know the order of records; ServerConnection does.
class RecordReader {
 public:
  // Takes the bytes that follow those fed before. They are borrowed until next() says need_more or
  // bad_record; feeding again before that is a programmer error. A fragment never crosses feeds.
  void feed(ByteView bytes);

  Step next(Fragment& out);

  // Whether what was fed ends with a whole record. Valid only after need_more.
  bool between_records() const { return state_ == State::header && cut_header_size_ == 0; }

 private:
  enum class State { header, content, padding, broken };

  Step read_header();
  void take_content(Fragment& out);
  Step skip_padding();
  ByteView take(std::size_t bytes_max);

  State state_ = State::header;
  ByteView input_;
  HeaderBytes cut_header_{};         // the part of a header with which earlier feeds ended
  std::size_t cut_header_size_ = 0;  // in bytes
  RecordHeader header_;
  std::uint16_t content_read_ = 0;
  std::uint8_t padding_left_ = 0;
};

}  // namespace fastcgi
