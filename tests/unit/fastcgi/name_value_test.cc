#include "fastcgi/name_value.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fastcgi {
namespace {

using namespace std::string_literals;

// Decodes a copy in memory of exactly the stream's size; a bad stream gives a list that ends with
// "bad".
std::vector<std::string> decode(std::string_view stream) {
  const std::unique_ptr<char[]> memory(new char[stream.size()]);
  std::copy(stream.begin(), stream.end(), memory.get());
  NameValueDecoder decoder({memory.get(), stream.size()});
  std::vector<std::string> lines;
  NameValue pair;
  PairStep step;
  while ((step = decoder.next(pair)) == PairStep::pair) {
    lines.push_back(std::string(pair.name) + "=" + std::string(pair.value));
  }
  if (step == PairStep::bad) lines.push_back("bad");
  return lines;
}

std::vector<char> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

struct Case {
  std::string name;
  std::string stream;
  std::vector<std::string> expected;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"no pair", "", {}},
      {"a pair",
       "\x01\x02"
       "Abc"s,
       {"A=bc"}},
      {"an empty value",
       "\x01\x00"
       "A"s,
       {"A="}},
      {"an empty name",
       "\x00\x01"
       "b"s,
       {"=b"}},
      {"a pair of nothing", "\x00\x00"s, {"="}},
      {"two pairs",
       "\x01\x01"
       "Ab"
       "\x01\x01"
       "Cd"s,
       {"A=b", "C=d"}},
      {"a long name length",
       "\x80\x00\x00\x01\x01"
       "Ab"s,
       {"A=b"}},
      {"a long value length",
       "\x01\x80\x00\x00\x01"
       "Ab"s,
       {"A=b"}},
      {"both lengths long",
       "\x80\x00\x00\x01\x80\x00\x00\x02"
       "Abc"s,
       {"A=bc"}},
      {"a value of 127 bytes",
       "\x01\x7f"
       "A"s +
           std::string(127, 'v'),
       {"A=" + std::string(127, 'v')}},
      {"a value of 128 bytes",
       "\x01\x80\x00\x00\x80"
       "A"s +
           std::string(128, 'v'),
       {"A=" + std::string(128, 'v')}},
      {"a value of 66051 bytes",
       "\x01\x80\x01\x02\x03"
       "A"s +
           std::string(66051, 'v'),
       {"A=" + std::string(66051, 'v')}},
      {"NUL and newline within",
       "\x02\x03"
       "A\0b\nc"s,
       {"A\0=b\nc"s}},
      {"only a name length", "\x01"s, {"bad"}},
      {"a name that is cut off",
       "\x03\x00"
       "AB"s,
       {"bad"}},
      {"a value that is cut off",
       "\x01\x03"
       "Abc"s,
       {"bad"}},
      {"a long length of one byte", "\x80"s, {"bad"}},
      {"a long length of three bytes", "\x80\x00\x00"s, {"bad"}},
      {"a long value length of three bytes", "\x01\x80\x00\x00"s, {"bad"}},
      {"the greatest lengths",
       "\xff\xff\xff\xff\xff\xff\xff\xff"
       "Ab"s,
       {"bad"}},
      {"the greatest value length",
       "\x01\xff\xff\xff\xff"
       "Ab"s,
       {"bad"}},
      {"bad after good",
       "\x01\x01"
       "Ab"
       "\x01\x09"
       "Cd"s,
       {"A=b", "bad"}},
  };
  return all;
}

TEST(NameValueDecoder, reads_each_case) {
  for (const Case& one : cases()) EXPECT_EQ(decode(one.stream), one.expected) << one.name;
}

TEST(NameValueDecoder, takes_every_shorter_part_of_a_pair_for_bad) {
  for (const Case& one : cases()) {
    const bool is_one_pair = one.expected.size() == 1 && one.expected.back() != "bad";
    if (!is_one_pair || one.stream.size() > 1000) continue;
    for (std::size_t size = 1; size < one.stream.size(); ++size) {
      EXPECT_EQ(decode(one.stream.substr(0, size)), std::vector<std::string>{"bad"})
          << one.name << " of " << size << " bytes";
    }
  }
}

TEST(NameValueDecoder, stays_bad) {
  NameValueDecoder decoder("\x05");
  NameValue pair;
  EXPECT_EQ(decoder.next(pair), PairStep::bad);
  EXPECT_EQ(decoder.next(pair), PairStep::bad);
}

TEST(AppendNameValue, writes_one_byte_below_128_and_four_from_there) {
  std::string out;
  append_name_value(out, "A", std::string(127, 'v'));
  EXPECT_EQ(out,
            "\x01\x7f"
            "A" +
                std::string(127, 'v'));
  out.clear();
  append_name_value(out, std::string(128, 'n'), "");
  EXPECT_EQ(out, "\x80\x00\x00\x80\x00"s + std::string(128, 'n'));
}

TEST(AppendNameValue, writes_what_the_decoder_reads_at_every_length_around_a_border) {
  for (std::size_t size : {0, 1, 126, 127, 128, 129, 255, 256, 65535, 65536, 70000}) {
    const std::string long_text(size, 'x');
    std::string out;
    append_name_value(out, long_text, "v");
    append_name_value(out, "n", long_text);
    EXPECT_EQ(decode(out), (std::vector<std::string>{long_text + "=v", "n=" + long_text})) << size;
  }
}

TEST(Params, keeps_pairs_in_the_order_given_with_repeated_names) {
  auto params =
      Params::decode(bytes_of("\x01\x01"
                              "Ab"
                              "\x01\x01"
                              "Ca"
                              "\x01\x01"
                              "Ac"));
  ASSERT_TRUE(params.ok());
  const std::vector<NameValue> pairs(params.value().begin(), params.value().end());
  EXPECT_EQ(pairs, (std::vector<NameValue>{{"A", "b"}, {"C", "a"}, {"A", "c"}}));
  EXPECT_EQ(params.value().size(), 3u);
}

TEST(Params, finds_the_first_of_a_name_and_tells_empty_from_absent) {
  auto params =
      Params::decode(bytes_of("\x01\x01"
                              "Ab"
                              "\x01\x01"
                              "Ac"
                              "\x01\x00"
                              "E"s));
  ASSERT_TRUE(params.ok());
  EXPECT_EQ(params.value().find("A"), "b");
  EXPECT_EQ(params.value().find("E"), "");
  EXPECT_EQ(params.value().find("a"), std::nullopt);
}

TEST(Params, keeps_its_views_when_it_is_moved) {
  auto decoded =
      Params::decode(bytes_of("\x01\x01"
                              "Ab"));
  ASSERT_TRUE(decoded.ok());
  const NameValue before = *decoded.value().begin();
  Params moved = decoded.take();
  const Params again = std::move(moved);
  EXPECT_EQ(again.begin()->name.data(), before.name.data());
  EXPECT_EQ(again.find("A"), "b");
  EXPECT_TRUE(moved.empty());
}

TEST(Params, may_be_empty) {
  auto params = Params::decode({});
  ASSERT_TRUE(params.ok());
  EXPECT_TRUE(params.value().empty());
}

TEST(Params, says_which_pair_is_cut_off) {
  auto params =
      Params::decode(bytes_of("\x01\x01"
                              "Ab"
                              "\x01\x09"
                              "Cd"));
  ASSERT_FALSE(params.ok());
  EXPECT_EQ(params.error().message, "name-value pair 2 is cut off by the end of its stream");
}

}  // namespace
}  // namespace fastcgi
