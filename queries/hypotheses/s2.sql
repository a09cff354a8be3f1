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
  'tier ' || c.from_tier || ' to ' || c.to_tier AS part,
  CASE WHEN c.mix_not_higher > 0 THEN false WHEN c.mix_higher > 0 THEN true END AS holds,
  'mix at c=32: ' || coalesce(c.mix_ratios, 'voided') || '; all classes: ' || c.higher || ' of '
    || c.cells || ' higher, ' || c.ties || ' tie, ' || c.lower || ' lower' AS found,
  'mix at c=32 higher, intervals apart' AS expected,
  'voided: ' || c.voided AS detail
FROM counted AS c
JOIN tiers AS t ON t.run = $run AND t.tier = c.from_tier
ORDER BY t.place
