// cgibridge-stack PID: what a program is doing, innermost frame first. For a script, its
// interpreter's frames come first; then the process's own, then the processes that it has started.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/log.h"
#include "stacks/modules.h"
#include "stacks/script_frames.h"
#include "stacks/stopped_program.h"

namespace {

constexpr std::size_t kCommandBytesMax = 200;
constexpr unsigned kDepthMax = 8;

void say(const std::string& line) {
  fmt::print("{}\n", base::printable(line));
}

std::string text_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void say_children(pid_t pid, unsigned depth) {
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (pid_t child = 0; list >> child;) {
    std::string command = text_of(fmt::format("/proc/{}/cmdline", child));
    for (char& c : command) {
      if (c == '\0') c = ' ';
    }
    say(fmt::format("child {}: {}", child, base::printable(command, kCommandBytesMax)));
    if (depth < kDepthMax) say_children(child, depth + 1);
  }
}

// A signal must not end this process while the program is not in its original state.
void hold_off_signals(int how) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::sigaddset(&signals, number);
  ::sigprocmask(how, &signals, nullptr);
}

int look_at(pid_t pid) {
  const auto modules = stacks::Modules::of(pid, stacks::interpreter_symbols());
  if (!modules) {
    say("no stack: " + modules.error().message);
    return 1;
  }
  hold_off_signals(SIG_BLOCK);
  std::vector<std::string> frames;
  {
    const auto stopped = stacks::StoppedProgram::stop(pid);
    if (!stopped) {
      say("no stack: " + stopped.error().message);
      return 1;
    }
    stacks::StoppedProgram& program = *stopped.value();
    frames = stacks::script_frames(program, modules.value());
    program.put_back();
    for (const std::string& frame : modules.value().frames(pid))
      frames.push_back("native: " + frame);
  }
  hold_off_signals(SIG_UNBLOCK);
  for (const std::string& frame : frames) say(frame);
  say_children(pid, 0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long pid = argc == 2 ? std::strtol(argv[1], nullptr, 10) : 0;
  if (pid <= 0) {
    fmt::print(stderr, "usage: cgibridge-stack PID\n");
    return 2;
  }
  return look_at(static_cast<pid_t>(pid));
}
