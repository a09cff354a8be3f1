-- The repetitions of one rung key taken together, voided ones too.
--
-- half-width = t((1 + confidence) / 2, n - 1) * s / sqrt(n), s the sample
-- standard deviation; one repetition has no interval. rps_low and rps_high lie
-- that half-width around the mean, or around the median with --estimator median.
--| run | | run id
--| tier | | resource budget
--| response_format | | csv, votable, or -
--| query_class | | query class or scenario
--| concurrency | 1 | connections held
--| target | | the deployed server
--| server | | the software that it runs
--| source | | computed from rungs, or published as printed
--| n | 1 | repetitions
--| rps_mean | 1/s | mean throughput
--| rps_half_width | 1/s | half-width of the interval of the mean
--| rps_low | 1/s | lower end of the interval
--| rps_high | 1/s | upper end of the interval
--| rps_median | 1/s | median throughput
--| rps_min | 1/s | lowest throughput
--| rps_max | 1/s | highest throughput
--| latency_p95_s_mean | s | mean of the 95th percentiles
--| latency_p95_s_half_width | s | half-width of its interval
--| latency_p95_s_median | s | median of the 95th percentiles
--| error_fraction_max | fraction | largest error fraction of a repetition
--| guard_ok | | false where a repetition is voided, null where unknown
--| voided_rungs | 1 | voided repetitions, null where unknown
--| lower_bound | | the generator was near its limit: the figure is under-reported
--| requests | 1 | requests of all repetitions
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
WITH computed AS (
  SELECT
    run, tier, response_format, query_class, concurrency, target, mode, loop, offered_rps,
    instances, loops,
    min(server) AS server,
    count(*) AS n,
    avg(rps) AS rps_mean,
    stddev_samp(rps) AS rps_s,
    median(rps) AS rps_median,
    min(rps) AS rps_min,
    max(rps) AS rps_max,
    avg(latency_p95_s) AS latency_p95_s_mean,
    stddev_samp(latency_p95_s) AS latency_p95_s_s,
    count(latency_p95_s) AS latency_n,
    median(latency_p95_s) AS latency_p95_s_median,
    max(error_fraction) AS error_fraction_max,
    bool_and(guard_known) AS guard_known,
    sum(CASE WHEN voided THEN 1 ELSE 0 END) AS voided_rungs,
    bool_or(near_limit) AS lower_bound,
    sum(requests) AS requests
  FROM judged_rungs
  GROUP BY
    run, tier, response_format, query_class, concurrency, target, mode, loop, offered_rps,
    instances, loops
),
all_cells AS (
  SELECT
    c.run, c.tier, c.response_format, c.query_class, c.concurrency, c.target, c.server,
    'computed' AS source, c.n,
    c.rps_mean, t_half_width(c.rps_s, c.n, u.confidence) AS rps_half_width,
    c.rps_median, c.rps_min, c.rps_max,
    c.latency_p95_s_mean,
    t_half_width(c.latency_p95_s_s, c.latency_n, u.confidence) AS latency_p95_s_half_width,
    c.latency_p95_s_median, c.error_fraction_max,
    CASE WHEN c.voided_rungs > 0 THEN false WHEN c.guard_known THEN true END AS guard_ok,
    CASE WHEN c.voided_rungs > 0 OR c.guard_known THEN c.voided_rungs END AS voided_rungs,
    c.lower_bound, c.requests, c.mode, c.loop, c.offered_rps, c.instances, c.loops,
    u.estimator
  FROM computed AS c
  JOIN rule AS u ON u.run = c.run
  UNION ALL
  SELECT
    p.run, p.tier, p.response_format, p.query_class, p.concurrency, p.target, p.server,
    'published' AS source, p.n, p.rps_mean, p.rps_half_width, p.rps_median, p.rps_min, p.rps_max,
    p.latency_p95_s_mean, p.latency_p95_s_half_width, p.latency_p95_s_median,
    p.error_fraction_max,
    -- A table may print either column, or none of the two.
    CASE WHEN p.voided_rungs > 0 THEN false ELSE coalesce(p.guard_ok, p.voided_rungs = 0) END
      AS guard_ok,
    p.voided_rungs, p.lower_bound, p.requests,
    NULL, NULL, NULL, NULL, NULL, u.estimator
  FROM published_cells AS p
  JOIN rule AS u ON u.run = p.run
),
pointed AS (
  SELECT
    *,
    CASE WHEN estimator = 'median' THEN coalesce(rps_median, rps_mean) ELSE rps_mean END AS point
  FROM all_cells
)
SELECT
  run, tier, response_format, query_class, concurrency, target, server, source, n,
  rps_mean, rps_half_width, point - rps_half_width AS rps_low, point + rps_half_width AS rps_high,
  rps_median, rps_min, rps_max, latency_p95_s_mean, latency_p95_s_half_width,
  latency_p95_s_median, error_fraction_max, guard_ok, voided_rungs, lower_bound, requests,
  mode, loop, offered_rps, instances, loops
FROM pointed
ORDER BY
  run, try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, mode, loop,
  offered_rps, instances, loops, target
