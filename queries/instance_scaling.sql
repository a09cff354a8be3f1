-- Throughput of N instances against one, and against one with N event loops.
--
-- Medians over the repetitions. efficiency = rps(N) / (N * rps(1)), both with
-- one event loop an instance; vs_loops = rps(N x 1) / rps(1 x N).
--| run | | run id
--| query_class | | scenario
--| concurrency | 1 | connections held
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
--| rps_median | 1/s | median throughput
--| efficiency | ratio | against N times one instance
--| vs_loops | ratio | against one instance with N event loops
--| target | | the deployed server
--| tier | | resource budget
--| response_format | | csv, votable, or -
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
WITH medians AS (
  SELECT
    run, tier, target, response_format, query_class, concurrency, mode, loop, offered_rps, instances,
    loops,
    median(rps) AS rps_median
  FROM rungs
  WHERE instances IS NOT NULL AND loops IS NOT NULL AND coalesce(loop, 'closed') <> 'burst'
  GROUP BY
    run, tier, target, response_format, query_class, concurrency, mode, loop, offered_rps, instances,
    loops
),
computed AS (
  SELECT
    m.run, m.query_class, m.concurrency, m.instances, m.loops, m.rps_median,
    CASE
      WHEN m.loops = 1 AND one.rps_median > 0
      THEN m.rps_median / (CAST(m.instances AS DOUBLE) * one.rps_median)
    END AS efficiency,
    CASE
      WHEN m.loops = 1 AND m.instances > 1 AND looped.rps_median > 0
      THEN m.rps_median / looped.rps_median
    END AS vs_loops,
    m.target, m.tier, m.response_format, m.mode, m.loop, m.offered_rps
  FROM medians AS m
  LEFT JOIN medians AS one
    ON one.run = m.run AND one.target = m.target AND one.response_format = m.response_format
    AND one.query_class = m.query_class AND one.concurrency = m.concurrency
    AND (one.mode IS NOT DISTINCT FROM m.mode) AND (one.loop IS NOT DISTINCT FROM m.loop)
    AND (one.offered_rps IS NOT DISTINCT FROM m.offered_rps)
    AND (one.tier IS NOT DISTINCT FROM m.tier) AND one.instances = 1 AND one.loops = 1
  LEFT JOIN medians AS looped
    ON looped.run = m.run AND looped.target = m.target
    AND looped.response_format = m.response_format
    AND looped.query_class = m.query_class AND looped.concurrency = m.concurrency
    AND (looped.mode IS NOT DISTINCT FROM m.mode) AND (looped.loop IS NOT DISTINCT FROM m.loop)
    AND (looped.offered_rps IS NOT DISTINCT FROM m.offered_rps)
    AND (looped.tier IS NOT DISTINCT FROM m.tier) AND looped.instances = 1
    AND looped.loops = m.instances
),
published AS (
  SELECT
    p.run, p.query_class, p.concurrency, p.instances, p.loops, p.rps_median,
    CASE
      WHEN coalesce(p.loops, 1) = 1 AND one.rps_median > 0
      THEN p.rps_median / (CAST(p.instances AS DOUBLE) * one.rps_median)
    END AS efficiency,
    -- The rates of the loops were not printed, so that the printed ratio stands.
    p.vs_loops,
    p.target, CAST(NULL AS VARCHAR) AS tier, '-' AS response_format, CAST(NULL AS VARCHAR) AS mode,
    CAST(NULL AS VARCHAR) AS loop, CAST(NULL AS DOUBLE) AS offered_rps
  FROM published_instance_scaling AS p
  LEFT JOIN published_instance_scaling AS one
    ON one.run = p.run AND one.query_class = p.query_class AND one.concurrency = p.concurrency
    AND (one.target IS NOT DISTINCT FROM p.target) AND one.instances = 1
    AND coalesce(one.loops, 1) = 1
)
SELECT * FROM (SELECT * FROM computed UNION ALL SELECT * FROM published) AS both
ORDER BY
  run, try_cast(tier AS DOUBLE), tier, target, response_format, query_class, concurrency, mode, loop,
  offered_rps, instances, loops
