#include "compare/shadow_record.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace compare {
namespace {

constexpr Subject kSubject{1'000, Arm::rewind, "GET", "/cgi-bin/guestbook?page=2"};

// A program that prints a counter kept in a file, a random token, its pid and the date. On the
// persistent side it may also do what it must not.
class Program {
 public:
  std::function<void(Answer&)> persistent_mistake = [](Answer&) {};

  Answer classic() { return answer(); }
  Answer persistent() {
    Answer one = answer();
    persistent_mistake(one);
    return one;
  }

  // Runs one request as the gateway does. Returns whether there was a difference.
  bool shadow(ShadowRecord& record, const Subject& subject = kSubject) {
    Answer ours = classic(), theirs = persistent();
    if (record.look(subject, ours, theirs) == Look::done) return false;
    return record.conclude(subject, ours, theirs, classic());
  }

  std::string token() {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string token;
    for (int i = 0; i < 32; ++i) token += kHex[bits_() % kHex.size()];
    return token;
  }

 private:
  Answer answer() {
    ++counter_;
    seconds_ += bits_() % 3 == 0;
    std::string time = std::to_string(10 + seconds_ / 3600 % 12) + ':' +
                       std::to_string(10 + seconds_ / 60 % 50) + ':' +
                       std::to_string(10 + seconds_ % 50);
    Answer one;
    one.status = 200;
    one.body = "<h1>Guestbook</h1>\n<p>You are visitor " + std::to_string(counter_) +
               ".</p>\n<form><input name=\"csrf\" value=\"" + token() +
               "\"></form>\n<p>seen: 0</p>\n<!-- pid " + std::to_string(1000 + bits_() % 9000) +
               " -->\n<p>Sat Nov 21 " + time + " 2026</p>\n";
    one.head = "Content-Type: text/html\nSet-Cookie: sid=" + token() +
               "; Path=/\nDate: Sat, 21 Nov 2026 " + time +
               " GMT\nContent-Length: " + std::to_string(one.body.size()) + "\n";
    return one;
  }

  std::mt19937 bits_{7};
  int counter_ = 95;
  int seconds_ = 50;
};

std::string replaced(std::string text, std::string_view old_text, std::string_view new_text) {
  std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  return at == std::string::npos ? text : text.replace(at, old_text.size(), new_text);
}

TEST(ShadowRecord, takes_a_counter_a_token_a_pid_and_the_date_for_what_they_are) {
  Program program;
  ShadowRecord record;
  for (int i = 0; i < 3000; ++i) EXPECT_FALSE(program.shadow(record)) << i;
  EXPECT_EQ(record.compared(), 3000u);
  EXPECT_EQ(record.different(), 0u);
  EXPECT_TRUE(record.differences().empty());
  EXPECT_LE(record.head_masks().all().size(), 6u);
  EXPECT_LE(record.body_masks().all().size(), 8u);
}

TEST(ShadowRecord, needs_no_control_for_long) {
  Program program;
  ShadowRecord record;
  int controls = 0;
  for (int i = 0; i < 1000; ++i) {
    Answer classic = program.classic(), persistent = program.persistent();
    if (record.look(kSubject, classic, persistent) == Look::done) continue;
    ++controls;
    record.conclude(kSubject, classic, persistent, program.classic());
  }
  EXPECT_LE(controls, 10);
}

// Goal: what another request left behind is noticed among everything that varies, and shown alone.
TEST(ShadowRecord, tells_a_leak_from_what_varies_and_shows_it_alone) {
  Program program;
  ShadowRecord record;
  for (int i = 0; i < 100; ++i) program.shadow(record);
  program.persistent_mistake = [](Answer& answer) {
    answer.body = replaced(answer.body, "seen: 0", "seen: 17");
  };
  EXPECT_TRUE(program.shadow(record));
  ASSERT_EQ(record.differences().size(), 1u);
  const Difference& difference = record.differences().front();
  EXPECT_EQ(difference.what, "body");
  EXPECT_NE(difference.diff.find("\n-<p>seen: 0</p>\n+<p>seen: 17</p>\n"), std::string::npos)
      << difference.diff;
  EXPECT_EQ(difference.diff.find("+<p>You are"), std::string::npos) << difference.diff;
  EXPECT_EQ(difference.diff.find("+<p>Sat"), std::string::npos) << difference.diff;
}

TEST(ShadowRecord, finds_a_leak_in_the_very_first_pair) {
  Program program;
  program.persistent_mistake = [](Answer& answer) {
    answer.body = replaced(answer.body, "seen: 0", "seen: 17");
  };
  ShadowRecord record;
  EXPECT_TRUE(program.shadow(record));
}

// Goal: a token that was made once for all visitors hides behind a mask, but is found.
TEST(ShadowRecord, finds_a_token_that_was_made_once_and_kept) {
  Program program;
  ShadowRecord record;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(program.shadow(record));
  std::string kept = program.token();
  program.persistent_mistake = [kept](Answer& answer) {
    std::size_t at = answer.body.find("value=\"") + 7;
    answer.body.replace(at, 32, kept);
  };
  EXPECT_FALSE(program.shadow(record));  // not detectable yet
  EXPECT_TRUE(program.shadow(record));
  EXPECT_EQ(record.differences().back().what, "a value that was used before");
  EXPECT_NE(record.differences().back().diff.find(kept), std::string::npos)
      << record.differences().back().diff;
}

TEST(ShadowRecord, compares_status_head_body_exit_code_and_end) {
  struct Case {
    const char* what;
    std::function<void(Answer&)> mistake;
    const char* shown;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"status", [](Answer& a) { a.status = 500; },
            "classic: status 200\nrewind: status 500\n"},
           {"status", [](Answer& a) { a.status = 0; }, "rewind: status none\n"},
           {"exit code", [](Answer& a) { a.exit_code = 3; },
            "classic: exit code 0\nrewind: exit code 3\n"},
           {"exit code", [](Answer& a) { a.ended_by = "killed by signal 11"; },
            "rewind: killed by signal 11\n"},
           {"head", [](Answer& a) { a.head += "X-Late: 1\n"; }, "\n+X-Late: 1\n"},
           {"body", [](Answer& a) { a.body = ""; }, "\n-<h1>Guestbook</h1>\n"}}) {
    Program program;
    ShadowRecord record;
    for (int i = 0; i < 30; ++i) program.shadow(record);
    program.persistent_mistake = one.mistake;
    EXPECT_TRUE(program.shadow(record)) << one.what;
    ASSERT_EQ(record.differences().size(), 1u);
    EXPECT_EQ(record.differences()[0].what, one.what);
    EXPECT_NE(record.differences()[0].diff.find(one.shown), std::string::npos)
        << record.differences()[0].diff;
  }
}

// Goal: another visitor's entry that arrives between the runs counts as no difference.
TEST(ShadowRecord, takes_what_happened_meanwhile_for_no_difference) {
  auto page = [](int entries) {
    Answer answer;
    answer.status = 200;
    answer.head = "Content-Type: text/plain\n";
    answer.body = "Guestbook\n";
    for (int i = entries; i > 0; --i) answer.body += "entry " + std::to_string(i) + " is nice\n";
    return answer;
  };
  for (auto [classic, persistent, control] : std::initializer_list<std::array<int, 3>>{
           {20, 21, 21}, {20, 20, 21}, {20, 21, 22}, {20, 21, 25}}) {
    ShadowRecord record;
    for (int i = 0; i < 2; ++i) record.conclude(kSubject, page(19), page(19), page(19));
    Answer ours = page(classic), theirs = page(persistent);
    if (record.look(kSubject, ours, theirs) == Look::needs_control) {
      EXPECT_FALSE(record.conclude(kSubject, ours, theirs, page(control))) << control;
    }
    EXPECT_EQ(record.compared(), 3u);
  }
  ShadowRecord record;
  EXPECT_TRUE(record.conclude(kSubject, page(20), page(21), page(20)));
}

// Two tokens of classic may happen to have "-" before them, or "-A" after them: the difference is
// then shorter than the token that persistent made.
TEST(ShadowRecord, takes_tokens_that_begin_or_end_alike_by_chance_for_tokens) {
  const std::string kRest = "<p>of which most is the same every time</p>\n";
  auto answer = [&](const std::string& token) {
    return Answer{200, "", "<input name=\"csrf\" value=\"" + token + "\">\n" + kRest, 0, ""};
  };
  struct Case {
    const char *classic, *persistent, *control;
  };
  for (auto [classic, persistent, control] :
       {Case{"-7Mu9c01SY449MtNbymAhA", "3A5Do31yDAZMWcyhw-ksxQ", "-Tx1U_82dGtnEKuNRAyqhw"},
        Case{"UqZpEoG29vEoSxVj-Sa6-A", "Wh75G2hFxrEh_rqVho-lFA", "1X8qawnGn_Wgiwro_aHu-A"},
        Case{"T-nUZegW2-GbaGz_kn4qaQ", "ynH1TflP83BlSpXAdSg-4g", "T-JaCT7e-abcWlsmbjg-iA"}}) {
    ShadowRecord record;
    EXPECT_FALSE(record.conclude(kSubject, answer(classic), answer(persistent), answer(control)))
        << record.differences().back().diff;
  }
  ShadowRecord record;
  EXPECT_TRUE(record.conclude(kSubject, answer("user-7Mu9c01SY"), answer("root-3A5Do31yDA"),
                              answer("user-Tx1U82dGt")))
      << "more than chance makes alike";
}

TEST(ShadowRecord, asks_for_controls_at_first_even_if_all_is_equal) {
  Answer answer;
  answer.status = 200;
  ShadowRecord record;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(record.look(kSubject, answer, answer), Look::needs_control);
    EXPECT_FALSE(record.conclude(kSubject, answer, answer, answer));
  }
  EXPECT_EQ(record.look(kSubject, answer, answer), Look::done);
  EXPECT_EQ(record.same(), 3u);
}

TEST(ShadowRecord, keeps_the_newest_differences_and_counts_all) {
  ShadowRecord record;
  record.keep(3);
  Answer ours, theirs;
  ours.status = theirs.status = 200;
  for (int i = 1; i <= 10; ++i) {
    theirs.body = std::to_string(i);
    Subject subject = kSubject;
    subject.unix_ms = i;
    EXPECT_TRUE(record.conclude(subject, ours, theirs, ours));
  }
  EXPECT_EQ(record.different(), 10u);
  ASSERT_EQ(record.differences().size(), 3u);
  EXPECT_EQ(record.differences().front().id, 8u);
  EXPECT_EQ(record.differences().back().id, 10u);
  EXPECT_EQ(record.differences().back().unix_ms, 10);
  EXPECT_EQ(record.differences().back().uri, kSubject.uri);
  record.keep(0);
  EXPECT_TRUE(record.conclude(kSubject, ours, theirs, ours));
  EXPECT_TRUE(record.differences().empty());
}

TEST(ShadowRecord, keeps_of_a_great_difference_what_fits) {
  ShadowRecord record;
  Answer ours, theirs;
  for (int i = 0; i < 5000; ++i) {
    ours.body += "ours " + std::to_string(i) + '\n';
    ours.head += "Ours: " + std::to_string(i) + '\n';
    theirs.body += "theirs " + std::to_string(i) + '\n';
  }
  std::string uri(10'000, 'x');
  EXPECT_TRUE(record.conclude({1, Arm::fork, "GET", uri}, ours, theirs, ours));
  EXPECT_LE(record.differences().back().diff.size(), ShadowRecord::kDiffMax);
  EXPECT_LE(record.differences().back().uri.size(), ShadowRecord::kUriMax);
}

TEST(ShadowRecord, counts_what_was_not_compared_by_its_reason) {
  ShadowRecord record;
  record.skipped(Skip::method);
  record.skipped(Skip::busy);
  record.skipped(Skip::busy);
  EXPECT_EQ(record.skips(Skip::busy), 2u);
  EXPECT_EQ(record.skips(Skip::method), 1u);
  EXPECT_EQ(record.skips(Skip::body), 0u);
  EXPECT_EQ(record.compared(), 0u);
}

Answer page(const std::string& body) {
  Answer one;
  one.status = 200;
  one.head = "Content-Type: text/html\n";
  one.body = body;
  return one;
}

TEST(ShadowRecord, takes_another_order_for_no_difference_where_classic_has_it_too) {
  ShadowRecord record;
  const Answer ours = page("{a => 1,\n b => 2,\n c => 3\n}\n");
  const Answer theirs = page("{b => 2,\n c => 3,\n a => 1\n}\n");
  const Answer control = page("{c => 3,\n a => 1,\n b => 2\n}\n");
  EXPECT_FALSE(record.conclude(kSubject, ours, theirs, control));
  EXPECT_EQ(record.masked(), 1U);
  EXPECT_TRUE(record.body_masks().all().empty());
  EXPECT_TRUE(record.conclude(kSubject, ours, page("{b => 2,\n c => 4,\n a => 1\n}\n"), control));
  EXPECT_TRUE(record.conclude(kSubject, ours, page("{b => 2,\n c => 3\n}\n"), control));
}

TEST(ShadowRecord, takes_another_order_for_a_difference_where_classic_has_one) {
  ShadowRecord record;
  const Answer ours = page("{a => 1,\n b => 2,\n c => 3\n}\n");
  EXPECT_TRUE(record.conclude(kSubject, ours, page("{b => 2,\n c => 3,\n a => 1\n}\n"), ours));
}

}  // namespace
}  // namespace compare
