// Every figure that is a single number: where it comes from, and its names in the status and as a
// metric. A new one needs only a row in figures.cc to appear in both.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "admin/metrics_text.h"
#include "compare/figures.h"
#include "gateway/gateway.h"
#include "pool/pools.h"

namespace admin {

// What the bridge's figures are taken from.
struct BridgeView {
  const gateway::Gateway& gateway;
  const pool::Pools& pools;
};

// Rows of one family are next to each other, and a label distinguishes its samples.
template <typename Of>
struct Figure {
  std::string_view key;        // its place in the status: "queue", "rewind/verified"; "": none
  MetricsText::Family family;  // empty name: no metric
  std::uint64_t (*value)(const Of&);
  std::string_view label = {}, label_value = {};
  bool only_if_any = false;  // a metric of 0 is left out
};

std::span<const Figure<BridgeView>> bridge_figures();
std::span<const Figure<pool::PoolStatus>> program_figures();
std::span<const Figure<compare::Figures>> arm_figures();

// Adds the figures that have a key.
template <typename Of>
void add_figures(nlohmann::json& json, std::span<const Figure<Of>> figures, const Of& of) {
  for (const Figure<Of>& figure : figures) {
    if (figure.key.empty()) continue;
    const auto slash = figure.key.find('/');
    nlohmann::json& group =
        slash == figure.key.npos ? json : json[std::string(figure.key.substr(0, slash))];
    const auto name = slash == figure.key.npos ? figure.key : figure.key.substr(slash + 1);
    group[std::string(name)] = figure.value(of);
  }
}

// Writes each family once. for_each(write) calls write(labels, of) for each thing that has figures.
template <typename Of, typename ForEach>
void write_figures(MetricsText& out, std::span<const Figure<Of>> figures, const ForEach& for_each) {
  for (std::size_t i = 0; i < figures.size();) {
    const MetricsText::Family& family = figures[i].family;
    std::size_t end = i + 1;
    while (end < figures.size() && figures[end].family.name == family.name) ++end;
    const auto rows = figures.subspan(i, end - i);
    i = end;
    if (family.name.empty()) continue;
    out.begin(family);
    for_each([&](const Labels& labels, const Of& of) {
      for (const Figure<Of>& row : rows) {
        const std::uint64_t value = row.value(of);
        if (value == 0 && row.only_if_any) continue;
        out.sample(row.label.empty() ? labels : labels.with(row.label, row.label_value), value);
      }
    });
  }
}

}  // namespace admin
