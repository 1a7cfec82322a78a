// Findings like those of `check`, for tests of the conclusions.
#pragma once

#include "cli/findings.h"

namespace cli {

inline ArmFindings an_arm(compare::Arm arm, Microseconds median) {
  ArmFindings found;
  found.arm = arm;
  found.level = "compiled";
  found.requests = 40;
  found.same = arm == compare::Arm::classic ? 0 : 12;
  found.times = {{20, median, median * 2}};
  return found;
}

// A script that works in every arm: classic 10 ms, fork 1 ms, rewind 0.1 ms.
inline Findings good_findings() {
  Findings findings;
  findings.program = "/srv/cgi-bin/report.pl";
  findings.kind = "Perl script";
  findings.first_line = "/usr/bin/perl -T";
  findings.interpreter = "/usr/bin/perl";
  findings.level = "compiled";
  findings.runs = 20;
  findings.requests = {{AskedRequest{}, 200, {}}};
  findings.arms = {an_arm(compare::Arm::classic, Microseconds(10'000)),
                   an_arm(compare::Arm::fork, Microseconds(1'000)),
                   an_arm(compare::Arm::rewind, Microseconds(100))};
  return findings;
}

inline ArmFindings& arm_of(Findings& findings, compare::Arm arm) {
  return *const_cast<ArmFindings*>(findings.find(arm));
}

inline void make_different(ArmFindings& arm, const std::string& what) {
  arm.different = 3;
  compare::Difference difference;
  difference.arm = arm.arm;
  difference.method = "GET";
  difference.uri = "/";
  difference.what = what;
  difference.diff = "--- classic\n+++ persistent\n@@ -1 +1 @@\n-one\n+two\n";
  arm.differences = {difference};
}

}  // namespace cli
