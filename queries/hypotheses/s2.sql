-- S2: egernia scales with the tier: the mix at 32 connections is higher at each step.
WITH steps AS (
  SELECT *, query_class = 'mix' AND concurrency = 32 AS decides
  FROM tier_changes
  WHERE run = $run AND server = 'egernia'
),
counted AS (
  SELECT
    from_tier, to_tier,
    count(*) AS cells,
    count(CASE WHEN change = 'higher' THEN 1 END) AS higher,
    count(CASE WHEN change = 'tie' THEN 1 END) AS ties,
    count(CASE WHEN change = 'lower' THEN 1 END) AS lower,
    count(CASE WHEN decides AND change = 'higher' THEN 1 END) AS mix_higher,
    count(CASE WHEN decides AND change IN ('tie', 'lower') THEN 1 END) AS mix_not_higher,
    count(CASE WHEN decides AND change = 'void' THEN 1 END) AS mix_void,
    string_agg(
      CASE WHEN decides AND change <> 'void'
        THEN response_format || ' ×' || CAST(CAST(ratio AS DECIMAL(12, 2)) AS VARCHAR) END,
      ', ' ORDER BY query_class, response_format, concurrency
    ) AS mix_ratios,
    string_agg(
      CASE WHEN change = 'void' THEN query_class || ' ' || response_format || ' c=' || concurrency END,
      ', ' ORDER BY query_class, response_format, concurrency
    ) AS voided
  FROM steps
  GROUP BY from_tier, to_tier
)
SELECT
  'tier ' || t.tier || ' to ' || t.next_tier AS part,
  CASE WHEN c.mix_not_higher > 0 THEN false WHEN c.mix_higher > 0 THEN true END AS holds,
  coalesce(
    'mix at c=32: '
      || coalesce(c.mix_ratios, CASE WHEN c.mix_void > 0 THEN 'voided' ELSE 'missing' END)
      || '; all classes: ' || c.higher || ' of ' || c.cells || ' higher, ' || c.ties || ' tie, '
      || c.lower || ' lower',
    'no cell of egernia at both'
  ) AS found,
  'mix at c=32 higher, intervals apart' AS expected,
  'voided: ' || c.voided AS detail
-- A step without a cell is a part that nothing can be said of.
FROM tiers AS t
LEFT JOIN counted AS c ON c.from_tier = t.tier
WHERE t.run = $run AND t.next_tier IS NOT NULL
ORDER BY t.place
