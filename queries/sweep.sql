-- A pool of instances under more and more connections, its size left to its scaler.
--
-- Rungs whose instances were counted but not prescribed (loops is null);
-- medians over the repetitions, errors added up, the most instances.
--| run | | run id
--| query_class | | path or scenario
--| concurrency | 1 | connections held
--| target | | the deployed server
--| rps | 1/s | throughput
--| latency_p99_s | s | 99th percentile of latency
--| errors | 1 | failed requests
--| instances | 1 | instances at the end
--| mem_peak_bytes | B | peak memory of the target
--| tier | | resource budget
--| response_format | | csv, votable, or -
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
SELECT * FROM (
  SELECT
    r.run, r.query_class, r.concurrency, r.target,
    median(r.rps) AS rps,
    median(r.latency_p99_s) AS latency_p99_s,
    sum(r.errors) AS errors,
    max(r.instances) AS instances,
    max(u.mem_peak_bytes) AS mem_peak_bytes,
    r.tier, r.response_format, r.mode, r.loop, r.offered_rps
  FROM rungs AS r
  LEFT JOIN rung_resources AS u ON u.run = r.run AND u.rung = r.rung
  WHERE r.instances IS NOT NULL AND r.loops IS NULL AND coalesce(r.loop, 'closed') <> 'burst'
  GROUP BY
    r.run, r.query_class, r.concurrency, r.target, r.tier, r.response_format, r.mode, r.loop,
    r.offered_rps
  UNION ALL
  SELECT
    run, query_class, concurrency, target, rps, latency_p99_s, errors, instances, mem_peak_bytes,
    NULL, '-', NULL, NULL, NULL
  FROM published_sweep
) AS both
ORDER BY
  run, target, try_cast(tier AS DOUBLE), tier, response_format, mode, loop, offered_rps, query_class,
  concurrency
