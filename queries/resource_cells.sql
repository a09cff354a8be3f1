-- What each target used, over the repetitions of a cell that have resources.
--
-- The mean of the rungs' figures (CPU per request too: not pooled), the peak
-- of their peaks, the smallest of their worker counts.
--| run | | run id
--| tier | | resource budget
--| response_format | | csv, votable, or -
--| query_class | | query class or scenario
--| concurrency | 1 | connections held
--| target | | the deployed server
--| n | 1 | repetitions with resources
--| rps | 1/s | mean throughput of those repetitions
--| cpu_cores | cores | CPU cores used
--| rps_per_core | 1/s | throughput per core used
--| cpu_s_per_request | s | CPU time per request
--| mem_mean_bytes | B | mean memory
--| mem_peak_bytes | B | peak memory
--| api_workers | 1 | workers of the API container
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
WITH computed AS (
  SELECT
    r.run, r.tier, r.response_format, r.query_class, r.concurrency, r.target, r.mode, r.loop,
    r.offered_rps, r.instances, r.loops,
    count(*) AS n,
    avg(r.rps) AS rps,
    avg(u.cpu_cores) AS cpu_cores,
    avg(u.cpu_s_per_request) AS cpu_s_per_request,
    avg(u.mem_mean_bytes) AS mem_mean_bytes,
    max(u.mem_peak_bytes) AS mem_peak_bytes,
    min(u.api_workers) AS api_workers
  FROM rungs AS r
  JOIN rung_resources AS u ON u.run = r.run AND u.rung = r.rung
  -- As in cells, bursts are not among them.
  WHERE u.cpu_s IS NOT NULL AND coalesce(r.loop, 'closed') <> 'burst'
  GROUP BY
    r.run, r.tier, r.response_format, r.query_class, r.concurrency, r.target, r.mode, r.loop,
    r.offered_rps, r.instances, r.loops
)
SELECT
  run, tier, response_format, query_class, concurrency, target, n, rps, cpu_cores,
  coalesce(rps_per_core, CASE WHEN cpu_cores > 0 THEN rps / cpu_cores END) AS rps_per_core,
  cpu_s_per_request, mem_mean_bytes, mem_peak_bytes, api_workers,
  mode, loop, offered_rps, instances, loops
FROM (
  SELECT
    run, tier, response_format, query_class, concurrency, target, n, rps, cpu_cores,
    CAST(NULL AS DOUBLE) AS rps_per_core, cpu_s_per_request, mem_mean_bytes, mem_peak_bytes,
    api_workers, mode, loop, offered_rps, instances, loops
  FROM computed
  UNION ALL
  SELECT
    p.run, p.tier, p.response_format, p.query_class, p.concurrency, p.target, p.n,
    coalesce(p.rps, c.rps_mean), p.cpu_cores, p.rps_per_core, p.cpu_s_per_request,
    p.mem_mean_bytes, p.mem_peak_bytes, p.api_workers, NULL, NULL, NULL, NULL, NULL
  FROM published_resource_cells AS p
  LEFT JOIN published_cells AS c
    ON c.run = p.run
    AND c.response_format = p.response_format
    AND c.query_class = p.query_class
    AND c.concurrency = p.concurrency
    AND c.target = p.target
    AND (c.tier IS NOT DISTINCT FROM p.tier)
) AS both
ORDER BY
  run, try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, mode, loop,
  offered_rps, instances, loops, target
