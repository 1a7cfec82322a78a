#include "limits/identities.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "limits/peers.h"
#include "limits/privileges.h"
#include "router/path_walk.h"

namespace limits {
namespace {

constexpr std::string_view kOwner = "owner";

// "defaults", "program[1]", ...: as problem messages for the file name them.
template <typename Do>
void for_each_section(const config::Settings& settings, const Do& act) {
  act("defaults", settings.defaults);
  for (std::size_t i = 0; i < settings.programs.size(); ++i) {
    act(fmt::format("program[{}]", i + 1), settings.programs[i]);
  }
}

bool is_open_to_others(const config::ListenAddress& address) {
  return address.kind == config::ListenAddress::Kind::tcp && !address.host.starts_with("127.") &&
         address.host != "::1";
}

// The same for the links by which program leads to its file.
std::optional<std::string> why_not_by_links(const std::string& program,
                                            const router::PathWalk& walk, ::uid_t owner) {
  const std::size_t slash = program.rfind('/');
  const std::string folder = router::walk_path(program.substr(0, slash)).real;
  const std::string named = (folder == "/" ? "" : folder) + program.substr(slash);
  for (const router::LinkOnPath& link : walk.links) {
    const auto facts = facts_of(link.path);
    if (!facts) return facts.error().message;
    const LinkUse use = link.path == named ? LinkUse::named : LinkUse::on_the_way;
    if (auto why = why_not_by_link(facts.value(), owner, use)) return why;
  }
  return std::nullopt;
}

bool names_a_user(const config::ProgramSettings& settings) {
  return !settings.user.empty() && settings.user != kOwner;
}

}  // namespace

Identities::Identities(const loop::Clock& clock, const std::string& adapters)
    : step_down_(adapters + "/cgibridge-step-down"),
      may_change_(may_change_users()),
      users_(clock),
      sandboxes_(clock, adapters) {}

void Identities::use(const config::BridgeSettings& settings) {
  floors_ = {.uid_min = settings.owner.uid_min, .gid_min = settings.owner.gid_min};
  users_.forget();
}

cgi::OrRefusal<Terms> Identities::terms_for(const config::ProgramSettings& settings,
                                            const std::string& program) {
  Terms terms = terms_of(settings);
  terms.step_down = step_down_;
  if (const auto refusal = add_identity(terms, settings, program)) {
    ++refused_;
    return *refusal;
  }
  auto sandbox = sandboxes_.of(settings.sandbox, program);
  if (!sandbox) {
    ++refused_;
    return sandbox.refusal();
  }
  terms.sandbox = sandbox.take();
  return terms;
}

std::optional<cgi::Refusal> Identities::why_no_longer(const config::ProgramSettings& settings,
                                                      const std::string& program) {
  if (settings.user != kOwner) return std::nullopt;
  Terms terms;
  auto refusal = add_identity(terms, settings, program);
  if (refusal) ++refused_;
  return refusal;
}

std::optional<cgi::Refusal> Identities::add_identity(Terms& terms,
                                                     const config::ProgramSettings& settings,
                                                     const std::string& program) {
  if (settings.user.empty()) return std::nullopt;
  auto identity = identity_of(settings, program);
  if (!identity) {
    return cgi::Refusal{identity.refusal().status,
                        fmt::format("user = \"{}\": {}", settings.user, identity.refusal().reason)};
  }
  if (!is_own(identity.value())) terms.identity = identity.take();
  return std::nullopt;
}

cgi::OrRefusal<Identity> Identities::identity_of(const config::ProgramSettings& settings,
                                                 const std::string& program) {
  cgi::OrRefusal<Identity> found = [&]() -> cgi::OrRefusal<Identity> {
    if (settings.user == kOwner) return owner_of(program);
    const auto& named = users_.named(settings.user);
    if (!named) return cgi::Refusal{500, named.error().message};
    return named.value();
  }();
  if (!found || is_own(found.value()) || may_change_) return found;
  return cgi::Refusal{500, fmt::format("the bridge was not started as root and cannot become {}",
                                       found.value().name)};
}

cgi::OrRefusal<Identity> Identities::owner_of(const std::string& program) {
  const router::PathWalk walk = router::walk_path(program);
  if (walk.error_number != 0) {
    return cgi::Refusal{403, program + ": " + std::strerror(walk.error_number)};
  }
  // A real path has no links; a link that has taken a folder's place since then is not a folder.
  const auto facts = facts_of(walk.real);
  if (!facts) return cgi::Refusal{403, facts.error().message};
  if (const auto why = why_not_as_owner(facts.value(), floors_)) return cgi::Refusal{403, *why};
  const ::uid_t file_owner = facts.value().front().owner;
  if (const auto why = why_not_by_links(program, walk, file_owner)) return cgi::Refusal{403, *why};
  const auto& owner = users_.numbered(file_owner);
  if (!owner) return cgi::Refusal{403, owner.error().message};
  if (const auto why = why_not_in_group(owner.value().gid, floors_)) {
    return cgi::Refusal{403, *why};
  }
  return owner.value();
}

// Supplementary groups are not compared: without rights they cannot be changed, and root needs
// none.
bool Identities::is_own(const Identity& identity) {
  return identity.uid == ::geteuid() && identity.gid == ::getegid();
}

std::vector<std::string> Identities::problems_of(const config::Settings& settings) {
  std::vector<std::string> problems;
  Users users(loop::system_clock());
  std::string told;  // every [[program]] that does not override [defaults] repeats it
  for_each_section(settings, [&](const std::string& section, const auto& program) {
    if (!names_a_user(program) || program.user == told) return;
    const auto& user = users.named(program.user);
    if (user.ok()) return;
    told = program.user;
    problems.push_back(section + ".user: " + user.error().message);
  });
  if (const auto rules = PeerRules::of(settings.bridge); !rules) {
    problems.push_back(rules.error().message);
  }
  for (std::string& problem : sandbox::Sandboxes::problems_of(settings)) {
    problems.push_back(std::move(problem));
  }
  return problems;
}

void Identities::tell_of_sandboxes(const config::Settings& settings) const {
  for (const auto& [held, text] : sandboxes_.words_for(settings)) {
    if (held) base::log_info("{}", text);
    if (!held) base::log_warn("{}", text);
  }
}

std::vector<std::string> Identities::warnings_for(const config::Settings& settings) {
  std::vector<std::string> warnings;
  for (const config::ListenAddress& address : settings.bridge.all_addresses()) {
    if (!is_open_to_others(address) || !settings.bridge.allow.addresses.empty()) continue;
    warnings.push_back(
        config::to_string(address) +
        ": whoever reaches it can run programs; bridge.allow.addresses says who may");
  }
  if (may_change_) {
    if (settings.defaults.user.empty()) {
      warnings.push_back(
          "started as root: programs for which no section says `user` run as root, with all its "
          "rights; [defaults] user = \"www-data\" or \"owner\" ends that");
    }
    return warnings;
  }
  for_each_section(settings, [&](const std::string& section, const auto& program) {
    if (program.user.empty() || (section != "defaults" && program.user == settings.defaults.user)) {
      return;
    }
    const bool own = program.user != kOwner && users_.named(program.user).ok() &&
                     is_own(users_.named(program.user).value());
    if (own) return;
    warnings.push_back(
        fmt::format("{}.user = \"{}\": the bridge was not started as root, so only programs whose "
                    "user is its own can run; others are answered with 500",
                    section, program.user));
  });
  return warnings;
}

}  // namespace limits
