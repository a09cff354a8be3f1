-- How robust each verdict is: what other rules would say, and what this n could have shown.
--
-- The registered verdict stays the verdict; this stands beside it. Welch: the
-- best beats a rival where the two-sided p of Welch's t-test on log throughput,
-- the largest over its rivals, is below 1 - confidence after Holm's correction
-- over the run's comparisons, and the tie floor is met. detectable: the smallest
-- true difference that two such cells would have shown with a power of 80%, by
-- the sum of the two t quantiles (an approximation to the noncentral t). tie is
-- shown where the 90% interval of the ratio of the two fastest lies within
-- 0.9 and 1.1 (two one-sided tests), else not decided.
--| run | | run id
--| tier | | resource budget
--| response_format | | csv, votable, or -
--| query_class | | query class or scenario
--| concurrency | 1 | connections held
--| verdict | | the registered verdict
--| robust | | whether no other rule that could be tried changes it, null if void or a tie for want of an interval
--| tie_floor_5 | | the verdict with a tie floor of 5%
--| tie_floor_20 | | the verdict with a tie floor of 20%
--| medians | | the verdict with medians, null without rungs
--| welch | | the verdict by Welch's t-test, null without intervals
--| welch_p | fraction | its p after Holm's correction
--| without_one | | the repetitions whose absence changes the verdict
--| detectable | fraction | smallest relative difference that would have been shown
--| tie | | shown or not decided, where the verdict is a tie
--| ratio_low | ratio | lower end of the 90% interval of best over runner-up
--| ratio_high | ratio | upper end of that interval
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
WITH judged AS (
  SELECT * FROM judge('cell_variants')
),
registered AS (
  SELECT * FROM judged WHERE variant = 'registered'
),
others AS (
  SELECT
    r.run, r.tier, r.response_format, r.query_class, r.concurrency, r.mode, r.loop, r.offered_rps,
    r.instances, r.loops,
    max(CASE WHEN o.variant = 'tie floor 5%' THEN o.verdict END) AS tie_floor_5,
    max(CASE WHEN o.variant = 'tie floor 20%' THEN o.verdict END) AS tie_floor_20,
    max(CASE WHEN o.variant = 'medians' THEN o.verdict END) AS medians,
    count(CASE WHEN o.variant LIKE 'without %' THEN 1 END) AS left_out,
    string_agg(
      CASE WHEN o.variant LIKE 'without %' AND (o.verdict IS DISTINCT FROM r.verdict)
        THEN substr(o.variant, 9) END,
      ', ' ORDER BY o.variant
    ) AS without_one
  FROM registered AS r
  JOIN judged AS o
  ON o.run = r.run
    AND o.response_format = r.response_format
    AND o.query_class = r.query_class
    AND o.concurrency = r.concurrency
    AND (o.tier IS NOT DISTINCT FROM r.tier)
    AND (o.mode IS NOT DISTINCT FROM r.mode)
    AND (o.loop IS NOT DISTINCT FROM r.loop)
    AND (o.offered_rps IS NOT DISTINCT FROM r.offered_rps)
    AND (o.instances IS NOT DISTINCT FROM r.instances)
    AND (o.loops IS NOT DISTINCT FROM r.loops)
  GROUP BY
    r.run, r.tier, r.response_format, r.query_class, r.concurrency, r.mode, r.loop, r.offered_rps,
    r.instances, r.loops
),
logs AS (
  SELECT
    run, tier, response_format, query_class, concurrency, mode, loop, offered_rps, instances, loops,
    target,
    count(*) AS n,
    avg(CASE WHEN rps > 0 THEN ln(rps) END) AS mean,
    stddev_samp(CASE WHEN rps > 0 THEN ln(rps) END) AS s
  FROM rungs
  GROUP BY
    run, tier, response_format, query_class, concurrency, mode, loop, offered_rps, instances, loops,
    target
  -- A repetition that answered nothing has no logarithm, and its cell no test.
  HAVING min(rps) > 0
),
pairs AS (
  SELECT
    r.run, r.tier, r.response_format, r.query_class, r.concurrency, r.mode, r.loop, r.offered_rps,
    r.instances, r.loops,
    rival.target = r.runner_up AS is_runner_up,
    a.mean - b.mean AS difference,
    welch_p(a.mean, a.s, a.n, b.mean, b.s, b.n) AS p,
    welch_half_width(a.s, a.n, b.s, b.n, 0.90) AS half_width,
    welch_detectable(a.s, a.n, b.s, b.n, u.confidence, 0.80) AS detectable,
    (best.point - rival.point) / nullif(rival.point, 0) >= u.tie_floor AS is_far
  FROM registered AS r
  JOIN rule AS u ON u.run = r.run
  JOIN judged_cells AS best
    ON best.target = r.best AND best.run = r.run
    AND best.response_format = r.response_format
    AND best.query_class = r.query_class
    AND best.concurrency = r.concurrency
    AND (best.tier IS NOT DISTINCT FROM r.tier)
    AND (best.mode IS NOT DISTINCT FROM r.mode)
    AND (best.loop IS NOT DISTINCT FROM r.loop)
    AND (best.offered_rps IS NOT DISTINCT FROM r.offered_rps)
    AND (best.instances IS NOT DISTINCT FROM r.instances)
    AND (best.loops IS NOT DISTINCT FROM r.loops)
  JOIN judged_cells AS rival
    ON rival.target <> r.best AND rival.clean AND rival.run = r.run
    AND rival.response_format = r.response_format
    AND rival.query_class = r.query_class
    AND rival.concurrency = r.concurrency
    AND (rival.tier IS NOT DISTINCT FROM r.tier)
    AND (rival.mode IS NOT DISTINCT FROM r.mode)
    AND (rival.loop IS NOT DISTINCT FROM r.loop)
    AND (rival.offered_rps IS NOT DISTINCT FROM r.offered_rps)
    AND (rival.instances IS NOT DISTINCT FROM r.instances)
    AND (rival.loops IS NOT DISTINCT FROM r.loops)
  LEFT JOIN logs AS a
    ON a.target = best.target AND a.run = best.run
    AND a.response_format = best.response_format
    AND a.query_class = best.query_class
    AND a.concurrency = best.concurrency
    AND (a.tier IS NOT DISTINCT FROM best.tier)
    AND (a.mode IS NOT DISTINCT FROM best.mode)
    AND (a.loop IS NOT DISTINCT FROM best.loop)
    AND (a.offered_rps IS NOT DISTINCT FROM best.offered_rps)
    AND (a.instances IS NOT DISTINCT FROM best.instances)
    AND (a.loops IS NOT DISTINCT FROM best.loops)
  LEFT JOIN logs AS b
    ON b.target = rival.target AND b.run = rival.run
    AND b.response_format = rival.response_format
    AND b.query_class = rival.query_class
    AND b.concurrency = rival.concurrency
    AND (b.tier IS NOT DISTINCT FROM rival.tier)
    AND (b.mode IS NOT DISTINCT FROM rival.mode)
    AND (b.loop IS NOT DISTINCT FROM rival.loop)
    AND (b.offered_rps IS NOT DISTINCT FROM rival.offered_rps)
    AND (b.instances IS NOT DISTINCT FROM rival.instances)
    AND (b.loops IS NOT DISTINCT FROM rival.loops)
),
tests AS (
  SELECT
    run, tier, response_format, query_class, concurrency, mode, loop, offered_rps, instances, loops,
    -- Without a test against each rival there is none.
    CASE WHEN count(p) = count(*) THEN max(p) END AS p,
    bool_and(is_far) AS all_far,
    max(CASE WHEN is_runner_up THEN detectable END) AS detectable,
    max(CASE WHEN is_runner_up THEN exp(difference - half_width) END) AS ratio_low,
    max(CASE WHEN is_runner_up THEN exp(difference + half_width) END) AS ratio_high
  FROM pairs
  GROUP BY
    run, tier, response_format, query_class, concurrency, mode, loop, offered_rps, instances, loops
),
stepped AS (
  SELECT
    *,
    p * (count(p) OVER (PARTITION BY run)
      + 1 - row_number() OVER (
        PARTITION BY run
        ORDER BY p, tier, response_format, query_class, concurrency, mode, loop, offered_rps,
          instances, loops
      )) AS stepped_p
  FROM tests
  WHERE p IS NOT NULL
),
holm AS (
  SELECT
    *,
    least(1.0, max(stepped_p) OVER (
      PARTITION BY run
      ORDER BY p, tier, response_format, query_class, concurrency, mode, loop, offered_rps,
        instances, loops
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )) AS holm_p
  FROM stepped
),
beside AS (
  SELECT
    r.run, r.tier, r.response_format, r.query_class, r.concurrency, r.verdict, r.reason, o.tie_floor_5,
    o.tie_floor_20, o.medians, o.left_out, o.without_one,
    CASE
      WHEN r.verdict IS NULL OR r.verdict IN ('invalid', 'incomplete') THEN r.verdict
      WHEN r.reason = 'one clean target' THEN r.verdict
      WHEN h.holm_p IS NULL THEN NULL
      WHEN h.holm_p < 1 - u.confidence AND h.all_far THEN r.best
      ELSE 'tie'
    END AS welch,
    h.holm_p, h.detectable, h.ratio_low, h.ratio_high,
    r.mode, r.loop, r.offered_rps, r.instances, r.loops
  FROM registered AS r
  JOIN rule AS u ON u.run = r.run
  JOIN others AS o
  ON o.run = r.run
    AND o.response_format = r.response_format
    AND o.query_class = r.query_class
    AND o.concurrency = r.concurrency
    AND (o.tier IS NOT DISTINCT FROM r.tier)
    AND (o.mode IS NOT DISTINCT FROM r.mode)
    AND (o.loop IS NOT DISTINCT FROM r.loop)
    AND (o.offered_rps IS NOT DISTINCT FROM r.offered_rps)
    AND (o.instances IS NOT DISTINCT FROM r.instances)
    AND (o.loops IS NOT DISTINCT FROM r.loops)
  LEFT JOIN holm AS h
  ON h.run = r.run
    AND h.response_format = r.response_format
    AND h.query_class = r.query_class
    AND h.concurrency = r.concurrency
    AND (h.tier IS NOT DISTINCT FROM r.tier)
    AND (h.mode IS NOT DISTINCT FROM r.mode)
    AND (h.loop IS NOT DISTINCT FROM r.loop)
    AND (h.offered_rps IS NOT DISTINCT FROM r.offered_rps)
    AND (h.instances IS NOT DISTINCT FROM r.instances)
    AND (h.loops IS NOT DISTINCT FROM r.loops)
)
SELECT
  run, tier, response_format, query_class, concurrency, verdict,
  CASE
    WHEN verdict IS NULL OR verdict IN ('invalid', 'incomplete') THEN NULL
    -- Without intervals no rule could have said otherwise.
    WHEN reason = 'no interval' THEN NULL
    ELSE tie_floor_5 = verdict AND tie_floor_20 = verdict AND coalesce(medians, verdict) = verdict
      AND coalesce(welch, verdict) = verdict AND without_one IS NULL
  END AS robust,
  tie_floor_5, tie_floor_20, medians, welch, holm_p AS welch_p, without_one, detectable,
  CASE
    WHEN verdict = 'tie' AND ratio_low IS NOT NULL
    THEN CASE WHEN ratio_low >= 0.9 AND ratio_high <= 1.1 THEN 'shown' ELSE 'not decided' END
  END AS tie,
  ratio_low, ratio_high, mode, loop, offered_rps, instances, loops
FROM beside
ORDER BY
  run, try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, mode, loop,
  offered_rps, instances, loops
