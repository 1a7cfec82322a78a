#include "stacks/perl_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stacks {
namespace {

constexpr std::string_view kInterpreter = "PL_curinterp";
constexpr std::string_view kVersion = "PL_version";
constexpr std::size_t kFramesMax = 64;
// How many contexts and stackinfos are examined: a program's may form a circle.
constexpr std::size_t kStepsMax = 20'000;
constexpr std::size_t kTextBytesMax = 1024;

// Where things are in the structures of a perl with threads on a 64-bit machine: from intrpvar.h,
// cop.h, cv.h and sv.h. perl does not change them within a version. test_slow_log.py compares them
// with the headers.
struct Layout {
  // interpreter
  unsigned current_cop, current_stackinfo;
  // stackinfo
  unsigned contexts, previous_stackinfo, context_index;
  // context
  unsigned context_bytes, context_cop, context_cv;
  // cop
  unsigned cop_line, cop_file;
  // cv's and gv's bodies
  unsigned cv_name, cv_flags, gv_name;
};
constexpr Layout kLayout = {208, 224, 8, 16, 32, 104, 16, 72, 36, 48, 56, 92, 32};
// All of these have the same; the second number of each: 5.36.
constexpr std::array kVersions = {36, 38, 40, 42};

constexpr unsigned kTypeMask = 0xf, kTypeSub = 9;  // cop.h: CXTYPEMASK, CXt_SUB
constexpr std::uint32_t kNamed = 0x8000;           // cv.h: CVf_NAMED
constexpr unsigned kHekText = 8;                   // hv.h: after a hash and a length

class Walk {
 public:
  explicit Walk(const StoppedProgram& program) : program_(program) {}

  std::vector<std::string> frames(Address interpreter) {
    Address cop = pointer(interpreter + kLayout.current_cop);
    Address info = pointer(interpreter + kLayout.current_stackinfo);
    while (info != 0 && frames_.size() < kFramesMax && ++steps_ < kStepsMax) {
      const Address contexts = pointer(info + kLayout.contexts);
      const auto index = program_.read_value<std::int32_t>(info + kLayout.context_index);
      for (std::int64_t i = index.value_or(-1);
           i >= 0 && frames_.size() < kFramesMax && ++steps_ < kStepsMax; --i) {
        cop = visit(contexts + static_cast<Address>(i) * kLayout.context_bytes, cop);
      }
      info = pointer(info + kLayout.previous_stackinfo);
    }
    add("main program", cop);
    return std::move(frames_);
  }

 private:
  Address pointer(Address at) const { return program_.read_value<Address>(at).value_or(0); }

  // The cop where its caller was.
  Address visit(Address context, Address cop) {
    const auto type = program_.read_value<std::uint8_t>(context);
    if (!type || (*type & kTypeMask) != kTypeSub) return cop;
    add(name_of(pointer(context + kLayout.context_cv)), cop);
    return pointer(context + kLayout.context_cop);
  }

  std::string name_of(Address cv) const {
    const Address body = pointer(cv);
    const auto flags = program_.read_value<std::uint32_t>(body + kLayout.cv_flags);
    Address name = pointer(body + kLayout.cv_name);
    if ((flags.value_or(0) & kNamed) == 0) name = pointer(pointer(name) + kLayout.gv_name);
    const std::string text = program_.read_text(name + kHekText, kTextBytesMax);
    return text.empty() ? "?" : text;
  }

  void add(const std::string& name, Address cop) {
    const auto line = program_.read_value<std::uint32_t>(cop + kLayout.cop_line);
    const std::string file = program_.read_text(pointer(cop + kLayout.cop_file), kTextBytesMax);
    if (!line || file.empty()) return;
    frames_.push_back(fmt::format("perl: {} ({}:{})", name, file, *line));
  }

  const StoppedProgram& program_;
  std::vector<std::string> frames_;
  std::size_t steps_ = 0;
};

}  // namespace

std::vector<std::string_view> perl_symbols() {
  return {kInterpreter, kVersion};
}

std::vector<std::string> perl_frames(const StoppedProgram& program, const Modules& modules) {
  const auto interpreter = modules.symbol(kInterpreter), version = modules.symbol(kVersion);
  if (sizeof(void*) != 8 || !interpreter || !version) return {};
  const auto number = program.read_value<std::uint8_t>(*version);
  const auto address = program.read_value<Address>(*interpreter);
  if (!number || !address) return {};
  if (std::find(kVersions.begin(), kVersions.end(), *number) == kVersions.end()) return {};
  return Walk(program).frames(*address);
}

}  // namespace stacks
