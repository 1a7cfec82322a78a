#include "limits/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

namespace limits {
namespace {

// A user that was not found may be created meanwhile.
constexpr std::chrono::seconds kUnknownFor{5};
// If more users than this are known at once, all are forgotten and looked up again.
constexpr std::size_t kKnownMax = 10'000;
constexpr std::size_t kEntryBytesMax = 1024 * 1024;

struct User {
  std::string name;
  ::uid_t uid;
  ::gid_t gid;
};

std::optional<unsigned> number_of(std::string_view text) {
  unsigned number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  // The greatest number means "nobody's" to chown() and setresuid().
  if (failure != std::errc() || rest != end || text.empty()) return std::nullopt;
  if (number == std::numeric_limits<unsigned>::max()) return std::nullopt;
  return number;
}

// Calls one of the system's get...nam_r() with a buffer that is large enough. nullopt: no such
// entry; an Error: the system could not be asked.
template <typename Entry, typename Ask>
base::Result<std::optional<Entry>> ask_system(const Ask& ask, std::string& buffer) {
  for (buffer.resize(1024); buffer.size() <= kEntryBytesMax; buffer.resize(buffer.size() * 2)) {
    Entry entry{};
    Entry* found = nullptr;
    const int failure = ask(&entry, buffer.data(), buffer.size(), &found);
    if (failure == ERANGE || failure == EINTR) continue;
    if (found != nullptr) return std::optional<Entry>(entry);
    // The error number for "not found" depends on what answers (getpwnam(3)).
    if (failure == 0 || failure == ENOENT || failure == ESRCH || failure == EBADF ||
        failure == EPERM) {
      return std::optional<Entry>();
    }
    return base::Error{std::string("the system's users cannot be read: ") + std::strerror(failure)};
  }
  return base::Error{"an entry of the system's users is too long"};
}

base::Result<std::optional<User>> user_of(const base::Result<std::optional<passwd>>& entry) {
  if (!entry) return entry.error();
  if (!entry.value()) return std::optional<User>();
  const passwd& found = *entry.value();
  return std::optional<User>(User{found.pw_name, found.pw_uid, found.pw_gid});
}

base::Result<std::optional<User>> user_named(const std::string& name) {
  std::string buffer;
  return user_of(ask_system<passwd>(
      [&](auto... rest) { return ::getpwnam_r(name.c_str(), rest...); }, buffer));
}

base::Result<std::optional<User>> user_numbered(::uid_t uid) {
  std::string buffer;
  return user_of(
      ask_system<passwd>([&](auto... rest) { return ::getpwuid_r(uid, rest...); }, buffer));
}

std::vector<::gid_t> groups_of(const std::string& name, ::gid_t gid) {
  int count = 64;
  std::vector<::gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(name.c_str(), gid, groups.data(), &count) < 0) {
    groups.resize(std::max(groups.size() * 2, static_cast<std::size_t>(count)));
    count = static_cast<int>(groups.size());
  }
  groups.resize(static_cast<std::size_t>(count));
  std::sort(groups.begin(), groups.end());
  return groups;
}

base::Result<Identity> look_up(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string user_text = text.substr(0, colon);
  const auto number = number_of(user_text);
  auto asked = number ? user_numbered(*number) : user_named(user_text);
  if (!asked) return asked.error();
  const std::optional<User>& user = asked.value();
  if (!user && !number) return base::Error{"there is no user \"" + user_text + '"'};
  if (!user && colon == text.npos) {
    return base::Error{"no user has the number " + user_text + ": say its group too, as \"" +
                       user_text + ":GROUP\""};
  }
  Identity identity{.name = user ? user->name : user_text,
                    .uid = user ? user->uid : *number,
                    .gid = user ? user->gid : 0,
                    .groups = {}};
  if (colon != text.npos) {
    const auto gid = gid_of(text.substr(colon + 1));
    if (!gid) return gid.error();
    identity.gid = gid.value();
  }
  identity.groups = user ? groups_of(user->name, identity.gid) : std::vector{identity.gid};
  return identity;
}

}  // namespace

base::Result<::uid_t> uid_of(std::string_view text) {
  if (const auto number = number_of(text)) return *number;
  const auto user = user_named(std::string(text));
  if (!user) return user.error();
  if (!user.value()) return base::Error{"there is no user \"" + std::string(text) + '"'};
  return user.value()->uid;
}

base::Result<::gid_t> gid_of(std::string_view text) {
  if (const auto number = number_of(text)) return *number;
  const std::string name(text);
  std::string buffer;
  const auto entry =
      ask_system<group>([&](auto... rest) { return ::getgrnam_r(name.c_str(), rest...); }, buffer);
  if (!entry) return entry.error();
  if (!entry.value()) return base::Error{"there is no group \"" + name + '"'};
  return entry.value()->gr_gid;
}

const base::Result<Identity>& Users::recall(
    const std::string& key, const std::function<base::Result<Identity>()>& look_up) {
  const base::TimePoint now = clock_.now();
  const auto known = known_.find(key);
  if (known != known_.end()) {
    if (known->second.identity.ok() || now - known->second.since < kUnknownFor) {
      return known->second.identity;
    }
    known_.erase(known);
  }
  if (known_.size() >= kKnownMax) known_.clear();
  return known_.emplace(key, Known{look_up(), now}).first->second.identity;
}

const base::Result<Identity>& Users::named(const std::string& text) {
  return recall(text, [&text] { return look_up(text); });
}

const base::Result<Identity>& Users::numbered(::uid_t uid) {
  return recall('#' + std::to_string(uid), [uid]() -> base::Result<Identity> {
    auto user = user_numbered(uid);
    if (!user) return user.error();
    if (!user.value()) return base::Error{"no user has the number " + std::to_string(uid)};
    const User& found = *user.value();
    return Identity{found.name, found.uid, found.gid, groups_of(found.name, found.gid)};
  });
}

Identity own_identity() {
  Identity own{.name = "uid " + std::to_string(::geteuid()),
               .uid = ::geteuid(),
               .gid = ::getegid(),
               .groups = {}};
  const int count = ::getgroups(0, nullptr);
  own.groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  if (::getgroups(count, own.groups.data()) < 0) own.groups.clear();
  return own;
}

}  // namespace limits
