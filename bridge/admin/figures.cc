#include "admin/figures.h"

#include <array>

#include "base/log.h"
#include "worker/log_pipe.h"

namespace admin {
namespace {

using Family = MetricsText::Family;

constexpr Family kNoMetric{};

const gateway::Counts& counts(const BridgeView& bridge) {
  return bridge.gateway.counts();
}
const journal::Journal& journal_of(const BridgeView& bridge) {
  return bridge.gateway.journal();
}

constexpr Family kLines{"cgibridge_journal_lines", "counter", "Lines written to a file of its own"};
constexpr Family kLinesDropped{"cgibridge_journal_lines_dropped", "counter",
                               "Lines that a file did not take"};
constexpr Family kStacks{"cgibridge_stacks", "counter",
                         "Looks at what a slow request's program is doing"};
constexpr Family kCaptures{"cgibridge_captures", "counter",
                           "Failing requests that were to be captured"};

constexpr Figure<BridgeView> kBridge[] = {
    {"connections",
     {"cgibridge_connections", "gauge", "FastCGI connections that are open"},
     [](const BridgeView& b) -> std::uint64_t { return b.gateway.connections(); }},
    {"connections_total",
     {"cgibridge_connections_accepted", "counter", "FastCGI connections so far"},
     [](const BridgeView& b) { return counts(b).connections_total; }},
    {"connections_closed_for_room",
     {"cgibridge_connections_closed_for_room", "counter",
      "Idle connections that were closed to make room for others"},
     [](const BridgeView& b) { return counts(b).closed_for_room; }},
    {"connections_closed_unfinished",
     {"cgibridge_connections_closed_unfinished", "counter",
      "Connections whose params did not come whole within bridge.params_timeout"},
     [](const BridgeView& b) { return counts(b).closed_unfinished; }},
    {"requests_active",
     {"cgibridge_requests_active", "gauge", "Requests that run or wait"},
     [](const BridgeView& b) { return counts(b).requests_active; }},
    {"background",
     {"cgibridge_programs_in_background", "gauge",
      "Programs that have closed their standard output and go on"},
     [](const BridgeView& b) { return counts(b).background.now; }},
    {"background_total",
     {"cgibridge_programs_gone_on", "counter",
      "Programs that went on after they had closed their standard output"},
     [](const BridgeView& b) { return counts(b).background.total; }},
    {"background_ended",
     {"cgibridge_programs_ended_in_background", "counter",
      "Of these, those that were ended at timeouts.background"},
     [](const BridgeView& b) { return counts(b).background.ended; }},
    {"requests_total",
     {"cgibridge_requests", "counter", "Requests so far"},
     [](const BridgeView& b) { return counts(b).requests_total; }},
    {"errors",
     {"cgibridge_request_errors", "counter", "Requests that the bridge answered with an error"},
     [](const BridgeView& b) { return counts(b).errors; }},
    {"requests_refused",
     {"cgibridge_requests_refused", "counter",
      "Requests answered with FCGI_OVERLOADED or FCGI_UNKNOWN_ROLE, which never began"},
     [](const BridgeView& b) { return counts(b).requests_refused; }},
    {"peers_refused",
     {"cgibridge_peers_refused", "counter",
      "Connections that bridge.allow, or the control socket, refused"},
     [](const BridgeView& b) { return counts(b).peers_refused; }},
    {"starts_refused",
     {"cgibridge_starts_refused", "counter",
      "Programs that were not started, because they must not run as their user"},
     [](const BridgeView& b) { return b.pools.starts_refused(); }},
    {"error_output_dropped",
     {"cgibridge_error_output_dropped_bytes", "counter",
      "Of programs' standard error, beyond limits.error_output"},
     [](const BridgeView&) { return worker::ErrorAllowance::all_dropped(); }},
    {"programs",
     {"cgibridge_programs", "gauge", "Programs that are known now"},
     [](const BridgeView& b) -> std::uint64_t { return b.pools.size(); }},
    {"",
     {"cgibridge_draining", "gauge", "1 while it lets requests end and takes no new ones"},
     [](const BridgeView& b) -> std::uint64_t { return b.gateway.draining() ? 1 : 0; }},
    {"",
     {"cgibridge_ready", "gauge", "1 if requests should be sent to it, as bridge.health says"},
     [](const BridgeView& b) -> std::uint64_t {
       return b.gateway.why_not_ready().empty() ? 1 : 0;
     }},
    {"workers",
     {"cgibridge_workers", "gauge", "Workers of all programs, classic ones among them"},
     [](const BridgeView& b) -> std::uint64_t { return b.pools.shares().workers(); }},
    {"workers_running",
     {"cgibridge_workers_running", "gauge", "Of them, those that answer a request"},
     [](const BridgeView& b) -> std::uint64_t { return b.pools.shares().running(); }},
    {"workers_max",
     {"cgibridge_workers_limit", "gauge", "The most of them (bridge.workers_max); 0: any"},
     [](const BridgeView& b) -> std::uint64_t { return b.pools.shares().limit(); }},
    {"",
     {"cgibridge_workers_waits", "counter", "Times a program had to wait for that limit"},
     [](const BridgeView& b) -> std::uint64_t { return b.pools.shares().waits(); }},
    {"journal/access_lines", kLines,
     [](const BridgeView& b) { return journal_of(b).access_file().lines(); }, "file", "access_log"},
    {"", kLines, [](const BridgeView& b) { return journal_of(b).slow_file().lines(); }, "file",
     "slowlog"},
    {"", kLinesDropped, [](const BridgeView&) { return base::log_lines_dropped(); }, "file", "log"},
    {"", kLinesDropped, [](const BridgeView& b) { return journal_of(b).access_file().dropped(); },
     "file", "access_log"},
    {"", kLinesDropped, [](const BridgeView& b) { return journal_of(b).slow_file().dropped(); },
     "file", "slowlog"},
    {"journal/lines_dropped", kNoMetric,
     [](const BridgeView& b) {
       const journal::Journal& journal = journal_of(b);
       return base::log_lines_dropped() + journal.access_file().dropped() +
              journal.slow_file().dropped();
     }},
    {"journal/slow",
     {"cgibridge_slow_requests", "counter", "Requests that ran for slowlog.after"},
     [](const BridgeView& b) { return journal_of(b).counts().slow; }},
    {"journal/stacks_read", kStacks,
     [](const BridgeView& b) { return journal_of(b).stacks().looks(); }, "result", "read"},
    {"journal/stacks_left_out", kStacks,
     [](const BridgeView& b) { return journal_of(b).stacks().left_out(); }, "result", "left_out"},
    {"journal/captures_written", kCaptures,
     [](const BridgeView& b) { return journal_of(b).counts().captures_written; }, "result",
     "written"},
    {"", kCaptures, [](const BridgeView& b) { return journal_of(b).counts().captures_too_many; },
     "result", "too_many"},
    {"", kCaptures, [](const BridgeView& b) { return journal_of(b).counts().captures_failed; },
     "result", "failed"},
    {"journal/captures_left_out", kNoMetric,
     [](const BridgeView& b) {
       const journal::Counts& journal = journal_of(b).counts();
       return journal.captures_too_many + journal.captures_failed;
     }},
};

using Pool = pool::PoolStatus;

constexpr Family kWorkers{"cgibridge_program_workers", "gauge", "Workers by state"};
constexpr Family kRefused{"cgibridge_program_refused", "counter",
                          "Requests that were given no worker"};
constexpr Family kLimitKills{"cgibridge_program_limit_kills", "counter",
                             "Requests whose program the kernel ended at a limit"};

constexpr Figure<Pool> kProgram[] = {
    {"workers/starting", kWorkers, [](const Pool& p) -> std::uint64_t { return p.starting; },
     "state", "starting"},
    {"workers/idle", kWorkers, [](const Pool& p) -> std::uint64_t { return p.idle; }, "state",
     "idle"},
    {"workers/busy", kWorkers, [](const Pool& p) -> std::uint64_t { return p.busy; }, "state",
     "busy"},
    {"workers/checking", kWorkers, [](const Pool& p) -> std::uint64_t { return p.returning; },
     "state", "checking"},
    {"queue",
     {"cgibridge_program_queue", "gauge", "Requests that wait for a worker"},
     [](const Pool& p) -> std::uint64_t { return p.waiting; }},
    {"requests", kNoMetric, [](const Pool& p) { return p.requests; }},
    {"requests_classic", kNoMetric, [](const Pool& p) { return p.classic; }},
    {"requests_persistent", kNoMetric, [](const Pool& p) { return p.persistent; }},
    {"errors", kNoMetric, [](const Pool& p) { return p.failed; }},
    {"refused", kNoMetric, [](const Pool& p) { return p.refused; }},
    {"refused_full", kRefused, [](const Pool& p) { return p.refused_full; }, "reason",
     "queue_full"},
    {"refused_late", kRefused, [](const Pool& p) { return p.refused_late; }, "reason",
     "queue_timeout"},
    {"", kRefused, [](const Pool& p) { return p.refused - p.refused_full - p.refused_late; },
     "reason", "not_started"},
    {"given_back", kNoMetric, [](const Pool& p) { return p.given_back; }},
    {"misfits/count",
     {"cgibridge_program_misfits", "counter",
      "Requests that ran classic because they bring another value of what the zygote read"},
     [](const Pool& p) { return p.misfits; }},
    {"limit_kills/cpu_time", kLimitKills, [](const Pool& p) { return p.over_cpu_time; }, "limit",
     "cpu_time", true},
    {"limit_kills/file_size", kLimitKills, [](const Pool& p) { return p.over_file_size; }, "limit",
     "file_size", true},
    {"rewind/rewinds",
     {"cgibridge_program_rewinds", "counter", "Workers put back to their checkpoint"},
     [](const Pool& p) { return p.rewinds->rewinds(); }},
    {"rewind/verified",
     {"cgibridge_program_rewinds_verified", "counter", "Of them, compared with the zygote"},
     [](const Pool& p) { return p.rewinds->verified(); }},
    {"rewind/differences",
     {"cgibridge_program_rewinds_different", "counter", "Of them, not equal"},
     [](const Pool& p) { return p.rewinds->differences(); }},
    {"started_anew",
     {"cgibridge_program_started_anew", "counter",
      "Requests that were started anew because the level was wrong for them"},
     [](const Pool& p) { return p.started_anew; }},
};

using Arm = compare::Figures;

constexpr Figure<Arm> kArm[] = {
    {"requests",
     {"cgibridge_arm_requests", "counter", "Requests that an arm has answered"},
     [](const Arm& a) { return a.requests(); }},
    {"errors", kNoMetric, [](const Arm& a) { return a.errors(); }},
    {"bytes_in",
     {"cgibridge_arm_received_bytes", "counter", "Bodies of requests", "bytes"},
     [](const Arm& a) { return a.bytes_in(); }},
    {"bytes_out",
     {"cgibridge_arm_printed_bytes", "counter", "What the program printed", "bytes"},
     [](const Arm& a) { return a.bytes_out(); }},
    {"peak_kib", kNoMetric, [](const Arm& a) { return a.peak_kib(); }},
    {"",
     {"cgibridge_arm_peak_memory_bytes", "gauge",
      "The most resident memory that a request's process had", "bytes"},
     [](const Arm& a) { return a.peak_kib() * 1024; },
     {},
     {},
     true},
};

}  // namespace

std::span<const Figure<BridgeView>> bridge_figures() {
  return kBridge;
}
std::span<const Figure<pool::PoolStatus>> program_figures() {
  return kProgram;
}
std::span<const Figure<compare::Figures>> arm_figures() {
  return kArm;
}

}  // namespace admin
