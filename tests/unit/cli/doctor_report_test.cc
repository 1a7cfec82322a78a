#include "cli/doctor_report.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

using doctor::Area;
using doctor::Mark;

const Terminal kPlain{Charset::ascii, Colours::off, 60};

TEST(DoctorReport, names_an_area_once_and_what_to_do_below) {
  const std::string text = doctor_report("title",
                                         {{Area::socket, Mark::ok, "One."},
                                          {Area::socket, Mark::wrong, "Two.", "do it"},
                                          {Area::roots, Mark::note, "Three."}},
                                         kPlain);
  EXPECT_EQ(text,
            "title\n"
            "socket    ok    One.\n"
            "          wrong Two.\n"
            "                > do it\n"
            "roots     note  Three.\n"
            "1 is wrong; 1 note(s).\n");
}

TEST(DoctorReport, says_that_nothing_is_wrong) {
  EXPECT_EQ(doctor_report("t", {}, kPlain), "t\nNothing is wrong.\n");
}

TEST(DoctorReport, wraps_long_sentences) {
  const std::string text = doctor_report(
      "t", {{Area::kernel, Mark::ok, "A sentence that is longer than a line of this terminal is."}},
      kPlain);
  EXPECT_NE(text.find("\n                "), text.npos) << text;
}

TEST(DoctorReport, lets_nobody_steer_the_terminal) {
  const std::string evil = "a\x1b]0;b\x07\x9b\r\nforged";
  const Terminal colours{Charset::unicode, Colours::on, 60};
  for (const Terminal& terminal : {kPlain, colours}) {
    const std::string text = doctor_report(evil, {{Area::kernel, Mark::ok, evil, evil}}, terminal);
    EXPECT_EQ(text.find("\x1b]"), text.npos) << text;
    EXPECT_EQ(text.find('\x07'), text.npos);
    EXPECT_EQ(text.find('\r'), text.npos);
    EXPECT_EQ(text.find("\nforged"), text.npos);
  }
}

TEST(DoctorReport, colours_the_marks) {
  const Terminal colours{Charset::unicode, Colours::on, 60};
  const std::string text = doctor_report("t", {{Area::kernel, Mark::wrong, "x"}}, colours);
  EXPECT_NE(text.find("\x1b[31mwrong"), text.npos) << text;
}

}  // namespace
}  // namespace cli
