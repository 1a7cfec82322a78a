#include "sandbox/step_list.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/write_all.h"

namespace sandbox {
namespace {

constexpr std::array<std::string_view, STEP_FILTER + 1> kNames = {
    "",         "unshare",   "map_ids",  "private",      "take",    "root",    "tmpfs",
    "put",      "close_off", "loopback", "ready",        "join",    "root_is", "drop_caps",
    "landlock", "allow",     "become",   "no_new_privs", "enforce", "filter"};

std::string words_of(const sandbox_step& step, std::string_view payload) {
  if (step.kind == STEP_FILTER) return " ...";
  std::string words;
  if (step.a != 0 || step.b != 0) words = fmt::format(" {:x} {:x}", step.a, step.b);
  for (const char byte : payload) words += byte == '\0' ? ' ' : byte;
  if (!payload.empty()) words.insert(words.size() - payload.size(), " ");
  while (words.ends_with(' ')) words.pop_back();
  return words;
}

}  // namespace

void StepList::add(step_kind kind, std::uint64_t a, std::uint64_t b, std::string_view payload) {
  const sandbox_step step{kind, static_cast<std::uint32_t>(payload.size()), a, b};
  bytes_.append(reinterpret_cast<const char*>(&step), sizeof step);
  bytes_.append(payload);
  bytes_.resize((bytes_.size() + STEP_ALIGN - 1) / STEP_ALIGN * STEP_ALIGN);
}

void StepList::add_at(step_kind kind, std::string_view path, std::uint64_t a, std::uint64_t b,
                      std::string_view more) {
  std::string payload(path);
  payload += '\0';
  if (!more.empty()) payload.append(more) += '\0';
  add(kind, a, b, payload);
}

base::Result<base::UniqueFd> StepList::sealed() const {
  base::UniqueFd file(::memfd_create("cgibridge-steps", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return base::errno_error("sandbox: cannot make a file in memory", errno);
  if (const auto written = base::write_all(file.get(), bytes_, "sandbox: write its steps");
      !written)
    return written.error();
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return base::errno_error("sandbox: cannot seal a file in memory", errno);
  }
  return file;
}

std::string describe(const StepList& steps) {
  std::string text;
  std::string_view rest = steps.bytes();
  while (rest.size() >= sizeof(sandbox_step)) {
    sandbox_step step{};
    std::memcpy(&step, rest.data(), sizeof step);
    rest.remove_prefix(sizeof step);
    text += std::string(kNames[step.kind]) + words_of(step, rest.substr(0, step.size)) + '\n';
    rest.remove_prefix((step.size + STEP_ALIGN - 1) / STEP_ALIGN * STEP_ALIGN);
  }
  return text;
}

}  // namespace sandbox
