-- E2: a pool of one costs nothing with Q01, and halves the throughput of Q13 at 4 connections.
WITH pairs AS (
  SELECT
    e.response_format, e.query_class, e.concurrency, n.rps_mean / nullif(e.rps_mean, 0) AS ratio,
    coalesce(e.voided_rungs, 0) + coalesce(n.voided_rungs, 0) > 0 AS is_void,
    e.rps_low > n.rps_high AND e.rps_mean >= (1 + r.tie_floor) * n.rps_mean AS is_slower
  FROM cells AS e
  JOIN cells AS n
    ON n.run = e.run AND n.response_format = e.response_format AND n.query_class = e.query_class
    AND n.concurrency = e.concurrency AND n.tier IS NOT DISTINCT FROM e.tier
  JOIN rule AS r ON r.run = e.run
  WHERE e.run = $run AND e.target = 'embedded' AND n.target = 'embedded-narrow'
),
parts (place, part, query_class, expected) AS (
  VALUES
    (1, 'Q01, 1 and 4 connections', 'Q01', 'the narrow pool is not beaten'),
    (2, 'Q13, 4 connections', 'Q13', 'the narrow pool reaches 0.4 to 0.6 of the other')
),
counted AS (
  SELECT
    a.place, a.part, a.expected,
    count(p.ratio) AS pairs,
    count(CASE WHEN NOT p.is_void THEN 1 END) AS decided,
    count(
      CASE
        WHEN p.is_void THEN NULL
        WHEN a.query_class = 'Q01' AND p.is_slower THEN 1
        WHEN a.query_class = 'Q13' AND NOT p.ratio BETWEEN 0.4 AND 0.6 THEN 1
      END
    ) AS others,
    string_agg(
      p.response_format || ' c=' || p.concurrency || ' ×'
      || CAST(CAST(p.ratio AS DECIMAL(12, 2)) AS VARCHAR),
      ', ' ORDER BY p.response_format, p.concurrency
    ) AS ratios,
    string_agg(
      CASE WHEN p.is_void THEN p.response_format || ' c=' || p.concurrency END,
      ', ' ORDER BY p.response_format, p.concurrency
    ) AS voided
  FROM parts AS a
  LEFT JOIN pairs AS p
    ON p.query_class = a.query_class AND (a.query_class = 'Q01' OR p.concurrency = 4)
  GROUP BY a.place, a.part, a.expected
)
SELECT
  part,
  CASE WHEN others > 0 THEN false WHEN decided > 0 THEN true END AS holds,
  coalesce(ratios, 'no cell of both') AS found,
  expected,
  'voided: ' || voided AS detail
FROM counted
ORDER BY place
