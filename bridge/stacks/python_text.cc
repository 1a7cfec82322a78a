#include "stacks/python_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace stacks {
namespace {

constexpr std::size_t kFramesMax = 100;

std::string python_frame(std::string_view line) {
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ", kIn = " in ";
  if (!line.starts_with(kFile)) return {};
  line.remove_prefix(kFile.size());
  const std::size_t path_end = line.find(kLine);
  if (path_end == line.npos) return {};
  const std::string_view path = line.substr(0, path_end);
  line.remove_prefix(path_end + kLine.size());
  const std::size_t number_end = line.find(kIn);
  const std::string_view number = line.substr(0, number_end);
  if (number_end == line.npos || number.empty() ||
      number.find_first_not_of("0123456789?") != number.npos) {
    return {};
  }
  return fmt::format("python: {} ({}:{})", line.substr(number_end + kIn.size()), path, number);
}

}  // namespace

std::vector<std::string> python_frames_in(std::string_view text) {
  std::vector<std::string> frames;
  while (!text.empty() && frames.size() < kFramesMax) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string frame = python_frame(text.substr(0, end));
    if (!frame.empty()) frames.push_back(std::move(frame));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return frames;
}

}  // namespace stacks
