#include "admin/openmetrics.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "admin/figures.h"
#include "gateway/arm_choice.h"

namespace admin {
namespace {

// What is known about one program.
struct Subject {
  pool::PoolStatus pool;
  const compare::Comparison* comparison;  // nullptr: none yet
  config::Mode effective;
  Labels labels;
};
using Subjects = std::vector<Subject>;

Subjects subjects_of(gateway::Gateway& gateway, const pool::Pools& pools) {
  const auto settings = gateway.settings();
  const compare::Comparisons& comparisons = gateway.comparisons();
  Subjects subjects;
  for (pool::PoolStatus& status : pools.status()) {
    const config::ProgramSettings& own = settings->for_program(status.home);
    const compare::Comparison* comparison = comparisons.find(status.program);
    const config::Mode effective =
        comparison == nullptr ? own.mode : gateway::effective_mode(own, comparison->promotion);
    const Labels labels = Labels().with("program", status.program);
    subjects.push_back({std::move(status), comparison, effective, labels});
  }
  return subjects;
}

// ---- the bridge ----

void write_bridge(MetricsText& out, const gateway::Gateway& gateway, const pool::Pools& pools) {
  out.begin({"cgibridge_build", "info", "The version that runs"});
  out.sample(Labels().with("version", CGIBRIDGE_VERSION), 1);
  const BridgeView bridge{gateway, pools};
  write_figures(out, bridge_figures(), [&](const auto& write) { write(Labels(), bridge); });
}

// ---- the arms ----

// Calls write(labels, figures) for each arm that has answered.
template <typename Write>
void for_each_arm(const Subjects& subjects, const Write& write) {
  for (const Subject& subject : subjects) {
    if (subject.comparison == nullptr) continue;
    for (std::size_t i = 0; i < compare::kArms; ++i) {
      const compare::Figures& figures = subject.comparison->arms[i];
      if (figures.requests() == 0) continue;
      write(subject.labels.with("arm", compare::kArmNames[i]), figures);
    }
  }
}

void write_arm_counts(MetricsText& out, const Subjects& subjects) {
  write_figures(out, arm_figures(), [&](const auto& write) { for_each_arm(subjects, write); });
  out.begin({"cgibridge_arm_failures", "counter",
             "Requests that went wrong; client_gone is no error of the program"});
  for_each_arm(subjects, [&](const Labels& labels, const compare::Figures& figures) {
    for (std::size_t i = 1; i < compare::kFailures; ++i) {
      out.sample(labels.with("failure", compare::kFailureNames[i]),
                 figures.failed(static_cast<compare::Failure>(i)));
    }
  });
  out.begin({"cgibridge_arm_answers", "counter", "Answers by class of their status"});
  for_each_arm(subjects, [&](const Labels& labels, const compare::Figures& figures) {
    out.sample(labels.with("class", "none"), figures.status_class(0));
    for (unsigned i = 1; i <= 5; ++i) {
      out.sample(labels.with("class", fmt::format("{}xx", i)), figures.status_class(i));
    }
  });
}

void write_arm_histograms(MetricsText& out, const Subjects& subjects) {
  struct Measure {
    MetricsText::Family family;
    const compare::Histogram& (compare::Figures::*values)() const;
  };
  constexpr std::array kMeasures = {
      Measure{{"cgibridge_arm_latency_seconds", "histogram",
               "From a request's params to the end of its answer", "seconds"},
              &compare::Figures::latency},
      Measure{
          {"cgibridge_arm_queue_seconds", "histogram", "Of that, waiting for a worker", "seconds"},
          &compare::Figures::queue},
      Measure{{"cgibridge_arm_cpu_seconds", "histogram",
               "Processor time of the program and of what it waited for", "seconds"},
              &compare::Figures::cpu}};
  for (const Measure& measure : kMeasures) {
    out.begin(measure.family);
    for_each_arm(subjects, [&](const Labels& labels, const compare::Figures& figures) {
      out.histogram(labels, (figures.*measure.values)());
    });
  }
}

// ---- the programs ----

void write_modes(MetricsText& out, const Subjects& subjects) {
  out.begin({"cgibridge_program_mode", "stateset", "The mode of now, as promotion has it"});
  for (const Subject& subject : subjects) {
    for (const std::string_view mode : config::kModeNames) {
      out.sample(subject.labels.with("cgibridge_program_mode", mode),
                 mode == config::to_string(subject.effective) ? 1 : 0);
    }
  }
}

void write_program_counts(MetricsText& out, const Subjects& subjects) {
  write_figures(out, program_figures(), [&](const auto& write) {
    for (const Subject& subject : subjects) write(subject.labels, subject.pool);
  });
}

void write_warm(MetricsText& out, const Subjects& subjects) {
  out.begin({"cgibridge_program_requests_ended", "counter",
             "Requests that ended, by whether they were answered warm or why not"});
  for (const Subject& subject : subjects) {
    for (std::size_t kind = 0; kind < pool::kColdKinds; ++kind) {
      const auto found = static_cast<pool::Cold>(kind);
      const auto count = subject.pool.warm.counted(found);
      if (count > 0) out.sample(subject.labels.with("found", pool::to_string(found)), count);
    }
  }
}

void write_retirements(MetricsText& out, const Subjects& subjects) {
  out.begin({"cgibridge_program_workers_retired", "counter", "Workers that could not stay"});
  for (const Subject& subject : subjects) {
    for (std::uint32_t reason = 1; reason < policy::kRetirementKinds; ++reason) {
      const std::uint64_t count = subject.pool.retirements->counted(reason);
      if (count == 0) continue;
      out.sample(subject.labels.with("reason", policy::retirement_name(reason)), count);
    }
  }
}

// ---- the cgroups ----

void write_cgroups(MetricsText& out, const Subjects& subjects, const limits::Cgroups& cgroups) {
  struct Measure {
    MetricsText::Family family;
    limits::Figure figure;
  };
  using limits::Figures;
  constexpr std::array kMeasures = {
      Measure{{"cgibridge_cgroup_cpu_seconds", "counter",
               "CPU time of a program's processes by its cgroup; without program: of all together",
               "seconds"},
              &Figures::cpu_us},
      Measure{{"cgibridge_cgroup_throttled_seconds", "counter",
               "Time in which limits.cpu made them wait", "seconds"},
              &Figures::throttled_us},
      Measure{
          {"cgibridge_cgroup_memory_bytes", "gauge", "Their memory, page cache included", "bytes"},
          &Figures::memory},
      Measure{{"cgibridge_cgroup_processes", "gauge", "Processes and threads"},
              &Figures::processes},
      Measure{{"cgibridge_cgroup_oom_kills", "counter", "Processes killed for limits.memory"},
              &Figures::oom_kills},
      Measure{{"cgibridge_cgroup_forks_refused", "counter", "Forks that limits.processes refused"},
              &Figures::forks_refused}};
  const auto all = cgroups.figures_of_all();
  for (const Measure& measure : kMeasures) {
    out.begin(measure.family);
    const auto sample = [&](const Labels& labels, const Figures& figures) {
      const std::uint64_t value = figures.*measure.figure;
      measure.family.unit == "seconds" ? out.seconds(labels, value) : out.sample(labels, value);
    };
    if (all) sample({}, *all);
    for (const Subject& subject : subjects) {
      if (subject.pool.cgroup) sample(subject.labels, *subject.pool.cgroup);
    }
  }
}

// ---- shadow and promotion ----

void write_shadow(MetricsText& out, const Subjects& subjects) {
  const auto shadow_of = [](const Subject& subject) {
    return subject.comparison == nullptr ? nullptr : &subject.comparison->shadow;
  };
  out.begin({"cgibridge_shadow_compared", "counter", "Pairs of answers by what came of it"});
  for (const Subject& subject : subjects) {
    const compare::ShadowRecord* shadow = shadow_of(subject);
    if (shadow == nullptr) continue;
    out.sample(subject.labels.with("result", "same"), shadow->same());
    out.sample(subject.labels.with("result", "masked"), shadow->masked());
    out.sample(subject.labels.with("result", "different"), shadow->different());
  }
  out.begin({"cgibridge_shadow_skipped", "counter", "Requests that were drawn and not repeated"});
  for (const Subject& subject : subjects) {
    const compare::ShadowRecord* shadow = shadow_of(subject);
    if (shadow == nullptr) continue;
    for (std::size_t i = 0; i < compare::kSkips; ++i) {
      out.sample(subject.labels.with("reason", compare::kSkipNames[i]),
                 shadow->skips(static_cast<compare::Skip>(i)));
    }
  }
}

void write_promotion(MetricsText& out, const Subjects& subjects) {
  const auto has_rule = [](const Subject& subject) {
    return subject.comparison != nullptr && subject.comparison->promotion.rule().after > 0;
  };
  out.begin({"cgibridge_promotion_stage", "stateset", "Where promotion has brought a program"});
  for (const Subject& subject : subjects) {
    if (!has_rule(subject)) continue;
    const std::string_view stage = compare::to_string(subject.comparison->promotion.stage());
    for (const std::string_view name : compare::kStageNames) {
      out.sample(subject.labels.with("cgibridge_promotion_stage", name), name == stage ? 1 : 0);
    }
  }
  out.begin({"cgibridge_promotion_held", "gauge", "1 if it was brought back and stays"});
  for (const Subject& subject : subjects) {
    if (!has_rule(subject)) continue;
    out.sample(subject.labels, subject.comparison->promotion.held() ? 1 : 0);
  }
}

}  // namespace

std::string openmetrics(gateway::Gateway& gateway, const pool::Pools& pools) {
  const Subjects subjects = subjects_of(gateway, pools);
  MetricsText out;
  write_bridge(out, gateway, pools);
  write_arm_counts(out, subjects);
  write_arm_histograms(out, subjects);
  write_modes(out, subjects);
  write_program_counts(out, subjects);
  write_warm(out, subjects);
  write_retirements(out, subjects);
  write_cgroups(out, subjects, pools.cgroups());
  write_shadow(out, subjects);
  write_promotion(out, subjects);
  return out.finish();
}

}  // namespace admin
