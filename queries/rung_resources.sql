-- What each target used while a rung was measured.
--
-- Samples within the window of the rung's own requests. CPU: per container the
-- last minus the first counter, scaled by window / sampled span, summed over
-- the target's containers. Memory: containers added up per tick (rounded
-- second) where all are present. Below min_coverage a rung has no figures.
--| run | | run id
--| rung | | name of the rung
--| window_s | s | from the first request's start to the last response
--| coverage | fraction | sampled span of the shortest container over the window
--| cpu_s | s | CPU time of the target in the window
--| cpu_cores | cores | cpu_s / window_s
--| cpu_s_per_request | s | cpu_s / requests
--| mem_mean_bytes | B | mean memory of the target
--| mem_peak_bytes | B | peak memory of the target
--| api_workers | 1 | workers of the API container, by its smallest process count
WITH windows AS (
  SELECT
    r.run, r.rung, r.target, r.requests, r.started_at, r.ended_at,
    r.ended_at - r.started_at AS window_s,
    u.min_coverage
  FROM rungs AS r
  JOIN rule AS u ON u.run = r.run
  WHERE r.ended_at > r.started_at
),
-- Time is cut into slots as long as the run's longest window: a window meets
-- two of them at most, so that samples are found by an equality.
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
  SELECT
    s.run, c.target, c.is_api, s.container, s.t, s.cpu_usec, s.mem_bytes, s.python_procs,
    floor(s.t / l.slot_s) AS slot
  FROM resources AS s
  JOIN slot_length AS l ON l.run = s.run
  JOIN containers AS c ON c.run = s.run AND c.container = s.container
),
seen AS (
  SELECT
    w.run, w.rung, w.window_s, s.container, s.is_api, s.t, s.cpu_usec, s.mem_bytes, s.python_procs,
    lag(s.cpu_usec) OVER (PARTITION BY w.run, w.rung, s.container ORDER BY s.t) AS cpu_usec_before
  FROM slots AS w
  JOIN samples AS s ON s.run = w.run AND s.target = w.target AND s.slot = w.slot
  WHERE s.t >= w.started_at AND s.t <= w.ended_at
),
members AS (
  SELECT run, target, count(*) AS members FROM containers GROUP BY run, target
),
per_container AS (
  SELECT
    run, rung, container,
    max(t) - min(t) AS span_s,
    (last_value(cpu_usec ORDER BY t) - first_value(cpu_usec ORDER BY t)) / 1e6 AS cpu_s,
    bool_or(coalesce(cpu_usec < cpu_usec_before, false)) AS restarted,
    min(CASE WHEN is_api THEN python_procs END) AS api_processes
  FROM seen
  GROUP BY run, rung, container
),
per_target AS (
  SELECT
    p.run, p.rung,
    count(*) AS containers,
    min(p.span_s) AS span_s,
    -- A counter that went back was restarted: its use is not known.
    CASE
      WHEN bool_and(NOT p.restarted AND p.span_s > 0)
      THEN sum(p.cpu_s * w.window_s / nullif(p.span_s, 0))
    END AS cpu_s,
    min(p.api_processes) AS api_processes
  FROM per_container AS p
  JOIN windows AS w ON w.run = p.run AND w.rung = p.rung
  GROUP BY p.run, p.rung
),
per_container_tick AS (
  SELECT run, rung, round(t) AS tick, container, avg(CAST(mem_bytes AS DOUBLE)) AS mem_bytes
  FROM seen
  GROUP BY run, rung, round(t), container
),
per_tick AS (
  SELECT run, rung, tick, count(*) AS containers, sum(mem_bytes) AS mem_bytes
  FROM per_container_tick
  GROUP BY run, rung, tick
),
memory AS (
  SELECT t.run, t.rung, avg(t.mem_bytes) AS mem_mean_bytes, max(t.mem_bytes) AS mem_peak_bytes
  FROM per_tick AS t
  JOIN windows AS w ON w.run = t.run AND w.rung = t.rung
  JOIN members AS m ON m.run = w.run AND m.target = w.target
  WHERE t.containers = m.members
  GROUP BY t.run, t.rung
),
measured AS (
  SELECT
    w.run, w.rung, w.window_s, w.requests, w.min_coverage,
    CASE WHEN p.containers = m.members THEN p.span_s / w.window_s ELSE 0.0 END AS coverage,
    p.cpu_s, y.mem_mean_bytes, y.mem_peak_bytes, p.api_processes
  FROM windows AS w
  JOIN members AS m ON m.run = w.run AND m.target = w.target
  JOIN (SELECT DISTINCT run FROM resources) AS sampled ON sampled.run = w.run
  LEFT JOIN per_target AS p ON p.run = w.run AND p.rung = w.rung
  LEFT JOIN memory AS y ON y.run = w.run AND y.rung = w.rung
),
computed AS (
  SELECT
    run, rung, window_s, coverage,
    CASE WHEN coverage >= min_coverage THEN cpu_s END AS cpu_s,
    CASE WHEN coverage >= min_coverage THEN cpu_s / window_s END AS cpu_cores,
    CASE WHEN coverage >= min_coverage AND requests > 0 THEN cpu_s / requests END
      AS cpu_s_per_request,
    CASE WHEN coverage >= min_coverage THEN mem_mean_bytes END AS mem_mean_bytes,
    CASE WHEN coverage >= min_coverage THEN mem_peak_bytes END AS mem_peak_bytes,
    CASE
      WHEN coverage < min_coverage THEN NULL
      WHEN api_processes <= 3 THEN 1
      -- Null, where no API is named or its processes were not counted: greatest()
      -- would give the other argument.
      ELSE api_processes - 2
    END AS api_workers
  FROM measured
)
SELECT
  run, rung, window_s, coverage, cpu_s, cpu_cores, cpu_s_per_request, mem_mean_bytes,
  mem_peak_bytes, api_workers
FROM (
  SELECT * FROM computed
  UNION ALL
  SELECT
    run, rung, window_s, coverage, cpu_s, cpu_cores, cpu_s_per_request, mem_mean_bytes,
    mem_peak_bytes, api_workers
  FROM published_rung_resources
) AS both
ORDER BY run, rung
