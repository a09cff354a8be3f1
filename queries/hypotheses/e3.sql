-- E3: DaCHS answers no more requests with 4 connections than with 1: every class and format ties.
WITH pairs AS (
  SELECT
    few.response_format, few.query_class, many.rps_mean / nullif(few.rps_mean, 0) AS ratio,
    coalesce(few.voided_rungs, 0) + coalesce(many.voided_rungs, 0) > 0 AS is_void,
    (many.rps_low > few.rps_high AND many.rps_mean >= (1 + r.tie_floor) * few.rps_mean)
      OR (few.rps_low > many.rps_high AND few.rps_mean >= (1 + r.tie_floor) * many.rps_mean)
      AS differs
  FROM cells AS few
  JOIN cells AS many
    ON many.run = few.run AND many.target = few.target
    AND many.response_format = few.response_format AND many.query_class = few.query_class
    AND many.tier IS NOT DISTINCT FROM few.tier
  JOIN rule AS r ON r.run = few.run
  WHERE few.run = $run AND few.target = 'dachs' AND few.concurrency = 1 AND many.concurrency = 4
),
counted AS (
  SELECT
    count(*) AS pairs,
    count(CASE WHEN NOT is_void AND NOT differs THEN 1 END) AS ties,
    count(CASE WHEN NOT is_void AND differs THEN 1 END) AS others,
    string_agg(
      CASE
        WHEN NOT is_void AND differs
        THEN query_class || ' ' || response_format || ' ×'
          || CAST(CAST(ratio AS DECIMAL(12, 2)) AS VARCHAR)
      END,
      ', ' ORDER BY query_class, response_format
    ) AS differing,
    string_agg(
      CASE WHEN is_void THEN query_class || ' ' || response_format END,
      ', ' ORDER BY query_class, response_format
    ) AS voided
  FROM pairs
)
SELECT
  '1 to 4 connections' AS part,
  CASE WHEN others > 0 THEN false WHEN ties > 0 THEN true END AS holds,
  CASE WHEN pairs = 0 THEN 'no cell of both' ELSE ties || ' of ' || pairs || ' tie' END AS found,
  'every class and format ties' AS expected,
  nullif(concat_ws('; ', 'not a tie: ' || differing, 'voided: ' || voided), '') AS detail
FROM counted
