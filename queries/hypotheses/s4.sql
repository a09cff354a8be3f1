-- S4: tier 8 reproduces the earlier run: every cell ties.
WITH judged AS (
  SELECT * FROM reproduce('20260911T065452Z-41bfc513-tap-compare', $run, '8')
),
counted AS (
  SELECT
    server,
    count(*) AS cells,
    count(CASE WHEN outcome = 'tie' THEN 1 END) AS ties,
    count(CASE WHEN outcome IN ('higher', 'lower') THEN 1 END) AS moved,
    max(abs(gap)) AS gap,
    string_agg(
      CASE WHEN outcome = 'void' THEN query_class || ' ' || response_format || ' c=' || concurrency END,
      ', ' ORDER BY query_class, response_format, concurrency
    ) AS voided
  FROM judged
  GROUP BY server
)
SELECT
  server AS part,
  CASE WHEN moved > 0 THEN false WHEN ties > 0 THEN true END AS holds,
  ties || ' of ' || cells || ' tie, largest gap ' || CAST(CAST(100 * gap AS DECIMAL(12, 1)) AS VARCHAR)
    || '%' AS found,
  'every cell ties' AS expected,
  'voided: ' || voided AS detail
FROM counted
ORDER BY server
