-- Bursts from idle, one after the other, against a pool that its scaler grows.
--
-- Rungs whose loop is 'burst', their repetition counting the bursts of a
-- series from 1. Each stands for itself: the pool is another one by then, so
-- that bursts are no repetitions of each other, and make no cell.
--| run | | run id
--| query_class | | path or scenario
--| concurrency | 1 | connections of the burst
--| target | | the deployed server
--| burst | 1 | which burst of the series, from 1
--| rps | 1/s | throughput
--| latency_p99_s | s | 99th percentile of latency
--| errors | 1 | failed requests
--| instances | 1 | instances at the end of the burst
--| duration_s | s | length of the burst
--| gap_s | s | pause before the next
--| mem_peak_bytes | B | peak memory of the target
--| voided | | whether the guard voids the burst, null where nothing says
--| tier | | resource budget
--| response_format | | csv, votable, or -
--| mode | | sync or async
--| offered_rps | 1/s | offered rate, where one was kept
SELECT * FROM (
  SELECT
    r.run, r.query_class, r.concurrency, r.target,
    r.repetition AS burst,
    r.rps, r.latency_p99_s, r.errors, r.instances,
    r.elapsed_s AS duration_s,
    lead(r.started_at) OVER series - r.ended_at AS gap_s,
    u.mem_peak_bytes,
    -- The guard's word, as judged_rungs has it for the rungs that make cells.
    CASE
      WHEN NOT coalesce(r.generator_guard_ok, true)
        OR coalesce(r.generator_cpu_peak >= p.void_at, false) THEN true
      WHEN r.generator_guard_ok IS NOT NULL
        OR (p.void_at IS NOT NULL AND r.generator_cpu_peak IS NOT NULL) THEN false
    END AS voided,
    r.tier, r.response_format, r.mode, r.offered_rps
  FROM rungs AS r
  JOIN rule AS p ON p.run = r.run
  LEFT JOIN rung_resources AS u ON u.run = r.run AND u.rung = r.rung
  WHERE r.loop = 'burst'
  -- The number of instances is what a burst led to: it tells no series apart.
  WINDOW series AS (
    PARTITION BY r.run, r.tier, r.target, r.response_format, r.query_class, r.concurrency, r.mode,
      r.offered_rps
    ORDER BY r.repetition
  )
  UNION ALL
  SELECT
    run, NULL, concurrency, NULL, burst, rps, latency_p99_s, errors, instances_at_end,
    duration_s, gap_s, NULL, NULL, NULL, '-', NULL, NULL
  FROM published_bursts
) AS both
ORDER BY
  run, target, try_cast(tier AS DOUBLE), tier, response_format, mode, offered_rps, query_class,
  concurrency, burst
