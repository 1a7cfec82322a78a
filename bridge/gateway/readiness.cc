#include "gateway/readiness.h"

#include <fmt/format.h>

#include "base/log.h"

namespace gateway {

void Readiness::wait_for(std::vector<std::string> programs, base::TimePoint until) {
  awaited_ = std::move(programs);
  until_ = until;
}

std::string Readiness::why_not(base::TimePoint now, const StillWarming& still_warming) const {
  if (leaving_) return "the bridge is about to end";
  if (now >= until_) awaited_.clear();
  std::erase_if(awaited_, [&](const std::string& program) { return !still_warming(program); });
  if (awaited_.empty()) return {};
  return fmt::format("{} program(s) of bridge.prewarm are not warm yet, the first is {}",
                     awaited_.size(), base::printable(awaited_.front()));
}

PageAnswer health_answer(const PageRequest& request, const std::string& why_not) {
  PageAnswer answer{.headers = {{"Cache-Control", "no-store"}}, .body = "ready\n"};
  if (request.method != "GET" && request.method != "HEAD") {
    answer.status = 405;
    answer.headers.emplace_back("Allow", "GET, HEAD");
    answer.body = "only GET, HEAD\n";
  } else if (!why_not.empty()) {
    answer.status = 503;
    answer.body = why_not + "\n";
  }
  return answer;
}

}  // namespace gateway
