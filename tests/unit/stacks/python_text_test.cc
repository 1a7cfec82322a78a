#include "stacks/python_text.h"

#include <gtest/gtest.h>

namespace {

using Frames = std::vector<std::string>;
using stacks::python_frames_in;

TEST(PythonText, gives_a_frame_a_line_innermost_first) {
  EXPECT_EQ(python_frames_in("Stack (most recent call first):\n"
                             "  File \"/srv/a.py\", line 12 in fetch\n"
                             "  File \"/srv/a b.py\", line 30 in <module>\n"),
            (Frames{"python: fetch (/srv/a.py:12)", "python: <module> (/srv/a b.py:30)"}));
}

TEST(PythonText, passes_over_what_is_no_frame) {
  for (const char* text :
       {"", "\n", "  File \"", "  File \", line 5 in x", "  File \"a\", line in x",
        "  File \"a\", line  in x", "  File \"a\", line 5", "File \"a\", line 5 in x",
        "  File \"a\", line 5x in f"}) {
    EXPECT_EQ(python_frames_in(text), Frames()) << text;
  }
}

TEST(PythonText, gives_no_more_than_a_hundred_frames) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "  File \"a\", line 5 in f\n";
  EXPECT_EQ(python_frames_in(text).size(), 100u);
}

}  // namespace
