// The page that the bridge serves itself: what operators see in a browser, and its data.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "admin/page_guard.h"
#include "admin/status.h"
#include "gateway/page_visit.h"

namespace admin {

// Answers the requests below bridge.page.path:
//   GET ""            the page (page.html)
//   GET /data.json    the status; ?brief without what is long, ?program=PATH only that one,
//                     ?most=N only the N busiest programs
//   GET /metrics      OpenMetrics
//   POST /mode        {"program": path, "mode": word} switches, if bridge.page.switch_modes
// Settings are read at each request, so a change of who may see the page takes effect at once.
class Page {
 public:
  // Switches a program's mode; the result says why it was not switched.
  using SwitchMode = std::function<std::optional<std::string>(const std::string& program,
                                                              const std::string& mode)>;

  // The references outlive the page.
  Page(gateway::Gateway& gateway, const pool::Pools& pools, SwitchMode switch_mode);

  // A gateway::PageHandler.
  gateway::PageAnswer answer(const gateway::PageRequest& request) const;

 private:
  gateway::PageAnswer route(const gateway::PageRequest& request,
                            const config::BridgeSettings::Page& settings) const;
  gateway::PageAnswer html(const config::BridgeSettings::Page& settings) const;
  gateway::PageAnswer data(const gateway::PageRequest& request,
                           const config::BridgeSettings::Page& settings) const;
  gateway::PageAnswer mode(const gateway::PageRequest& request,
                           const config::BridgeSettings::Page& settings) const;

  gateway::Gateway& gateway_;
  const pool::Pools& pools_;
  const SwitchMode switch_mode_;
  const PageGuard guard_;
};

}  // namespace admin
