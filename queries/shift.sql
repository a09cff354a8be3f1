-- How far throughput moved from run $a to run $b, with the generator's peaks beside it.
--
-- Cells are matched as by reproduce. Whether a move is the server's or the
-- generator's is not for this query to say: see in what the runs differ.
--| tier | | resource budget
--| server | | the software that both targets run
--| response_format | | csv, votable, or -
--| query_class | | query class or scenario
--| concurrency | 1 | connections held
--| rps_mean_a | 1/s | throughput in run A
--| rps_mean_b | 1/s | throughput in run B
--| gap | fraction | relative gap of B against A
--| generator_cpu_peak_a | fraction of a core | highest peak of a generator worker in run A
--| generator_cpu_peak_b | fraction of a core | highest peak of a generator worker in run B
--| target_a | | the target in run A
--| target_b | | the target in run B
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
WITH peaks AS (
  SELECT
    run, tier, target, response_format, query_class, concurrency, mode, loop, offered_rps, instances,
    loops,
    max(generator_cpu_peak) AS peak
  FROM rungs
  WHERE run = $a OR run = $b
  GROUP BY
    run, tier, target, response_format, query_class, concurrency, mode, loop, offered_rps, instances,
    loops
)
SELECT
  coalesce(r.tier_a, r.tier_b) AS tier,
  r.server, r.response_format, r.query_class, r.concurrency, r.rps_mean_a, r.rps_mean_b, r.gap,
  a.peak AS generator_cpu_peak_a,
  b.peak AS generator_cpu_peak_b,
  r.target_a, r.target_b, r.mode, r.loop, r.offered_rps, r.instances, r.loops
FROM reproduce($a, $b, $tier) AS r
LEFT JOIN peaks AS a
  ON a.run = $a AND a.target = r.target_a AND a.response_format = r.response_format
  AND a.query_class = r.query_class AND a.concurrency = r.concurrency
  AND (a.tier IS NOT DISTINCT FROM r.tier_a)
  AND (a.mode IS NOT DISTINCT FROM r.mode)
  AND (a.loop IS NOT DISTINCT FROM r.loop)
  AND (a.offered_rps IS NOT DISTINCT FROM r.offered_rps)
  AND (a.instances IS NOT DISTINCT FROM r.instances)
  AND (a.loops IS NOT DISTINCT FROM r.loops)
LEFT JOIN peaks AS b
  ON b.run = $b AND b.target = r.target_b AND b.response_format = r.response_format
  AND b.query_class = r.query_class AND b.concurrency = r.concurrency
  AND (b.tier IS NOT DISTINCT FROM r.tier_b)
  AND (b.mode IS NOT DISTINCT FROM r.mode)
  AND (b.loop IS NOT DISTINCT FROM r.loop)
  AND (b.offered_rps IS NOT DISTINCT FROM r.offered_rps)
  AND (b.instances IS NOT DISTINCT FROM r.instances)
  AND (b.loops IS NOT DISTINCT FROM r.loops)
ORDER BY
  try_cast(coalesce(r.tier_a, r.tier_b) AS DOUBLE), tier, r.server, r.target_a, r.response_format,
  r.query_class, r.concurrency, r.mode, r.loop, r.offered_rps, r.instances, r.loops
