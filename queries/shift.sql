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
WITH peaks AS (
  SELECT
    run, tier, target, response_format, query_class, concurrency,
    max(generator_cpu_peak) AS peak
  FROM rungs
  WHERE run = $a OR run = $b
  GROUP BY run, tier, target, response_format, query_class, concurrency
)
SELECT
  coalesce(r.tier_a, r.tier_b) AS tier,
  r.server, r.response_format, r.query_class, r.concurrency, r.rps_mean_a, r.rps_mean_b, r.gap,
  a.peak AS generator_cpu_peak_a,
  b.peak AS generator_cpu_peak_b,
  r.target_a, r.target_b
FROM reproduce($a, $b, $tier) AS r
LEFT JOIN peaks AS a
  ON a.run = $a AND a.target = r.target_a AND a.response_format = r.response_format
  AND a.query_class = r.query_class AND a.concurrency = r.concurrency
  AND (a.tier IS NOT DISTINCT FROM r.tier_a)
LEFT JOIN peaks AS b
  ON b.run = $b AND b.target = r.target_b AND b.response_format = r.response_format
  AND b.query_class = r.query_class AND b.concurrency = r.concurrency
  AND (b.tier IS NOT DISTINCT FROM r.tier_b)
ORDER BY
  try_cast(coalesce(r.tier_a, r.tier_b) AS DOUBLE), tier, r.server, r.target_a, r.response_format,
  r.query_class, r.concurrency
