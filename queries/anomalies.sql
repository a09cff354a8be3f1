-- What looks wrong in the data: nothing here changes a verdict.
--
-- kind is one of: window overrun (a window above 110% of the scenario's
-- measure_seconds; window_s, else elapsed_s), window beyond elapsed (window_s
-- above elapsed_s by over 1%), resource coverage (below min_coverage), missing
-- repetition, extra repetition, missing cell (promised by the protocol), guard
-- contradicts peak (the flag is quiet, the peak at the limit), littles law
-- (concurrency against rps * mean latency, beyond 10%, closed loops only).
--| run | | run id
--| rung | | the rung, or the cell's name without its repetition
--| kind | | what is wrong, from a closed set
--| value | | what was found
--| limit | | what it should not be beyond
--| detail | | in words
WITH lengths AS (
  SELECT
    r.run, r.rung,
    coalesce(r.window_s, r.elapsed_s) AS seconds,
    coalesce(n.measure_seconds, u.measure_seconds) AS measure_seconds
  FROM rungs AS r
  JOIN runs AS n ON n.run = r.run
  JOIN rule AS u ON u.run = r.run
),
counted AS (
  SELECT
    run, tier, target, response_format, query_class, concurrency, mode, loop, offered_rps,
    instances, loops,
    count(*) AS n,
    min(regexp_replace(rung, '-r[0-9]+$', '')) AS rung
  FROM rungs
  -- Bursts are counted, not repeated.
  WHERE coalesce(loop, 'closed') <> 'burst'
  GROUP BY
    run, tier, target, response_format, query_class, concurrency, mode, loop, offered_rps,
    instances, loops
),
-- What is promised by the protocol or the scenario, else what most cells have.
usual AS (
  SELECT run, n FROM (
    SELECT
      run, n,
      row_number() OVER (PARTITION BY run ORDER BY cells DESC, n DESC) AS place
    FROM (SELECT run, n, count(*) AS cells FROM counted GROUP BY run, n) AS sizes
  ) AS ranked
  WHERE place = 1
),
expected AS (
  SELECT
    n.run,
    coalesce(
      u.repetitions,
      try_cast(regexp_replace(n.scenario, '^.*"repetitions": *([0-9]+).*$', '\1') AS BIGINT),
      c.n
    ) AS repetitions
  FROM runs AS n
  JOIN rule AS u ON u.run = n.run
  JOIN usual AS c ON c.run = n.run
),
found AS (
  SELECT
    run, rung, 'window overrun' AS kind, seconds AS value, 1.1 * measure_seconds AS limit_value,
    'the window lasted ' || CAST(round(seconds, 1) AS VARCHAR) || ' s for '
      || CAST(measure_seconds AS VARCHAR) || ' s planned' AS detail
  FROM lengths
  WHERE seconds > 1.1 * measure_seconds
  UNION ALL
  SELECT
    run, rung, 'window beyond elapsed', window_s, 1.01 * elapsed_s,
    'requests span ' || CAST(round(window_s, 1) AS VARCHAR) || ' s, rates divide by '
      || CAST(round(elapsed_s, 1) AS VARCHAR) || ' s'
  FROM rungs
  WHERE window_s > 1.01 * elapsed_s
  UNION ALL
  SELECT
    s.run, s.rung, 'resource coverage', s.coverage, u.min_coverage,
    'resource samples cover ' || CAST(round(100 * s.coverage, 1) AS VARCHAR) || '% of the window'
  FROM rung_resources AS s
  JOIN rule AS u ON u.run = s.run
  WHERE s.coverage < u.min_coverage
  UNION ALL
  SELECT
    c.run, c.rung,
    CASE WHEN c.n < e.repetitions THEN 'missing repetition' ELSE 'extra repetition' END,
    CAST(c.n AS DOUBLE), CAST(e.repetitions AS DOUBLE),
    CAST(c.n AS VARCHAR) || ' repetitions, ' || CAST(e.repetitions AS VARCHAR) || ' expected'
  FROM counted AS c
  JOIN expected AS e ON e.run = c.run
  WHERE c.n <> e.repetitions
  UNION ALL
  SELECT
    r.run, r.rung, 'guard contradicts peak', r.generator_cpu_peak, u.guard_max,
    'the guard was quiet at a peak of ' || CAST(r.generator_cpu_peak AS VARCHAR) || ' of a core'
  FROM rungs AS r
  JOIN rule AS u ON u.run = r.run
  WHERE r.generator_guard_ok AND r.generator_cpu_peak >= u.guard_max
  UNION ALL
  SELECT
    m.run, m.cell, 'missing cell', 0.0, CAST(u.repetitions AS DOUBLE),
    'the protocol promises this cell, and the run has no rung of it'
  FROM missing_cells AS m
  JOIN rule AS u ON u.run = m.run
  UNION ALL
  SELECT
    run, rung, 'littles law', rps * latency_mean_s, CAST(concurrency AS DOUBLE),
    CAST(round(rps * latency_mean_s, 2) AS VARCHAR) || ' requests in flight by rps * mean latency, '
      || CAST(concurrency AS VARCHAR) || ' connections held'
  FROM rungs
  WHERE coalesce(loop, 'closed') = 'closed'
    AND coalesce(mode, 'sync') = 'sync'
    AND abs(rps * latency_mean_s - concurrency) > 0.1 * concurrency
)
SELECT run, rung, kind, value, limit_value AS "limit", detail
FROM found
ORDER BY run, kind, rung
