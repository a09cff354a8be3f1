-- Whether run $b reproduces run $a, cell by cell.
--
-- Cells are matched on class, format, concurrency, and on target where both
-- runs have the same target names, else on server. Tiers match each other;
-- where only one run has tiers, its smallest is meant, unless $tier names
-- another. gap = (B - A) / A.
--| server | | the software that both targets run
--| response_format | | csv, votable, or -
--| query_class | | query class or scenario
--| concurrency | 1 | connections held
--| rps_mean_a | 1/s | throughput in run A
--| rps_mean_b | 1/s | throughput in run B
--| gap | fraction | relative gap of B against A
--| outcome | | tie, higher, lower or void
--| target_a | | the target in run A
--| target_b | | the target in run B
--| tier_a | | the tier in run A
--| tier_b | | the tier in run B
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
--| has_intervals | | whether both cells have an interval: without, a tie says nothing
WITH pointed AS (
  SELECT
    c.*,
    u.tie_floor,
    CASE WHEN u.estimator = 'median' THEN coalesce(c.rps_median, c.rps_mean) ELSE c.rps_mean END
      AS point
  FROM cells AS c
  JOIN rule AS u ON u.run = c.run
  WHERE c.run = $a OR c.run = $b
),
facts AS (
  SELECT
    count(DISTINCT CASE WHEN run = $a THEN tier END) AS tiers_a,
    count(DISTINCT CASE WHEN run = $b THEN tier END) AS tiers_b
  FROM pointed
),
names AS (
  SELECT
    target,
    bool_or(run = $a) AS in_a,
    bool_or(run = $b) AS in_b
  FROM pointed
  GROUP BY target
),
matching AS (
  SELECT bool_and(in_a AND in_b) AS by_target FROM names
),
smallest AS (
  SELECT
    max(CASE WHEN run = $a THEN tier END) AS tier_a,
    max(CASE WHEN run = $b THEN tier END) AS tier_b
  FROM tiers
  WHERE place = 1
),
sides AS (
  SELECT
    p.*,
    CASE WHEN m.by_target THEN p.target ELSE p.server END AS party,
    -- With tiers on both sides a tier meets its like, else the one meant.
    CASE WHEN f.tiers_a > 0 AND f.tiers_b > 0 THEN p.tier END AS meeting_tier
  FROM pointed AS p
  CROSS JOIN facts AS f
  CROSS JOIN matching AS m
  CROSS JOIN smallest AS s
  WHERE CASE
    WHEN p.tier IS NULL THEN true
    WHEN f.tiers_a > 0 AND f.tiers_b > 0 THEN $tier IS NULL OR p.tier = $tier
    WHEN p.run = $a THEN p.tier = coalesce($tier, s.tier_a)
    ELSE p.tier = coalesce($tier, s.tier_b)
  END
),
told_apart AS (
  SELECT
    *,
    count(*) OVER (
      PARTITION BY run, party, meeting_tier, response_format, query_class, concurrency, mode, loop,
        offered_rps, instances, loops
    ) AS twins
  FROM sides
),
unique_sides AS (
  SELECT * FROM told_apart
  WHERE CASE
    WHEN twins > 1
    THEN refuse('run ' || run || ' has several targets of server ' || server
      || ', and their names are not those of the other run: they cannot be told apart')
    ELSE true
  END
)
SELECT
  a.server, a.response_format, a.query_class, a.concurrency,
  a.point AS rps_mean_a,
  b.point AS rps_mean_b,
  CASE WHEN a.point > 0 THEN (b.point - a.point) / a.point END AS gap,
  CASE
    WHEN NOT a.guard_ok OR NOT b.guard_ok THEN 'void'
    WHEN beats(b.point, b.rps_low, a.point, a.rps_high, a.tie_floor) THEN 'higher'
    WHEN beats(a.point, a.rps_low, b.point, b.rps_high, a.tie_floor) THEN 'lower'
    ELSE 'tie'
  END AS outcome,
  a.target AS target_a, b.target AS target_b, a.tier AS tier_a, b.tier AS tier_b,
  a.mode, a.loop, a.offered_rps, a.instances, a.loops,
  a.rps_low IS NOT NULL AND b.rps_low IS NOT NULL AS has_intervals
FROM (SELECT * FROM unique_sides WHERE run = $a) AS a
JOIN (SELECT * FROM unique_sides WHERE run = $b) AS b
  ON b.party = a.party
  AND b.response_format = a.response_format
  AND b.query_class = a.query_class
  AND b.concurrency = a.concurrency
  AND (b.meeting_tier IS NOT DISTINCT FROM a.meeting_tier)
  AND (b.mode IS NOT DISTINCT FROM a.mode)
  AND (b.loop IS NOT DISTINCT FROM a.loop)
  AND (b.offered_rps IS NOT DISTINCT FROM a.offered_rps)
  AND (b.instances IS NOT DISTINCT FROM a.instances)
  AND (b.loops IS NOT DISTINCT FROM a.loops)
ORDER BY
  a.server, a.target, try_cast(a.tier AS DOUBLE), a.tier, a.response_format, a.query_class,
  a.concurrency, a.mode, a.loop, a.offered_rps, a.instances, a.loops
