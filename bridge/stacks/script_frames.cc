#include "stacks/script_frames.h"

#include <fmt/format.h>

#include <algorithm>

#include "stacks/perl_frames.h"
#include "stacks/python_frames.h"
#include "stacks/python_text.h"

namespace stacks {
namespace {

constexpr std::string_view kErrno = "__errno_location";
constexpr std::string_view kPythonThread = "PyGILState_GetThisThreadState";
constexpr std::string_view kPythonDump = "_Py_DumpTraceback";
constexpr std::string_view kRubyFrames = "rb_profile_frames";
constexpr std::string_view kRubyPath = "rb_profile_frame_path";
constexpr std::string_view kRubyLabel = "rb_profile_frame_label";
constexpr std::string_view kRubyText = "rb_string_value_ptr";
constexpr std::size_t kTextBytesMax = 1024;

std::vector<std::string> python_frames(StoppedProgram& program, const Modules& modules) {
  const auto thread_of = modules.symbol(kPythonThread), dump = modules.symbol(kPythonDump);
  if (!thread_of || !dump) return {};
  const auto thread = program.call(*thread_of, {});
  if (!thread || thread->result == 0) return {};
  // Not a descriptor: the write fails, but is seen anyway.
  constexpr std::uint64_t kNoDescriptor = 0xffffffff;
  const auto dumped = program.call(*dump, {kNoDescriptor, thread->result});
  if (!dumped) return {};
  return python_frames_in(dumped->written);
}

// What a function of Ruby's debugging interface says about a frame, as text.
std::string ruby_text(StoppedProgram& program, Address function, Address to_text,
                      std::uint64_t frame) {
  const auto value = program.call(function, {frame});
  constexpr std::uint64_t kFlags = 7;  // of what is not an object: nil, a number, a symbol
  if (!value || value->result <= 8 || (value->result & kFlags) != 0) return {};
  const Address place = program.scratch();
  if (!program.write(place, &value->result, sizeof value->result)) return {};
  const auto text = program.call(to_text, {place});
  return text ? program.read_text(text->result, kTextBytesMax) : std::string();
}

std::vector<std::string> ruby_frames(StoppedProgram& program, const Modules& modules) {
  constexpr std::size_t kFrames = 64;
  const auto collect = modules.symbol(kRubyFrames), path = modules.symbol(kRubyPath),
             label = modules.symbol(kRubyLabel), text = modules.symbol(kRubyText);
  if (!collect || !path || !label || !text) return {};
  const Address values_at = program.scratch(), lines_at = values_at + kFrames * 8;
  const auto collected = program.call(*collect, {0, kFrames, values_at, lines_at});
  if (!collected) return {};
  const std::size_t count = std::min<std::size_t>(collected->result & 0xffffffff, kFrames);
  std::vector<std::uint64_t> values(count);
  std::vector<std::int32_t> lines(count);
  if (count == 0 || !program.read(values_at, values.data(), count * sizeof values[0]) ||
      !program.read(lines_at, lines.data(), count * sizeof lines[0])) {
    return {};
  }
  std::vector<std::string> frames;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = ruby_text(program, *label, *text, values[i]);
    const std::string file = ruby_text(program, *path, *text, values[i]);
    if (name.empty()) continue;  // a method in C, which the native frames show
    frames.push_back(file.empty() ? fmt::format("ruby: {}", name)
                                  : fmt::format("ruby: {} ({}:{})", name, file, lines[i]));
  }
  return frames;
}

// The program's errno, which the function that it is made to call may change.
class KeptErrno {
 public:
  KeptErrno(StoppedProgram& program, const Modules& modules) : program_(program) {
    const auto location = modules.symbol(kErrno);
    const auto called = location ? program.call(*location, {}) : std::nullopt;
    if (called) place_ = called->result;
    if (place_ != 0) value_ = program.read_value<int>(place_);
  }
  ~KeptErrno() {
    if (value_) program_.write(place_, &*value_, sizeof *value_);
  }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;
  bool is_kept() const { return value_.has_value(); }

 private:
  StoppedProgram& program_;
  Address place_ = 0;
  std::optional<int> value_;
};

}  // namespace

const std::vector<std::string_view>& interpreter_symbols() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all{kErrno,      kPythonThread, kPythonDump, kPythonRuntime,
                                      kRubyFrames, kRubyPath,     kRubyLabel,  kRubyText};
    for (const std::string_view name : perl_symbols()) all.push_back(name);
    return all;
  }();
  return names;
}

std::vector<std::string> script_frames(StoppedProgram& program, const Modules& modules) {
  std::vector<std::string> frames = perl_frames(program, modules);
  if (frames.empty()) frames = python_frames_of(program, modules);
  const bool others = modules.symbol(kPythonDump) || modules.symbol(kRubyFrames);
  if (!frames.empty() || !others) return frames;
  const KeptErrno kept(program, modules);
  if (!kept.is_kept()) return {};
  frames = python_frames(program, modules);
  return frames.empty() ? ruby_frames(program, modules) : frames;
}

}  // namespace stacks
