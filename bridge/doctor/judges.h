// The parts of diagnose(), one for each area. Each adds its findings. Pure.
#pragma once

#include "doctor/finding.h"

namespace doctor {

void judge_kernel(const Observations& seen, Findings& findings);
void judge_rights(const Observations& seen, Findings& findings);
void judge_bridge(const Observations& seen, Findings& findings);
void judge_sockets(const Observations& seen, Findings& findings);
void judge_roots(const Observations& seen, Findings& findings);
void judge_request(const Followed& request, const Observations& seen, Findings& findings);
void judge_programs(const Observations& seen, Findings& findings);

// "a, b and 3 more": the first of these words, at most `most`.
std::string first_of(const std::vector<std::string>& words, std::size_t most);

}  // namespace doctor
