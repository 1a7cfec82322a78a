-- Posts the form whose bytes come after the URL; without them sends a GET.
function init(arguments)
  if arguments[1] then
    wrk.method = "POST"
    wrk.body = arguments[1]
    wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
  end
end

-- Prints wrk's results as one line of JSON.
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '{"requests": %d, "microseconds": %d, "p50_ms": %.3f, "p95_ms": %.3f, "p99_ms": %.3f, ' ..
    '"wrong": %d}\n', summary.requests, summary.duration, latency:percentile(50) / 1000,
    latency:percentile(95) / 1000, latency:percentile(99) / 1000,
    errors.connect + errors.read + errors.write + errors.timeout + errors.status))
end
