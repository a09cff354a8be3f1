-- N1: on two cores shared with the generator a second worker is not worth a second core:
-- the efficiency of two is below 0.9 for every page.
WITH scenarios AS (
  SELECT DISTINCT query_class, concurrency FROM instance_scaling WHERE run = $run
),
two AS (
  SELECT query_class, concurrency, efficiency
  FROM instance_scaling
  WHERE run = $run AND instances = 2 AND loops = 1
),
voided AS (
  SELECT query_class, concurrency, count(*) AS rungs
  FROM judged_rungs
  WHERE run = $run AND voided
  GROUP BY query_class, concurrency
)
SELECT
  s.query_class || ', c=' || s.concurrency AS part,
  CASE WHEN v.rungs IS NULL THEN t.efficiency < 0.9 END AS holds,
  coalesce(
    'efficiency ' || CAST(CAST(t.efficiency AS DECIMAL(12, 2)) AS VARCHAR), 'no figure of both'
  ) AS found,
  'below 0.9' AS expected,
  'voided rungs: ' || v.rungs AS detail
FROM scenarios AS s
LEFT JOIN two AS t ON t.query_class = s.query_class AND t.concurrency = s.concurrency
LEFT JOIN voided AS v ON v.query_class = s.query_class AND v.concurrency = s.concurrency
ORDER BY s.query_class, s.concurrency
