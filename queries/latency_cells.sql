-- Percentiles of response time of each cell, its repetitions taken together.
--
-- Of requests that succeeded, in rungs that are not voided. Percentiles are of
-- type 7 (linear). One that fewer than ten requests lie beyond is null: p90 below
-- 100 requests, p95 below 200, p99 below 1,000, p999 below 10,000; the median and
-- the longest are given whatever n. Bursts are left out, for each finds what the
-- one before it left.
--| run | | run id
--| tier | | resource budget
--| response_format | | csv, votable, or -
--| query_class | | query class or scenario
--| concurrency | 1 | connections held
--| target | | the deployed server
--| server | | the software that it runs
--| rungs | 1 | repetitions taken together
--| n | 1 | requests that succeeded
--| latency_mean_s | s | mean response time
--| latency_p50_s | s | median
--| latency_p90_s | s | 90th percentile
--| latency_p95_s | s | 95th percentile
--| latency_p99_s | s | 99th percentile
--| latency_p999_s | s | 99.9th percentile
--| latency_max_s | s | longest
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
WITH told AS (
  SELECT
    r.run, r.tier, r.response_format, r.query_class, r.concurrency, r.target, r.mode, r.loop,
    r.offered_rps, r.instances, r.loops,
    min(r.server) AS server,
    count(DISTINCT r.rung) AS rungs,
    count(*) AS n,
    avg(q.latency_s) AS latency_mean_s,
    percentiles(q.latency_s) AS p
  FROM judged_rungs AS r
  JOIN requests AS q ON q.run = r.run AND q.rung = r.rung
  WHERE NOT coalesce(r.voided, false) AND coalesce(r.loop, 'closed') <> 'burst'
    AND q.error IS NULL AND coalesce(q.status, 200) < 400
  GROUP BY
    r.run, r.tier, r.response_format, r.query_class, r.concurrency, r.target, r.mode, r.loop,
    r.offered_rps, r.instances, r.loops
)
SELECT
  run, tier, response_format, query_class, concurrency, target, server, rungs, n, latency_mean_s,
  get_field(p, 'p50') AS latency_p50_s,
  CASE WHEN n >= 100 THEN get_field(p, 'p90') END AS latency_p90_s,
  CASE WHEN n >= 200 THEN get_field(p, 'p95') END AS latency_p95_s,
  CASE WHEN n >= 1000 THEN get_field(p, 'p99') END AS latency_p99_s,
  CASE WHEN n >= 10000 THEN get_field(p, 'p999') END AS latency_p999_s,
  get_field(p, 'max') AS latency_max_s,
  mode, loop, offered_rps, instances, loops
FROM told
ORDER BY
  run, try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, mode, loop,
  offered_rps, instances, loops, target
