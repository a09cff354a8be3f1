-- What a step from one tier to the next changed for a target.
--
-- higher, lower or tie by the rule of the verdicts; void where either cell has
-- a voided rung. Errors do not enter. A pair with a missing cell is absent.
--| run | | run id
--| target | | the deployed server
--| server | | the software that it runs
--| response_format | | csv, votable, or -
--| query_class | | query class or scenario
--| concurrency | 1 | connections held
--| from_tier | | the smaller tier
--| to_tier | | the next tier of the run
--| change | | higher, lower, tie or void
--| ratio | ratio | throughput at the next tier over that at the smaller
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
WITH pointed AS (
  SELECT
    c.*,
    u.tie_floor,
    CASE WHEN u.estimator = 'median' THEN coalesce(c.rps_median, c.rps_mean) ELSE c.rps_mean END
      AS point
  FROM cells AS c
  JOIN rule AS u ON u.run = c.run
)
SELECT
  a.run, a.target, a.server, a.response_format, a.query_class, a.concurrency,
  a.tier AS from_tier,
  b.tier AS to_tier,
  CASE
    WHEN NOT a.guard_ok OR NOT b.guard_ok THEN 'void'
    WHEN beats(b.point, b.rps_low, a.point, a.rps_high, a.tie_floor) THEN 'higher'
    WHEN beats(a.point, a.rps_low, b.point, b.rps_high, a.tie_floor) THEN 'lower'
    ELSE 'tie'
  END AS change,
  CASE WHEN a.point > 0 THEN b.point / a.point END AS ratio,
  a.mode, a.loop, a.offered_rps, a.instances, a.loops
FROM tiers AS t
JOIN pointed AS a ON a.run = t.run AND a.tier = t.tier
JOIN pointed AS b
  ON b.run = t.run
  AND b.tier = t.next_tier
  AND b.target = a.target
  AND b.response_format = a.response_format
  AND b.query_class = a.query_class
  AND b.concurrency = a.concurrency
  AND (b.mode IS NOT DISTINCT FROM a.mode)
  AND (b.loop IS NOT DISTINCT FROM a.loop)
  AND (b.offered_rps IS NOT DISTINCT FROM a.offered_rps)
  AND (b.instances IS NOT DISTINCT FROM a.instances)
  AND (b.loops IS NOT DISTINCT FROM a.loops)
ORDER BY
  a.run, a.server, a.target, t.place, a.response_format, a.query_class, a.concurrency, a.mode,
  a.loop, a.offered_rps, a.instances, a.loops
