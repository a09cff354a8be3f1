-- S5: egernia's CPU per request on the mix is flat: each tier within 10% of the smallest tier's.
WITH costs AS (
  SELECT
    t.place, t.tier, r.cpu_s_per_request, coalesce(c.voided_rungs, 0) > 0 AS is_void
  FROM resource_cells AS r
  JOIN tiers AS t ON t.run = r.run AND t.tier = r.tier
  JOIN cells AS c
    ON c.run = r.run AND c.tier = r.tier AND c.target = r.target
    AND c.response_format = r.response_format AND c.query_class = r.query_class
    AND c.concurrency = r.concurrency
    AND (c.mode IS NOT DISTINCT FROM r.mode) AND (c.loop IS NOT DISTINCT FROM r.loop)
    AND (c.offered_rps IS NOT DISTINCT FROM r.offered_rps)
    AND (c.instances IS NOT DISTINCT FROM r.instances) AND (c.loops IS NOT DISTINCT FROM r.loops)
  WHERE r.run = $run AND c.server = 'egernia' AND r.query_class = 'mix' AND r.concurrency = 32
    AND r.response_format = 'csv' AND r.cpu_s_per_request IS NOT NULL
),
-- Without the smallest tier's figure there is nothing to hold the others against.
smallest AS (
  SELECT max(CASE WHEN place = 1 AND NOT is_void THEN cpu_s_per_request END) AS cpu_s_per_request
  FROM costs
),
missing AS (
  SELECT string_agg('tier ' || t.tier, ', ' ORDER BY t.place) AS tiers
  FROM tiers AS t
  LEFT JOIN costs AS c ON c.tier = t.tier
  WHERE t.run = $run AND c.tier IS NULL
),
counted AS (
  SELECT
    count(CASE WHEN NOT c.is_void AND s.cpu_s_per_request IS NOT NULL THEN 1 END) AS tiers,
    count(
      CASE WHEN NOT c.is_void
        AND abs(c.cpu_s_per_request - s.cpu_s_per_request) > 0.1 * s.cpu_s_per_request THEN 1 END
    ) AS away,
    string_agg(
      CAST(CAST(1000 * c.cpu_s_per_request AS DECIMAL(12, 1)) AS VARCHAR), ', ' ORDER BY c.place
    ) AS costs,
    string_agg(CASE WHEN c.is_void THEN 'tier ' || c.tier END, ', ' ORDER BY c.place) AS voided
  FROM costs AS c
  CROSS JOIN smallest AS s
)
SELECT
  'mix, csv, c=32' AS part,
  CASE WHEN c.away > 0 THEN false WHEN c.tiers > 1 THEN true END AS holds,
  coalesce(c.costs || ' ms per request', 'no figure') AS found,
  'each tier within 10% of the smallest' AS expected,
  nullif(
    concat_ws('; ', 'voided: ' || c.voided, 'without a figure: ' || m.tiers), ''
  ) AS detail
FROM counted AS c
CROSS JOIN missing AS m
