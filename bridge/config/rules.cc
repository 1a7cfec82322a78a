#include "config/rules.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "config/units.h"

namespace config {
namespace {

using Workers = ProgramSettings::Workers;
using Number = unsigned Workers::*;

// low must not be above high.
struct Order {
  std::string_view low;
  Number low_member;
  std::string_view high;
  Number high_member;
};

constexpr std::array<Order, 2> kOrders = {{
    {"workers.min", &Workers::min, "workers.max", &Workers::max},
    {"workers.spare", &Workers::spare, "workers.max", &Workers::max},
}};

std::string compare(unsigned value, std::string_view word, std::string_view other, unsigned limit) {
  return std::to_string(value) + ' ' + std::string(word) + ' ' + std::string(other) + " (" +
         std::to_string(limit) + ')';
}

// An order that is broken only by inheritance was reported where it was written.
void check_order(Section& section, const Order& order, const Workers& workers) {
  unsigned low = workers.*order.low_member;
  unsigned high = workers.*order.high_member;
  if (low <= high || section.refused(order.low) || section.refused(order.high)) return;
  if (section.given(order.high) != nullptr) {
    section.complain(order.high, compare(high, "is below", order.low, low));
  } else if (section.given(order.low) != nullptr) {
    section.complain(order.low, compare(low, "is above", order.high, high));
  }
}

// [defaults] may say what only holds for the programs that are given another mode.
void check_promote(Section& section, const ProgramSettings& settings) {
  bool own_mode = section.given("mode") != nullptr || !settings.match.empty();
  bool compared = settings.mode == Mode::shadow || settings.mode == Mode::split;
  if (section.given("promote.after") == nullptr || settings.promote.after == 0) return;
  if (!own_mode || compared || section.refused("mode")) return;
  section.complain("promote.after", std::to_string(settings.promote.after) +
                                        " needs mode = \"shadow\" or \"split\", not " +
                                        quote(to_string(settings.mode)));
}

void check_pin(Section& section, const ProgramSettings& settings) {
  const ProgramSettings::Pin& pin = settings.pin;
  if (section.given("pin.header") == nullptr || pin.header.empty() || !pin.from.empty()) return;
  if (section.refused("pin.from")) return;
  section.complain("pin.header",
                   quote(pin.header) + " counts for nobody: pin.from says whose it does");
}

void check_headers(Section& section, const ProgramSettings& settings) {
  const std::string& name = settings.request_id_header;
  const bool same = !name.empty() && ::strcasecmp(name.c_str(), settings.arm_header.c_str()) == 0;
  if (!same) return;
  const bool first = section.given("request_id_header") == nullptr;
  if (first && section.given("arm_header") == nullptr) return;
  section.complain(
      first ? "arm_header" : "request_id_header",
      quote(name) + " is what " + (first ? "request_id_header" : "arm_header") + " names");
}

// What the kernel would refuse, or no program could work with.
void check_limits(Section& section, const CgroupLimits& limits) {
  if (section.given("limits.cpu") != nullptr && limits.cpu > 0 && limits.cpu < 1) {
    section.complain("limits.cpu",
                     format_per_cent(limits.cpu) + " is below 1, the least that can be held");
  }
  if (section.given("limits.memory") != nullptr && limits.memory > 0 &&
      limits.memory < base::kMiB) {
    section.complain("limits.memory",
                     format_size(limits.memory) + " is less than any program needs (1MiB)");
  }
}

void check_sandbox(Section& section, const ProgramSettings::Sandbox& sandbox) {
  if (section.given("sandbox.write") != nullptr && !sandbox.write.empty() && !sandbox.read_only &&
      !section.refused("sandbox.read_only")) {
    section.complain("sandbox.write", "means nothing without sandbox.read_only = true");
  }
}

void check_wasm(Section& section, const ProgramSettings::Wasm& wasm) {
  if (section.given("wasm.read_only") == nullptr || section.refused("wasm.dirs")) return;
  for (const std::string& name : wasm.read_only) {
    if (wasm.dirs.contains(name)) continue;
    section.complain("wasm.read_only", quote(name) + " is none of wasm.dirs");
  }
}

void check_bound(Section& section, const BridgeSettings& settings) {
  if (section.refused("bound") || section.refused("listen")) return;
  for (const BoundAddress& bound : settings.bound) {
    if (std::ranges::find(settings.listen, bound.address) == settings.listen.end()) continue;
    section.complain("bound", quote(to_string(bound.address)) +
                                  " is also in bridge.listen: what comes there is either for one "
                                  "program or for all");
  }
}

// The bridge would not start: the second socket to be bound would find the first there.
void check_control(Section& section, const BridgeSettings& settings) {
  const auto plain = [](const std::string& path) {
    return std::filesystem::path(path).lexically_normal();
  };
  const auto is_same = [&](const ListenAddress& address) {
    return address.kind == ListenAddress::Kind::unix_socket &&
           plain(address.path) == plain(settings.control);
  };
  const bool in_listen = std::ranges::any_of(settings.listen, is_same);
  const bool in_bound = std::ranges::any_of(
      settings.bound, [&](const BoundAddress& bound) { return is_same(bound.address); });
  if ((!in_listen && !in_bound) || section.refused("control")) return;
  const std::string list = in_listen ? "listen" : "bound";
  const bool is_given = section.given("control") != nullptr;
  section.complain(is_given ? "control" : list,
                   quote(settings.control) + " is also " +
                       (is_given ? "in bridge." + list : "bridge.control") +
                       ": commands and web servers need a socket each");
}

void check_health(Section& section, const BridgeSettings& settings) {
  const std::string& page = settings.page.path;
  const std::string& health = settings.health;
  if (health.empty() || page.empty() || section.refused("health")) return;
  const bool hides = health == page || health.starts_with(page + "/");
  if (!hides || section.refused("page.path")) return;
  section.complain("health", quote(health) + " is bridge.page.path or below it");
}

}  // namespace

void check_bridge(Section& section, const BridgeSettings& settings) {
  if (settings.roots.empty() && section.given("roots") == nullptr) {
    section.complain("roots", "is missing: the folders that programs may be in");
  }
  check_control(section, settings);
  check_bound(section, settings);
  check_limits(section, settings.limits);
  const BridgeSettings::Page& page = settings.page;
  if (!page.path.empty() && page.from.empty() && !section.refused("page.from")) {
    section.complain("page.from", "is empty: nobody could see the page");
  }
  check_health(section, settings);
}

void check_program(Section& section, ProgramSettings& settings) {
  Workers& workers = settings.workers;
  if (section.given("workers.spare") == nullptr && section.given("workers.max") != nullptr) {
    workers.spare = std::min(workers.spare, workers.max);
  }
  for (const Order& order : kOrders) check_order(section, order, workers);
  check_promote(section, settings);
  check_limits(section, settings.limits);
  check_pin(section, settings);
  check_headers(section, settings);
  check_sandbox(section, settings.sandbox);
  check_wasm(section, settings.wasm);
}

void check_naming(Section& section, const ProgramSettings& settings,
                  const std::vector<ProgramSettings>& earlier) {
  if (section.given("match") == nullptr) {
    section.complain("match", "is missing: which programs the section is for");
  }
  if (settings.name.empty()) return;
  auto same = std::ranges::find(earlier, settings.name, &ProgramSettings::name);
  if (same == earlier.end()) return;
  std::string number = std::to_string(same - earlier.begin() + 1);
  section.complain("name", quote(settings.name) + " is also the name of program[" + number + ']');
}

}  // namespace config
