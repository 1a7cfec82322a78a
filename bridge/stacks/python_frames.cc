#include "stacks/python_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "stacks/python_lines.h"

namespace stacks {
namespace {

using Offset = std::uint64_t;

// How _PyRuntime begins: struct _Py_DebugOffsets of pycore_runtime.h. Unnamed parts are not used.
struct Layout {
  std::array<char, 8> cookie;
  std::uint64_t version, is_free_threaded;
  struct {
    Offset bytes, finalizing, interpreters;
  } runtime;
  struct {
    Offset bytes, id, next, threads, others[9];
  } interpreter;
  struct {
    Offset bytes, previous, next, interpreter, frame, thread_id, native_id, chunk, status;
  } thread;
  struct {
    Offset bytes, previous, code, at, locals, owner;
  } frame;
  struct {
    Offset bytes, file, name, qualified_name, lines, first_line, others[3], units;
  } code;
  Offset object[2], type[4], tuple[3], list[3], dictionary[3], floating[2], integer[3];
  struct {
    Offset size, count, text;
  } bytes;
  struct {
    Offset bytes, state, length, ascii_bytes;
  } text;
};
constexpr std::string_view kCookie = "xdebugpy";
constexpr unsigned kVersion = 0x030d;        // 3.13; all of its releases have this layout
constexpr std::uint8_t kNoFunction = 3;      // FRAME_OWNED_BY_CSTACK
constexpr std::uint64_t kUnitBytes = 2;      // _Py_CODEUNIT
constexpr std::uint64_t kCompactBytes = 16;  // of a text that is not ASCII: two more words
constexpr std::size_t kFramesMax = 100, kStepsMax = 1000, kTextMax = 1024, kTableMax = 1 << 20;

class Walk {
 public:
  Walk(const StoppedProgram& program, const Layout& layout) : program_(program), is_(layout) {}

  std::vector<std::string> frames(Address runtime) const {
    std::vector<std::string> frames;
    Address frame = pointer(first_thread(runtime) + is_.thread.frame);
    for (std::size_t i = 0; frame != 0 && i < kStepsMax && frames.size() < kFramesMax; ++i) {
      const auto owner = program_.read_value<std::uint8_t>(frame + is_.frame.owner);
      if (!owner) break;
      if (*owner != kNoFunction) frames.push_back(describe(frame));
      frame = pointer(frame + is_.frame.previous);
    }
    return frames;
  }

 private:
  Address pointer(Address at) const { return program_.read_value<Address>(at).value_or(0); }

  // The one of the process's first thread, which is the stopped one: found by its number, or as the
  // oldest if numbers belong to another namespace. 0: it runs no Python.
  Address first_thread(Address runtime) const {
    const Address interpreter = pointer(runtime + is_.runtime.interpreters);
    Address thread = pointer(interpreter + is_.interpreter.threads), oldest = thread;
    for (std::size_t i = 0; thread != 0 && i < kStepsMax; ++i) {
      const auto id = program_.read_value<std::uint64_t>(thread + is_.thread.native_id);
      if (id == static_cast<std::uint64_t>(program_.pid())) return thread;
      oldest = thread;
      thread = pointer(thread + is_.thread.next);
    }
    return oldest;
  }

  std::string describe(Address frame) const {
    const Address code = pointer(frame + is_.frame.code);
    const auto line = line_of(code, pointer(frame + is_.frame.at));
    return fmt::format("python: {} ({}:{})", text(pointer(code + is_.code.name)),
                       text(pointer(code + is_.code.file)), line ? fmt::to_string(*line) : "?");
  }

  std::optional<std::int64_t> line_of(Address code, Address at) const {
    const Address table = pointer(code + is_.code.lines), units = code + is_.code.units;
    const auto size = program_.read_value<std::uint64_t>(table + is_.bytes.count);
    const auto first = program_.read_value<std::int32_t>(code + is_.code.first_line);
    if (!size || *size > kTableMax || !first || at < units) return std::nullopt;
    std::vector<std::uint8_t> lines(*size);
    if (!program_.read(table + is_.bytes.text, lines.data(), lines.size())) return std::nullopt;
    return python_line(lines, *first, (at - units) / kUnitBytes);
  }

  // As CPython itself writes it in a traceback after a crash.
  std::string text(Address object) const {
    const auto state = program_.read_value<std::uint32_t>(object + is_.text.state);
    const auto length = program_.read_value<std::uint64_t>(object + is_.text.length);
    if (!state || !length) return "?";
    const bool is_ascii = (*state >> 6 & 1) != 0;
    const std::size_t width = is_ascii ? 1 : std::min<std::uint32_t>(*state >> 2 & 7, 4);
    const std::size_t count = std::min<std::uint64_t>(*length, kTextMax);
    const Address from = object + is_.text.ascii_bytes + (is_ascii ? 0 : kCompactBytes);
    std::vector<std::uint8_t> bytes(count * width);
    if (width == 0 || !program_.read(from, bytes.data(), bytes.size())) return "?";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += width) {
      std::uint32_t letter = 0;
      std::copy_n(bytes.data() + i, width, reinterpret_cast<std::uint8_t*>(&letter));
      append(out, letter);
    }
    return out;
  }

  static void append(std::string& out, std::uint32_t letter) {
    if (letter >= ' ' && letter < 0x7f) {
      out += static_cast<char>(letter);
    } else if (letter <= 0xff) {
      out += fmt::format("\\x{:02x}", letter);
    } else {
      out += letter <= 0xffff ? fmt::format("\\u{:04x}", letter) : fmt::format("\\U{:08x}", letter);
    }
  }

  const StoppedProgram& program_;
  const Layout& is_;
};

}  // namespace

std::vector<std::string> python_frames_of(const StoppedProgram& program, const Modules& modules) {
  const auto runtime = modules.symbol(kPythonRuntime);
  const auto layout = runtime ? program.read_value<Layout>(*runtime) : std::nullopt;
  if (sizeof(void*) != 8 || !layout || layout->is_free_threaded != 0 ||
      std::string_view(layout->cookie.data(), layout->cookie.size()) != kCookie ||
      layout->version >> 16 != kVersion) {
    return {};
  }
  return Walk(program, *layout).frames(*runtime);
}

}  // namespace stacks
