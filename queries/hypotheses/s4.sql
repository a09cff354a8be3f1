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
),
-- A server of the run that the earlier one has no like of is a part too.
servers AS (
  SELECT DISTINCT server FROM cells WHERE run = $run
)
SELECT
  s.server AS part,
  CASE WHEN c.moved > 0 THEN false WHEN c.ties > 0 THEN true END AS holds,
  coalesce(
    c.ties || ' of ' || c.cells || ' tie, largest gap '
      || CAST(CAST(100 * c.gap AS DECIMAL(12, 1)) AS VARCHAR) || '%',
    'no cell in common'
  ) AS found,
  'every cell ties' AS expected,
  'voided: ' || c.voided AS detail
FROM servers AS s
LEFT JOIN counted AS c ON c.server = s.server
ORDER BY s.server
