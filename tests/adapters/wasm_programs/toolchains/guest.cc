// In each language the same: prints the words, the environment and the body, tells something on
// standard error, keeps a number in a file and in memory, and exits with the code that QUERY_STRING
// says.
#include <algorithm>
#include <cstdio>  // Debian 13's libc++ for WebAssembly has no <fstream>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

extern char **environ;

static std::map<std::string, int> runs;

int main(int argc, char **argv) {
  std::cout << "Content-Type: text/plain\r\n\r\nHello\n";
  for (int i = 1; i < argc; i++) std::cout << "word " << argv[i] << "\n";
  std::vector<std::string> variables;
  for (char **variable = environ; *variable; variable++) variables.push_back(*variable);
  std::sort(variables.begin(), variables.end());
  for (const std::string &variable : variables) std::cout << "variable " << variable << "\n";
  std::string body{std::istreambuf_iterator<char>(std::cin), {}};
  std::cout << "body " << body << "\nruns " << ++runs["this"] << "\n";
  std::FILE *file = std::fopen("/data/written", "w");
  std::fputs("by the guest", file);
  std::fclose(file);
  char line[99] = "";
  file = std::fopen("/data/written", "r");
  std::fgets(line, sizeof line, file);
  std::fclose(file);
  std::cout << "file " << line << "\n";
  std::cerr << "told\n";
  return std::atoi(std::getenv("QUERY_STRING"));
}
