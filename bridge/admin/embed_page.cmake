# Makes a C++ source from a text file: cmake -DFROM=page.html -DTO=page_html.cc -P embed_page.cmake.
# Some compilers limit a string literal to 64 KiB, so the text is split into pieces.
file(READ "${FROM}" text)
set(pieces "")
string(LENGTH "${text}" left)
set(at 0)
while(left GREATER 0)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND pieces "R\"page(${piece})page\"\n")
  math(EXPR at "${at} + 8000")
  math(EXPR left "${left} - 8000")
endwhile()
file(WRITE "${TO}" "// Made from ${FROM}.
#include <string_view>
namespace admin {
extern const std::string_view kPageHtml;
const std::string_view kPageHtml =\n${pieces};
}  // namespace admin
")
