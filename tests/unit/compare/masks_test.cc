#include "compare/masks.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace compare {
namespace {

using Draw = std::function<std::string(std::mt19937&)>;

std::string drawn_from(std::mt19937& bits, std::string_view letters, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += letters[bits() % letters.size()];
  return text;
}

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kAlphanumeric =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kBase64 =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/";

std::string two(unsigned n) {
  return {char('0' + n / 10 % 10), char('0' + n % 10)};
}

std::string clock_time(std::mt19937& bits) {
  return two(bits() % 24) + ':' + two(bits() % 60) + ':' + two(bits() % 60);
}

// A kind of value that varies by itself.
struct Kind {
  const char* name;
  Draw draw;
};

std::vector<Kind> kinds() {
  return {
      {"pid", [](auto& bits) { return std::to_string(300 + bits() % 99'000); }},
      {"token of digits", [](auto& bits) { return drawn_from(bits, kDigits, 16); }},
      {"hex token", [](auto& bits) { return drawn_from(bits, kHex, 32); }},
      {"letters and digits", [](auto& bits) { return drawn_from(bits, kAlphanumeric, 20); }},
      {"base64 token",
       [](auto& bits) {
         return drawn_from(bits, kBase64, 18 + bits() % 4) + std::string(bits() % 3, '=');
       }},
      {"UUID",
       [](auto& bits) {
         return drawn_from(bits, kHex, 8) + '-' + drawn_from(bits, kHex, 4) + '-' +
                drawn_from(bits, kHex, 4) + '-' + drawn_from(bits, kHex, 4) + '-' +
                drawn_from(bits, kHex, 12);
       }},
      {"time", clock_time},
      {"ISO date",
       [](auto& bits) {
         return "2026-" + two(1 + bits() % 12) + '-' + two(1 + bits() % 28) + 'T' +
                clock_time(bits) + 'Z';
       }},
      {"fraction", [](auto& bits) { return "0." + std::to_string(100'000 + bits() % 900'000); }},
      {"memory address", [](auto& bits) { return "0x55" + drawn_from(bits, kHex, 10); }},
  };
}

// Places where it may be.
const std::vector<std::pair<std::string, std::string>> kPlaces = {
    {"", ""},
    {"", "\n"},
    {"", " is it\n"},
    {"token: ", ""},
    {"token: ", "\n"},
    {"first line\nSet-Cookie: sid=", "; Path=/\nlast line\n"},
    {"<input name=\"csrf\" value=\"", "\">\n<input name=\"user\" value=\"alice\">\n"},
    {"{\"a\": 1, \"t\": \"", "\", \"b\": [1, 2, 3]}"},
    {"<td>alice</td><td>", "</td><td>bob</td>"},
    {"\n\n", "\n\n"},
    {"caf\xc3\xa9 ", " \xff\xfe\n"},
};

// Goal: after one or a few controls, each kind of value is explained at each place, whatever its
// digits happen to be.
TEST(Masks, explain_each_kind_of_value_at_each_place) {
  for (const Kind& kind : kinds()) {
    for (const auto& place : kPlaces) {
      const std::string &before = place.first, &after = place.second;
      std::mt19937 bits(17);
      Masks masks;
      auto text = [&] { return before + kind.draw(bits) + after; };
      int controls = 0, unexplained = 0;
      for (int i = 0; i < 300; ++i) {
        std::string classic = text(), persistent = text(), control = text();
        if (masks.match({classic, persistent}) != Match::different) continue;
        ++controls;
        masks.learn({classic, control});
        unexplained += masks.match({classic, persistent}) == Match::different;
      }
      EXPECT_LE(controls, 12) << kind.name << " in " << before << "..." << after;
      EXPECT_LE(unexplained, 2) << kind.name << " in " << before << "..." << after;
      EXPECT_LE(masks.all().size(), 6u) << kind.name << " in " << before << "..." << after;
    }
  }
}

TEST(Masks, explain_a_counter_kept_in_a_file) {
  Masks masks;
  auto text = [](int n) { return "You are visitor " + std::to_string(n) + ".\n"; };
  masks.learn({text(8), text(10)});
  for (int n = 11; n < 5000; n += 3) {
    EXPECT_EQ(masks.match({text(n), text(n + 1)}), Match::masked) << n;
  }
}

TEST(Masks, take_a_time_for_one_value_whatever_of_it_changed) {
  Masks masks;
  masks.learn({"at 12:34:56 on\n", "at 12:34:57 on\n"});
  ASSERT_EQ(masks.all().size(), 1u);
  EXPECT_EQ(masks.all()[0].before, "\nat ");
  EXPECT_EQ(masks.all()[0].after, " on\n");
  EXPECT_EQ(masks.all()[0].form, "digits and marks");
  EXPECT_EQ(masks.match({"at 12:59:59 on\n", "at 13:00:00 on\n"}), Match::masked);
  EXPECT_EQ(masks.match({"at 12:59:59 on\n", "at 12:59:58 on\n"}), Match::masked);
  EXPECT_EQ(masks.match({"at 09:00:00 on\n", "at 10:00:00 on\n"}), Match::masked);
}

TEST(Masks, do_not_explain_a_change_at_another_place) {
  Masks masks;
  masks.learn({"pid: 100\nseen: 0\n", "pid: 200\nseen: 0\n"});
  EXPECT_EQ(masks.match({"pid: 300\nseen: 0\n", "pid: 400\nseen: 0\n"}), Match::masked);
  EXPECT_EQ(masks.match({"pid: 300\nseen: 0\n", "pid: 400\nseen: 7\n"}), Match::different);
  EXPECT_EQ(masks.match({"pid: 300\nseen: 0\n", "pid: 300\nseen: 7\n"}), Match::different);
  EXPECT_EQ(masks.match({"rapid: 300\n", "rapid: 400\n"}), Match::different);
}

TEST(Masks, do_not_swallow_text_of_another_form) {
  Masks masks;
  masks.learn({"pid: 100\n", "pid: 200\n"});
  for (const char* persistent :
       {"pid: alice\n", "pid: 1 alice\n", "pid: 1,2\n", "pid: \n", "pid: 100\nalice\n",
        "pid: 100 \n", "pid: -100\n", "pid: 123456789\n", "", "\n"}) {
    EXPECT_EQ(masks.match({"pid: 300\n", persistent}), Match::different) << persistent;
  }
}

TEST(Masks, do_not_swallow_a_value_far_longer_or_shorter_than_any_seen) {
  Masks masks;
  std::mt19937 bits(1);
  auto text = [&](std::size_t size) { return "sid=" + drawn_from(bits, kHex, size) + "\n"; };
  masks.learn({text(32), text(32)});
  EXPECT_EQ(masks.match({text(32), text(40)}), Match::masked);
  EXPECT_EQ(masks.match({text(32), text(8)}), Match::different);
  EXPECT_EQ(masks.match({text(32), text(400)}), Match::different);
}

TEST(Masks, widen_the_form_of_a_place_as_classic_shows_more) {
  Masks masks;
  masks.learn({"id: 100\n", "id: 200\n"});
  masks.learn({"id: 300\n", "id: beef\n"});
  masks.learn({"id: 300\n", "id: x-y\n"});
  ASSERT_EQ(masks.all().size(), 1u);
  EXPECT_EQ(masks.all()[0].form, "letters, digits and marks");
  masks.learn({"id: 300\n", "id: (none)\n"});
  ASSERT_EQ(masks.all().size(), 1u);
  EXPECT_EQ(masks.all()[0].form, "text");
}

TEST(Masks, learn_a_value_that_is_sometimes_not_there) {
  Masks masks;
  masks.learn({"hello \n", "hello you\n"});
  EXPECT_EQ(masks.match({"hello \n", "hello her\n"}), Match::masked);
  EXPECT_EQ(masks.match({"hello him\n", "hello \n"}), Match::masked);
}

TEST(Masks, are_not_made_of_whole_lines_that_come_and_go) {
  Masks masks;
  masks.learn({"a\nb\n", "a\nx\ny\nb\n"});
  EXPECT_TRUE(masks.all().empty());
}

TEST(Masks, learn_each_of_many_values_in_one_answer) {
  std::mt19937 bits(5);
  auto table = [&] {
    std::string text;
    for (int i = 0; i < 150; ++i) {
      text += "<tr><td>row" + std::to_string(i) + "</td><td>" + std::to_string(bits() % 1000) +
              "</td><td>" + clock_time(bits) + "</td></tr>\n";
    }
    return text;
  };
  Masks masks;
  for (int i = 0; i < 3; ++i) masks.learn({table(), table()});
  int masked = 0;
  for (int i = 0; i < 50; ++i) masked += masks.match({table(), table()}) == Match::masked;
  EXPECT_GE(masked, 45);
}

TEST(Masks, count_how_often_each_explained_a_change) {
  Masks masks;
  masks.learn({"a: 1\nb: 1\n", "a: 2\nb: 2\n"});
  ASSERT_EQ(masks.all().size(), 2u);
  masks.match({"a: 3\nb: 3\n", "a: 4\nb: 3\n"});
  masks.match({"a: 3\nb: 3\n", "a: 4\nb: 5\n"});
  masks.match({"a: 3\nb: 3\n", "a: 3\nb: 3\n"});
  masks.match({"a: 3\nb: 3\n", "a: 4\nb: x\n"});  // different: not counted
  EXPECT_EQ(masks.all()[0].used, 2u);
  EXPECT_EQ(masks.all()[1].used, 1u);
}

TEST(Masks, forget_the_least_used_beyond_their_limit) {
  Masks masks;
  auto text = [](int i, int value) {
    return "name" + std::to_string(i) + ": " + std::to_string(value) + '\n';
  };
  for (int i = 0; i < int(Masks::kMax); ++i) {
    masks.learn({text(i, 1), text(i, 2)});
    if (i != 7) masks.match({text(i, 1), text(i, 2)});
  }
  EXPECT_EQ(masks.all().size(), Masks::kMax);
  masks.learn({text(1000, 1), text(1000, 2)});
  EXPECT_EQ(masks.all().size(), Masks::kMax);
  EXPECT_EQ(masks.match({text(7, 1), text(7, 2)}), Match::different);
  EXPECT_EQ(masks.match({text(8, 1), text(8, 2)}), Match::masked);
  EXPECT_EQ(masks.match({text(1000, 1), text(1000, 2)}), Match::masked);
}

// A program's answer with several tokens, one of which may be kept by mistake.
struct Tokens {
  std::mt19937 bits{3};
  Masks masks;
  std::string fresh() { return drawn_from(bits, kHex, 24); }
  static std::string text(const std::string& token) {
    return "token: " + token + "\nagain: " + token + "\n";
  }
  std::string answered(const std::string& classic, const std::string& persistent) {
    if (masks.match({text(classic), text(persistent)}) != Match::masked) {
      masks.learn({text(classic), text(fresh())});
    }
    EXPECT_EQ(masks.match({text(classic), text(persistent)}), Match::masked);
    std::string said = masks.stale({text(classic), text(persistent)});
    if (said.empty()) masks.remember({text(classic), text(persistent)});
    return said;
  }
};

TEST(Stale, names_a_token_that_was_made_once_and_kept) {
  Tokens tokens;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(tokens.answered(tokens.fresh(), tokens.fresh()), "");
  std::string kept = tokens.fresh();
  EXPECT_EQ(tokens.answered(tokens.fresh(), kept), "");
  EXPECT_EQ(tokens.answered(tokens.fresh(), tokens.fresh()), "");
  std::string said = tokens.answered(tokens.fresh(), kept);
  EXPECT_NE(said.find(kept), std::string::npos) << said;
  EXPECT_NE(tokens.answered(tokens.fresh(), kept), "");  // and again each time
}

TEST(Stale, says_nothing_before_classic_was_seen_often_enough) {
  Tokens tokens;
  std::string kept = tokens.fresh();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(tokens.answered(tokens.fresh(), kept), "");
  EXPECT_NE(tokens.answered(tokens.fresh(), kept), "");
}

TEST(Stale, says_nothing_where_classic_repeats_values_too) {
  Tokens tokens;
  std::string first = tokens.fresh(), second = tokens.fresh(), third = tokens.fresh();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(tokens.answered(i % 2 == 0 ? first : second, third), "");
  }
}

// A pid, an address and a time repeat in a worker that stays; they belong to no visitor.
TEST(Stale, says_nothing_of_pids_addresses_and_times) {
  std::mt19937 bits(8);
  for (const char* kept : {"4711", "0x55d0c8a1b2f0", "10:47:17", "1795258037"}) {
    Masks masks;
    auto text = [](const std::string& value) { return "value: " + value + "\n"; };
    auto other = [&] {
      std::string value = kept;
      for (char& byte : value)
        byte = byte >= '0' && byte <= '9' && byte != value[0] ? char('1' + bits() % 9) : byte;
      return value;
    };
    for (int i = 0; i < 40; ++i) {
      std::string classic = text(other());
      masks.learn({classic, text(other())});
      masks.match({classic, text(kept)});
      EXPECT_EQ(masks.stale({classic, text(kept)}), "") << kept;
      masks.remember({classic, text(kept)});
    }
  }
}

TEST(WithoutMasked, leaves_what_the_masks_do_not_explain) {
  Masks masks;
  masks.learn({"pid: 1\nseen: 0\n", "pid: 2\nseen: 0\n"});
  EXPECT_EQ(masks.without_masked({"pid: 3\nseen: 0\n", "pid: 4\nseen: 7\n"}), "pid: 3\nseen: 7\n");
}

TEST(Between, takes_what_classic_itself_changed_meanwhile) {
  Masks masks;
  std::string page = "Guestbook\n<ul>\n",
              end = "<li>one\n<li>two\n<li>three\n</ul>\nThat is all.\n";
  std::string before = page + end, after = page + "<li>five\n<li>four\n" + end;
  EXPECT_TRUE(masks.between({before, after}, {before, page + "<li>four\n" + end}));
  EXPECT_FALSE(masks.between({before, after}, {before, page + end + "<li>four\n"}));
  EXPECT_FALSE(masks.between({before, before}, {before, after}));
  EXPECT_FALSE(
      masks.between({"one two\n", "x y\n"}, {"one two\n", "some other\n"}));  // none of it stays
}

// Goal: for any texts, learn() and match() terminate, and what was just learned is explained.
TEST(Masks, bear_any_texts) {
  std::mt19937 bits(23);
  constexpr std::string_view kBytes = "a1-:=/ \n<>\xc3\xa4\0";
  auto text = [&] { return drawn_from(bits, kBytes, bits() % 40); };
  for (int i = 0; i < 5000; ++i) {
    Masks masks;
    std::string once = text(), again = text();
    masks.learn({once, again});
    EXPECT_EQ(masks.match({once, once}), Match::same);
    masks.match({once, again});
    masks.remember({once, again});
    masks.stale({once, again});
    std::string rest = masks.without_masked({once, again});
    EXPECT_TRUE(masks.match({once, again}) != Match::masked || rest == once);
    std::string third = text();
    masks.between({once, again}, {once, third});
  }
}

}  // namespace
}  // namespace compare
