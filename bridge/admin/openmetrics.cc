#include "admin/openmetrics.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "admin/metrics_text.h"
#include "base/log.h"
#include "gateway/arm_choice.h"
#include "worker/log_pipe.h"

namespace admin {
namespace {

// What there is of one program.
struct Subject {
  pool::PoolStatus pool;
  const compare::Comparison* comparison;  // nullptr: nothing yet
  config::Mode effective;
  Labels labels;
};
using Subjects = std::vector<Subject>;

Subjects subjects_of(gateway::Gateway& gateway, const pool::Pools& pools) {
  const auto settings = gateway.settings();
  const compare::Comparisons& comparisons = gateway.comparisons();
  Subjects subjects;
  for (pool::PoolStatus& status : pools.status()) {
    const config::ProgramSettings& own = settings->for_program(status.program);
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
  const gateway::Counts& counts = gateway.counts();
  const auto single = [&out](const MetricsText::Family& family, std::uint64_t value) {
    out.begin(family);
    out.sample({}, value);
  };
  out.begin({"cgibridge_build", "info", "The version that runs"});
  out.sample(Labels().with("version", CGIBRIDGE_VERSION), 1);
  single({"cgibridge_connections", "gauge", "FastCGI connections that are open"},
         gateway.connections());
  single({"cgibridge_connections_accepted", "counter", "FastCGI connections so far"},
         counts.connections_total);
  single({"cgibridge_connections_closed_for_room", "counter",
          "Idle connections that were closed at bridge.connections_max"},
         counts.closed_for_room);
  single({"cgibridge_connections_closed_unfinished", "counter",
          "Connections whose params did not come whole within bridge.params_timeout"},
         counts.closed_unfinished);
  single({"cgibridge_requests_active", "gauge", "Requests that run or wait"},
         counts.requests_active);
  single({"cgibridge_programs_in_background", "gauge",
          "Programs that have closed their standard output and go on"},
         counts.background.now);
  single({"cgibridge_programs_gone_on", "counter",
          "Programs that went on after they had closed their standard output"},
         counts.background.total);
  single({"cgibridge_programs_ended_in_background", "counter",
          "Of these, those that were ended at timeouts.background"},
         counts.background.ended);
  single({"cgibridge_requests", "counter", "Requests so far"}, counts.requests_total);
  single({"cgibridge_request_errors", "counter", "Requests that the bridge answered with an error"},
         counts.errors);
  single({"cgibridge_requests_refused", "counter",
          "Requests answered with FCGI_OVERLOADED or FCGI_UNKNOWN_ROLE, which never began"},
         counts.requests_refused);
  single({"cgibridge_peers_refused", "counter",
          "Connections that bridge.allow, or the control socket, refused"},
         counts.peers_refused);
  single({"cgibridge_starts_refused", "counter",
          "Programs that were not started, as they must not run as their user"},
         pools.starts_refused());
  single({"cgibridge_error_output_dropped_bytes", "counter",
          "Of programs' standard error, beyond limits.error_output"},
         worker::ErrorAllowance::all_dropped());
  single({"cgibridge_programs", "gauge", "Programs that are known now"}, pools.size());
  single({"cgibridge_draining", "gauge", "1 while it lets requests end and takes no new ones"},
         gateway.draining() ? 1 : 0);
}

void write_journal(MetricsText& out, const gateway::Gateway& gateway) {
  const journal::Journal& journal = gateway.journal();
  const journal::Counts& counts = journal.counts();
  const auto sample = [&out](std::string_view name, std::string_view value, std::uint64_t count) {
    out.sample(Labels().with(name, value), count);
  };
  out.begin({"cgibridge_journal_lines", "counter", "Lines written to a file of its own"});
  sample("file", "access_log", journal.access_file().lines());
  sample("file", "slowlog", journal.slow_file().lines());
  out.begin({"cgibridge_journal_lines_dropped", "counter", "Lines that a file did not take"});
  sample("file", "log", base::log_lines_dropped());
  sample("file", "access_log", journal.access_file().dropped());
  sample("file", "slowlog", journal.slow_file().dropped());
  out.begin({"cgibridge_slow_requests", "counter", "Requests that ran for slowlog.after"});
  out.sample({}, counts.slow);
  out.begin({"cgibridge_stacks", "counter", "Looks at what a slow request's program is doing"});
  sample("result", "read", journal.stacks().looks());
  sample("result", "left_out", journal.stacks().left_out());
  out.begin({"cgibridge_captures", "counter", "Failing requests that were to be captured"});
  sample("result", "written", counts.captures_written);
  sample("result", "too_many", counts.captures_too_many);
  sample("result", "failed", counts.captures_failed);
}

void write_places(MetricsText& out, const policy::Shares& shares) {
  out.begin({"cgibridge_workers", "gauge", "Workers of all programs, classic ones among them"});
  out.sample({}, shares.workers());
  out.begin({"cgibridge_workers_running", "gauge", "Of them, those that answer a request"});
  out.sample({}, shares.running());
  out.begin({"cgibridge_workers_limit", "gauge", "The most of them (bridge.workers_max); 0: any"});
  out.sample({}, shares.limit());
  out.begin({"cgibridge_workers_waits", "counter", "Times a program had to wait for that limit"});
  out.sample({}, shares.waits());
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
  out.begin({"cgibridge_arm_requests", "counter", "Requests that an arm has answered"});
  for_each_arm(subjects, [&](const Labels& labels, const compare::Figures& figures) {
    out.sample(labels, figures.requests());
  });
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

void write_arm_sizes(MetricsText& out, const Subjects& subjects) {
  out.begin({"cgibridge_arm_received_bytes", "counter", "Bodies of requests", "bytes"});
  for_each_arm(subjects, [&](const Labels& labels, const compare::Figures& figures) {
    out.sample(labels, figures.bytes_in());
  });
  out.begin({"cgibridge_arm_printed_bytes", "counter", "What the program printed", "bytes"});
  for_each_arm(subjects, [&](const Labels& labels, const compare::Figures& figures) {
    out.sample(labels, figures.bytes_out());
  });
  out.begin({"cgibridge_arm_peak_memory_bytes", "gauge",
             "The most resident memory that a request's process had", "bytes"});
  for_each_arm(subjects, [&](const Labels& labels, const compare::Figures& figures) {
    if (figures.peak_kib() > 0) out.sample(labels, figures.peak_kib() * 1024);
  });
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

void write_workers(MetricsText& out, const Subjects& subjects) {
  out.begin({"cgibridge_program_workers", "gauge", "Workers by state"});
  for (const Subject& subject : subjects) {
    const auto state = [&](std::string_view name, std::uint64_t count) {
      out.sample(subject.labels.with("state", name), count);
    };
    state("starting", subject.pool.starting);
    state("idle", subject.pool.idle);
    state("busy", subject.pool.busy);
    state("checking", subject.pool.returning);
  }
  out.begin({"cgibridge_program_queue", "gauge", "Requests that wait for a worker"});
  for (const Subject& subject : subjects) out.sample(subject.labels, subject.pool.waiting);
  out.begin({"cgibridge_program_refused", "counter", "Requests that were given no worker"});
  for (const Subject& subject : subjects) {
    const pool::PoolStatus& pool = subject.pool;
    out.sample(subject.labels.with("reason", "queue_full"), pool.refused_full);
    out.sample(subject.labels.with("reason", "queue_timeout"), pool.refused_late);
    out.sample(subject.labels.with("reason", "not_started"),
               pool.refused - pool.refused_full - pool.refused_late);
  }
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
  out.begin({"cgibridge_program_misfits", "counter",
             "Requests that ran classic as they bring another value of what the zygote read"});
  for (const Subject& subject : subjects) out.sample(subject.labels, subject.pool.misfits);
}

void write_limits(MetricsText& out, const Subjects& subjects) {
  out.begin({"cgibridge_program_limit_kills", "counter",
             "Requests whose program the kernel ended at a limit"});
  for (const Subject& subject : subjects) {
    const auto limit = [&](std::string_view name, std::uint64_t count) {
      if (count > 0) out.sample(subject.labels.with("limit", name), count);
    };
    limit("cpu_time", subject.pool.over_cpu_time);
    limit("file_size", subject.pool.over_file_size);
  }
}

void write_rewinds(MetricsText& out, const Subjects& subjects) {
  out.begin({"cgibridge_program_rewinds", "counter", "Workers put back to their checkpoint"});
  for (const Subject& subject : subjects) {
    out.sample(subject.labels, subject.pool.rewinds->rewinds());
  }
  out.begin({"cgibridge_program_rewinds_verified", "counter", "Of them, compared with the zygote"});
  for (const Subject& subject : subjects) {
    out.sample(subject.labels, subject.pool.rewinds->verified());
  }
  out.begin({"cgibridge_program_rewinds_different", "counter", "Of them, not equal"});
  for (const Subject& subject : subjects) {
    out.sample(subject.labels, subject.pool.rewinds->differences());
  }
  out.begin({"cgibridge_program_started_anew", "counter",
             "Requests that were started anew, as the level was wrong for them"});
  for (const Subject& subject : subjects) {
    out.sample(subject.labels, subject.pool.started_anew);
  }
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
  write_journal(out, gateway);
  write_places(out, pools.shares());
  write_arm_counts(out, subjects);
  write_arm_histograms(out, subjects);
  write_arm_sizes(out, subjects);
  write_modes(out, subjects);
  write_workers(out, subjects);
  write_warm(out, subjects);
  write_limits(out, subjects);
  write_rewinds(out, subjects);
  write_cgroups(out, subjects, pools.cgroups());
  write_shadow(out, subjects);
  write_promotion(out, subjects);
  return out.finish();
}

}  // namespace admin
