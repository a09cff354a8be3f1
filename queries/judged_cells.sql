-- The cells as the rule of the verdicts sees them: a point, the ends of its interval, whether it is clean.
--| run | | run id
--| variant | | registered: by the rule as it is
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
SELECT
  c.run, 'registered' AS variant, c.tier, c.response_format, c.query_class, c.concurrency, c.mode,
  c.loop, c.offered_rps, c.instances, c.loops, c.target,
  CASE WHEN u.estimator = 'median' THEN coalesce(c.rps_median, c.rps_mean) ELSE c.rps_mean END
    AS point,
  c.rps_low AS low,
  c.rps_high AS high,
  -- A target that answered nothing has no error fraction, and is not clean.
  CASE
    WHEN c.requests = 0 THEN false
    ELSE coalesce(c.error_fraction_max, 0.0) <= u.error_ceiling
  END AS clean,
  c.guard_ok,
  u.tie_floor
FROM cells AS c
JOIN rule AS u ON u.run = c.run
