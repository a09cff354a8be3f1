-- S1: DaCHS does not scale with the tier: every cell ties at every step.
WITH steps AS (
  SELECT * FROM tier_changes WHERE run = $run AND server = 'dachs'
),
counted AS (
  SELECT
    from_tier, to_tier,
    count(*) AS cells,
    count(CASE WHEN change = 'tie' THEN 1 END) AS ties,
    count(CASE WHEN change = 'higher' THEN 1 END) AS higher,
    count(CASE WHEN change = 'lower' THEN 1 END) AS lower,
    string_agg(
      CASE WHEN change = 'void' THEN query_class || ' ' || response_format || ' c=' || concurrency END,
      ', ' ORDER BY query_class, response_format, concurrency
    ) AS voided
  FROM steps
  GROUP BY from_tier, to_tier
)
SELECT
  'tier ' || t.tier || ' to ' || t.next_tier AS part,
  CASE WHEN c.higher + c.lower > 0 THEN false WHEN c.ties > 0 THEN true END AS holds,
  coalesce(
    c.ties || ' of ' || c.cells || ' tie, ' || c.higher || ' higher, ' || c.lower || ' lower',
    'no cell of dachs at both'
  ) AS found,
  'every cell ties' AS expected,
  'voided: ' || c.voided AS detail
-- A step without a cell is a part that nothing can be said of.
FROM tiers AS t
LEFT JOIN counted AS c ON c.from_tier = t.tier
WHERE t.run = $run AND t.next_tier IS NOT NULL
ORDER BY t.place
