-- S5: egernia's CPU per request on the mix is flat: each tier within 10% of the smallest tier's.
WITH costs AS (
  SELECT
    t.place, t.tier, r.cpu_s_per_request, c.voided_rungs,
    first_value(r.cpu_s_per_request) OVER (ORDER BY t.place) AS smallest_tier_s
  FROM resource_cells AS r
  JOIN tiers AS t ON t.run = r.run AND t.tier = r.tier
  JOIN cells AS c
    ON c.run = r.run AND c.tier = r.tier AND c.target = r.target
    AND c.response_format = r.response_format AND c.query_class = r.query_class
    AND c.concurrency = r.concurrency
  WHERE r.run = $run AND c.server = 'egernia' AND r.query_class = 'mix' AND r.concurrency = 32
    AND r.response_format = 'csv'
),
counted AS (
  SELECT
    count(CASE WHEN coalesce(voided_rungs, 0) = 0 THEN 1 END) AS tiers,
    count(
      CASE WHEN coalesce(voided_rungs, 0) = 0
        AND abs(cpu_s_per_request - smallest_tier_s) > 0.1 * smallest_tier_s THEN 1 END
    ) AS away,
    string_agg(
      CAST(CAST(1000 * cpu_s_per_request AS DECIMAL(12, 1)) AS VARCHAR), ', ' ORDER BY place
    ) AS costs,
    string_agg(CASE WHEN voided_rungs > 0 THEN 'tier ' || tier END, ', ' ORDER BY place) AS voided
  FROM costs
)
SELECT
  'mix, csv, c=32' AS part,
  CASE WHEN away > 0 THEN false WHEN tiers > 1 THEN true END AS holds,
  costs || ' ms per request' AS found,
  'each tier within 10% of the smallest' AS expected,
  'voided: ' || voided AS detail
FROM counted
