-- The rungs, each with the guard's word on it.
--
-- A rung is voided where its stored flag says so, or its peak is at or above
-- --guard-max if that was given. Bursts are not among them: each finds the pool
-- that the one before left, so that they are no repetitions of each other (view
-- bursts).
--| run | | run id
--| rung | | name of the rung
--| tier | | resource budget
--| target | | the deployed server
--| server | | the software that it runs
--| query_class | | query class or scenario
--| response_format | | csv, votable, or -
--| concurrency | 1 | connections held
--| repetition | 1 | which repetition of the cell
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
--| requests | 1 | requests, failed ones too
--| errors | 1 | failed requests
--| error_fraction | fraction | errors / requests
--| elapsed_s | s | from the window's start to the last response
--| window_s | s | from the first request's start to the last response
--| rps | 1/s | requests / elapsed_s
--| latency_mean_s | s | mean latency of successful requests
--| latency_p95_s | s | 95th percentile of latency
--| latency_p99_s | s | 99th percentile of latency
--| mean_response_bytes | B | mean response size
--| generator_cpu_peak | fraction of a core | busiest generator worker at its peak
--| generator_cpu_s | s | CPU time of the whole generator
--| guard_known | | whether anything says if the guard was quiet
--| voided | | whether the guard voided the rung
--| near_limit | | whether the peak reached three quarters of the limit
SELECT
  r.run, r.rung, r.tier, r.target, r.server, r.query_class, r.response_format, r.concurrency,
  r.repetition, r.mode, r.loop, r.offered_rps, r.instances, r.loops,
  r.requests, r.errors, r.error_fraction, r.elapsed_s, r.window_s, r.rps,
  r.latency_mean_s, r.latency_p95_s, r.latency_p99_s, r.mean_response_bytes,
  r.generator_cpu_peak, r.generator_cpu_s,
  r.generator_guard_ok IS NOT NULL
    OR (u.void_at IS NOT NULL AND r.generator_cpu_peak IS NOT NULL) AS guard_known,
  NOT coalesce(r.generator_guard_ok, true)
    OR coalesce(r.generator_cpu_peak >= u.void_at, false) AS voided,
  coalesce(r.generator_cpu_peak >= 0.75 * u.guard_max, false) AS near_limit
FROM rungs AS r
JOIN rule AS u ON u.run = r.run
WHERE coalesce(r.loop, 'closed') <> 'burst'
