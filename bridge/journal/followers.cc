#include "journal/followers.h"

#include <fmt/format.h>

#include <algorithm>

namespace journal {

base::Status Followers::add(const void* owner, const std::string& marker, Events events) {
  if (marker.size() < kMarkerBytesMin || marker.size() > kMarkerBytesMax) {
    return base::Error{fmt::format("follow: a marker has {} to {} bytes, so that nobody guesses it",
                                   kMarkerBytesMin, kMarkerBytesMax)};
  }
  forget(owner);
  if (followers_.size() >= kMost) {
    return base::Error{fmt::format("follow: {} others follow a request already", kMost)};
  }
  if (find(marker) != nullptr) return base::Error{"follow: that marker is taken"};
  followers_.push_back({owner, marker, std::move(events)});
  return base::Done{};
}

void Followers::forget(const void* owner) {
  followers_.remove_if([owner](const Follower& one) { return one.owner == owner; });
}

std::string Followers::marker_of(const cgi::Variables& variables) const {
  if (followers_.empty()) return {};
  const std::string_view marker = cgi::value_or_empty(variables, kParam);
  const bool awaited = std::ranges::any_of(
      followers_, [marker](const Follower& one) { return one.marker == marker && !one.found; });
  return awaited ? std::string(marker) : std::string();
}

Followers::Follower* Followers::find(const std::string& marker) {
  const auto found = std::ranges::find(followers_, marker, &Follower::marker);
  return found == followers_.end() ? nullptr : &*found;
}

void Followers::began(const Entry& entry) {
  Follower* follower = find(entry.followed);
  if (follower == nullptr) return;
  follower->found = true;
  follower->events.on_began(entry);
}

void Followers::ended(const Entry& entry) {
  Follower* follower = find(entry.followed);
  if (follower != nullptr) follower->events.on_ended(entry);
}

}  // namespace journal
