#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "doctor/judges.h"

namespace doctor {

std::string Trial::why() const {
  return step + (error == 0 ? " has no effect" : fmt::format(": {}", std::strerror(error)));
}

Findings diagnose(const Observations& seen) {
  Findings findings;
  judge_kernel(seen, findings);
  judge_rights(seen, findings);
  judge_bridge(seen, findings);
  judge_sockets(seen, findings);
  judge_roots(seen, findings);
  if (seen.request) judge_request(*seen.request, seen, findings);
  judge_programs(seen, findings);
  return findings;
}

int exit_code(const Findings& findings) {
  return std::ranges::count(findings, Mark::wrong, &Finding::mark) > 0 ? 1 : 0;
}

nlohmann::json findings_json(const Findings& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"area", kAreaNames[static_cast<std::size_t>(finding.area)]},
                    {"mark", kMarkNames[static_cast<std::size_t>(finding.mark)]},
                    {"what", finding.what},
                    {"to_do", finding.to_do}});
  }
  return list;
}

std::string first_of(const std::vector<std::string>& words, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, words.size()); ++i) {
    text += (i == 0 ? "" : ", ") + words[i];
  }
  if (words.size() > most) text += fmt::format(" and {} more", words.size() - most);
  return text;
}

}  // namespace doctor
