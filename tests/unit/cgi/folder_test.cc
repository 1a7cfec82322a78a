#include <gtest/gtest.h>

#include <string>

#include "cgi/environment.h"

namespace {

using namespace std::literals;

TEST(FolderOf, is_the_programs_or_what_the_web_server_says) {
  EXPECT_EQ(cgi::folder_of("/srv/cgi/a.pl", ""), "/srv/cgi");
  EXPECT_EQ(cgi::folder_of("/a.pl", "A=b\0"s), "/");
  EXPECT_EQ(cgi::folder_of("/srv/a.pl", "A=b\0FCGI_CHDIR=/usr\0C=d\0"s), "/usr");
  EXPECT_EQ(cgi::folder_of("/srv/a.pl", "FCGI_CHDIR=-\0"s), ".");
  EXPECT_EQ(cgi::folder_of("/srv/a.pl", "FCGI_CHDIR=\0"s), "/srv");
  EXPECT_EQ(cgi::folder_of("/srv/a.pl", "A=FCGI_CHDIR=/usr\0"s), "/srv");
}

}  // namespace
