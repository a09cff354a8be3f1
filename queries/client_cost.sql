-- What a response costs the client: a + b * MiB of CPU, per target.
--
-- Ordinary least squares of the client's CPU seconds per request on the mean
-- response size in MiB, over the rungs that are not voided. Basis cpu_total is
-- the CPU of the whole generator; cpu_peak counts its busiest worker alone
-- against everybody's requests, and so understates by up to the number of
-- workers: the two are never to be compared.
--| run | | run id
--| target | | the deployed server
--| server | | the software that it runs
--| basis | | cpu_total or cpu_peak
--| rungs | 1 | rungs that the line goes through
--| excluded | 1 | rungs left out: voided, or without the figures
--| a_s_per_request | s | cost of a request
--| a_low | s | lower end of its interval
--| a_high | s | upper end of its interval
--| b_s_per_mib | s/MiB | cost of a MiB received
--| b_low | s/MiB | lower end of its interval
--| b_high | s/MiB | upper end of its interval
--| r_squared | fraction | share of the variance that the line explains
WITH costed AS (
  SELECT
    r.run, r.target, r.server, r.voided, u.confidence,
    CASE
      WHEN r.generator_cpu_s IS NOT NULL THEN 'cpu_total'
      WHEN r.generator_cpu_peak IS NOT NULL THEN 'cpu_peak'
    END AS basis,
    r.mean_response_bytes / 1048576.0 AS mib,
    CASE
      WHEN r.generator_cpu_s IS NOT NULL AND r.requests > 0
      THEN r.generator_cpu_s / r.requests
      WHEN r.generator_cpu_s IS NULL AND r.rps > 0
      THEN r.generator_cpu_peak / r.rps
    END AS cost_s
  FROM judged_rungs AS r
  JOIN rule AS u ON u.run = r.run
),
fitted AS (
  SELECT
    run, target, min(server) AS server, basis,
    count(*) AS rungs_of_basis,
    line(
      CASE WHEN NOT voided THEN mib END,
      CASE WHEN NOT voided THEN cost_s END,
      confidence
    ) AS fit
  FROM costed
  WHERE basis IS NOT NULL
  GROUP BY run, target, basis
),
unfounded AS (
  SELECT run, target, count(*) AS rungs FROM costed WHERE basis IS NULL GROUP BY run, target
)
SELECT
  f.run, f.target, f.server, f.basis,
  get_field(fit, 'n') AS rungs,
  f.rungs_of_basis + coalesce(u.rungs, 0) - get_field(fit, 'n') AS excluded,
  get_field(fit, 'a') AS a_s_per_request,
  get_field(fit, 'a') - get_field(fit, 'a_half_width') AS a_low,
  get_field(fit, 'a') + get_field(fit, 'a_half_width') AS a_high,
  get_field(fit, 'b') AS b_s_per_mib,
  get_field(fit, 'b') - get_field(fit, 'b_half_width') AS b_low,
  get_field(fit, 'b') + get_field(fit, 'b_half_width') AS b_high,
  get_field(fit, 'r_squared') AS r_squared
FROM fitted AS f
LEFT JOIN unfounded AS u ON u.run = f.run AND u.target = f.target
ORDER BY f.run, f.server, f.target, f.basis
