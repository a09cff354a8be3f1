-- The cells of judged_cells as other rules would see them: for verdict_robustness.
--
-- variant is one of: registered, tie floor 5%, tie floor 20%, medians, and
-- without rN for each repetition of the run. The last two need the rungs.
--| run | | run id
--| variant | | the rule: registered, or another
--| tier | | resource budget
--| response_format | | csv, votable, or -
--| query_class | | query class or scenario
--| concurrency | 1 | connections held
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
--| target | | the deployed server
--| point | 1/s | throughput that is compared: the mean, or the median
--| low | 1/s | lower end of its interval
--| high | 1/s | upper end of its interval
--| clean | | whether its errors are within the ceiling
--| guard_ok | | false where a repetition is voided, null where unknown
--| tie_floor | fraction | smallest relative difference that counts
WITH repetitions AS (
  SELECT DISTINCT run, repetition FROM judged_rungs
),
left_out AS (
  SELECT
    r.run, o.repetition AS left_out, r.tier, r.response_format, r.query_class, r.concurrency,
    r.mode, r.loop, r.offered_rps, r.instances, r.loops, r.target,
    count(*) AS n,
    avg(r.rps) AS mean,
    median(r.rps) AS median,
    stddev_samp(r.rps) AS s,
    max(r.error_fraction) AS error_fraction_max,
    sum(r.requests) AS requests,
    CASE WHEN bool_or(r.voided) THEN false WHEN bool_and(r.guard_known) THEN true END AS guard_ok
  FROM judged_rungs AS r
  JOIN repetitions AS o ON o.run = r.run AND o.repetition <> r.repetition
  GROUP BY
    r.run, o.repetition, r.tier, r.response_format, r.query_class, r.concurrency, r.mode, r.loop,
    r.offered_rps, r.instances, r.loops, r.target
),
left_out_points AS (
  SELECT
    c.*, u.tie_floor, u.error_ceiling,
    CASE WHEN u.estimator = 'median' THEN c.median ELSE c.mean END AS point,
    t_half_width(c.s, c.n, u.confidence) AS half_width
  FROM left_out AS c
  JOIN rule AS u ON u.run = c.run
)
SELECT * FROM judged_cells
UNION ALL
SELECT
  c.run, 'tie floor ' || f.name, c.tier, c.response_format, c.query_class, c.concurrency, c.mode,
  c.loop, c.offered_rps, c.instances, c.loops, c.target, c.point, c.low, c.high, c.clean,
  c.guard_ok, f.tie_floor
FROM judged_cells AS c
CROSS JOIN (VALUES ('5%', 0.05), ('20%', 0.20)) AS f (name, tie_floor)
UNION ALL
SELECT
  j.run, 'medians', j.tier, j.response_format, j.query_class, j.concurrency, j.mode, j.loop,
  j.offered_rps, j.instances, j.loops, j.target, c.rps_median, c.rps_median - c.rps_half_width,
  c.rps_median + c.rps_half_width, j.clean, j.guard_ok, j.tie_floor
FROM judged_cells AS j
JOIN cells AS c
  ON c.run = j.run
  AND c.target = j.target
  AND c.response_format = j.response_format
  AND c.query_class = j.query_class
  AND c.concurrency = j.concurrency
  AND (c.tier IS NOT DISTINCT FROM j.tier)
  AND (c.mode IS NOT DISTINCT FROM j.mode)
  AND (c.loop IS NOT DISTINCT FROM j.loop)
  AND (c.offered_rps IS NOT DISTINCT FROM j.offered_rps)
  AND (c.instances IS NOT DISTINCT FROM j.instances)
  AND (c.loops IS NOT DISTINCT FROM j.loops)
WHERE c.rps_median IS NOT NULL
UNION ALL
SELECT
  run, 'without r' || CAST(left_out AS VARCHAR), tier, response_format, query_class, concurrency,
  mode, loop, offered_rps, instances, loops, target, point, point - half_width, point + half_width,
  CASE WHEN requests = 0 THEN false ELSE coalesce(error_fraction_max, 0.0) <= error_ceiling END,
  guard_ok, tie_floor
FROM left_out_points
