// The files that a zygote loaded on its way to its checkpoint, whether they are still the same, and
// how soon after a change the program is made warm again.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "loop/clock.h"
#include "router/resolver.h"

namespace modules {

// An edited module must not answer from a zygote that compiled the old one. Files are checked again
// with stat(), all of them in one look. Looks may take one per cent of the time: so they are
// kLeastInterval to kMostInterval apart. Within that interval a changed module may serve once more,
// as it would for a request that began before the change.
class LoadedFiles {
 public:
  static constexpr std::chrono::milliseconds kLeastInterval{10};
  static constexpr std::chrono::milliseconds kMostInterval{500};
  static constexpr std::size_t kFilesMax = 2000;

  // A file that changed since launched_ns (loop::Clock::file_stamp_ns()) counts as changed from the
  // beginning, because nobody knows whether it was read before or after; 0: this does not apply.
  // program is left out, because it is checked for each request anyway. clock outlives this object.
  explicit LoadedFiles(const loop::Clock& clock, std::int64_t launched_ns = 0,
                       std::string program = {})
      : clock_(&clock), launched_ns_(launched_ns), program_(std::move(program)) {}

  // paths: one per line. Those that are not absolute, or that exceed kFilesMax, are ignored. If a
  // path ends with a slash, only another file in its place counts as a change.
  void add(std::string_view paths);
  // Adds what is mapped into a process: the program or its interpreter, and shared libraries.
  void add_mapped(pid_t pid);
  // The same, from the text of /proc/PID/maps.
  void add_maps(std::string_view maps);

  // The path of a file that has changed since it was added, or "". Checks at most once per
  // interval.
  std::string changed();

  std::size_t size() const { return files_.size(); }

 private:
  std::unordered_map<std::string, router::FileIdentity> files_;
  const loop::Clock* clock_;
  std::int64_t launched_ns_;
  std::string program_;
  base::TimePoint next_look_{};
};

// Keeps a program whose files change all the time from being made warm for nothing: each start
// costs as much as tens of requests. A change is followed at once by a new generation. But if
// changes throw away two or more generations in a row that are younger than kCalm, the next one is
// started only when nothing has changed for kFirstPause, then twice as long each time, up to
// kLongestPause; meanwhile the program runs classic, and so answers as its newest version does. A
// generation that is left alone for kCalm ends that.
class ChangeDamper {
 public:
  static constexpr std::chrono::seconds kCalm{10};
  static constexpr std::chrono::milliseconds kFirstPause{250};
  static constexpr std::chrono::milliseconds kLongestPause{8000};

  void note_change(base::TimePoint now);
  void note_start(base::TimePoint now);
  // How long the present generation has lived; kCalm or more if there is none.
  base::Duration life(base::TimePoint now) const;
  // The reason for the changes is known and gone: they no longer count.
  void forgive() { *this = ChangeDamper(); }
  // How much longer to wait before a start; zero: it may happen now.
  base::Duration wait(base::TimePoint now) const;
  // For how long nothing may change before a start.
  base::Duration pause() const;
  std::string describe() const;
  // True once for each length of the pause until the next start: worth a line in the log.
  bool tell();
  bool is_told() const { return told_pause_.count() > 0; }

 private:
  base::TimePoint changed_{};
  base::TimePoint started_{};
  bool is_started_ = false;   // since the last change
  unsigned thrown_away_ = 0;  // young generations, in a row
  base::Duration told_pause_{0};
};

}  // namespace modules
