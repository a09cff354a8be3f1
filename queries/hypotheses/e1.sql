-- E1: the embedded server beats DaCHS in every comparison.
WITH pairs AS (
  SELECT
    e.response_format, e.query_class, e.concurrency, e.rps_mean / nullif(d.rps_mean, 0) AS ratio,
    coalesce(e.voided_rungs, 0) + coalesce(d.voided_rungs, 0) > 0 AS is_void,
    e.rps_low > d.rps_high AND e.rps_mean >= (1 + r.tie_floor) * d.rps_mean
      AND coalesce(e.error_fraction_max, 0) <= r.error_ceiling AS beats
  FROM cells AS e
  JOIN cells AS d
    ON d.run = e.run AND d.response_format = e.response_format AND d.query_class = e.query_class
    AND d.concurrency = e.concurrency AND d.tier IS NOT DISTINCT FROM e.tier
  JOIN rule AS r ON r.run = e.run
  WHERE e.run = $run AND e.target = 'embedded' AND d.target = 'dachs'
),
counted AS (
  SELECT
    count(*) AS pairs,
    count(CASE WHEN NOT is_void AND beats THEN 1 END) AS beaten,
    count(CASE WHEN NOT is_void AND beats IS NOT TRUE THEN 1 END) AS others,
    min(CASE WHEN NOT is_void THEN ratio END) AS least,
    max(CASE WHEN NOT is_void THEN ratio END) AS most,
    string_agg(
      CASE WHEN is_void THEN query_class || ' ' || response_format || ' c=' || concurrency END,
      ', ' ORDER BY query_class, response_format, concurrency
    ) AS voided
  FROM pairs
)
SELECT
  'throughput' AS part,
  CASE WHEN others > 0 THEN false WHEN beaten > 0 THEN true END AS holds,
  CASE
    WHEN pairs = 0 THEN 'no cell of both'
    ELSE concat_ws(', ', beaten || ' of ' || pairs || ' beaten',
      '×' || CAST(CAST(least AS DECIMAL(12, 1)) AS VARCHAR) || ' to ×'
      || CAST(CAST(most AS DECIMAL(12, 1)) AS VARCHAR))
  END AS found,
  'beaten in every comparison' AS expected,
  'voided: ' || voided AS detail
FROM counted
