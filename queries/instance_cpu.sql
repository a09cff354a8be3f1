-- CPU of every sampled container while a rung of N instances was measured.
--
-- Samples within the rung's window, as for rung_resources, container by
-- container. A container is one of the instances where the protocol counts it
-- to the target (of a target with a named API, that one alone); what else was
-- sampled is another process. Below min_coverage, or where a counter went
-- back, a container has no figure.
--| run | | run id
--| rung | | name of the rung
--| container | | a sampled container
--| is_instance | | whether it is one of the instances
--| coverage | fraction | sampled span over the window
--| cpu_cores | cores | CPU time over the window
--| cpu_limit | cores | the least that it is pinned to, null where nothing says
WITH windows AS (
  SELECT
    r.run, r.rung, r.target, r.tier, r.started_at, r.ended_at,
    r.ended_at - r.started_at AS window_s,
    u.min_coverage
  FROM rungs AS r
  JOIN rule AS u ON u.run = r.run
  WHERE r.instances IS NOT NULL AND r.loops IS NOT NULL AND r.ended_at > r.started_at
),
-- As in rung_resources: a window meets two slots at most.
slot_length AS (
  SELECT run, max(window_s) AS slot_s FROM windows GROUP BY run
),
slots AS (
  SELECT w.*, floor(w.started_at / l.slot_s) AS slot
  FROM windows AS w JOIN slot_length AS l ON l.run = w.run
  UNION ALL
  SELECT w.*, floor(w.started_at / l.slot_s) + 1 AS slot
  FROM windows AS w JOIN slot_length AS l ON l.run = w.run
),
samples AS (
  SELECT s.run, s.container, s.t, s.cpu_usec, floor(s.t / l.slot_s) AS slot
  FROM resources AS s
  JOIN slot_length AS l ON l.run = s.run
),
seen AS (
  SELECT
    w.run, w.rung, w.window_s, s.container, s.t, s.cpu_usec,
    lag(s.cpu_usec) OVER (PARTITION BY w.run, w.rung, s.container ORDER BY s.t) AS cpu_usec_before
  FROM slots AS w
  JOIN samples AS s ON s.run = w.run AND s.slot = w.slot
  WHERE s.t >= w.started_at AND s.t <= w.ended_at
),
spans AS (
  SELECT
    run, rung, container,
    max(t) - min(t) AS span_s,
    (last_value(cpu_usec ORDER BY t) - first_value(cpu_usec ORDER BY t)) / 1e6 AS cpu_s,
    bool_or(coalesce(cpu_usec < cpu_usec_before, false)) AS restarted
  FROM seen
  GROUP BY run, rung, container
),
limits AS (
  SELECT run, tier, container, min(cpu_limit(key, value)) AS cpu_limit
  FROM pins
  WHERE container IS NOT NULL
  GROUP BY run, tier, container
),
named_apis AS (
  SELECT run, target, bool_or(is_api) AS has_api FROM containers GROUP BY run, target
),
placed AS (
  SELECT
    w.run, w.rung, s.container,
    c.container IS NOT NULL AND (c.is_api OR NOT a.has_api) AS is_instance,
    s.span_s / w.window_s AS coverage,
    CASE
      WHEN NOT s.restarted AND s.span_s > 0 AND s.span_s / w.window_s >= w.min_coverage
      THEN s.cpu_s / s.span_s
    END AS cpu_cores,
    l.cpu_limit
  FROM spans AS s
  JOIN windows AS w ON w.run = s.run AND w.rung = s.rung
  LEFT JOIN containers AS c
    ON c.run = w.run AND c.target = w.target AND c.container = s.container
  -- Of a target that the protocol names no container of, nothing is known.
  JOIN named_apis AS a ON a.run = w.run AND a.target = w.target
  LEFT JOIN limits AS l
    ON l.run = w.run AND l.container = s.container
    AND (l.tier IS NULL OR (l.tier IS NOT DISTINCT FROM w.tier))
)
-- A container may be pinned for the tier and for all of them.
SELECT
  run, rung, container, is_instance, coverage, cpu_cores, min(cpu_limit) AS cpu_limit
FROM placed
GROUP BY run, rung, container, is_instance, coverage, cpu_cores
ORDER BY run, rung, container
