-- The tiers of each run in their order: as numbers where all of them are, else as text.
--| run | | run id
--| tier | | resource budget
--| place | 1 | its place among the run's tiers, from 1
--| next_tier | | the tier after it, null for the last
WITH distinct_tiers AS (
  SELECT DISTINCT run, tier FROM cells WHERE tier IS NOT NULL
),
numbered AS (
  SELECT
    run,
    tier,
    CASE
      WHEN bool_and(try_cast(tier AS DOUBLE) IS NOT NULL) OVER (PARTITION BY run)
      THEN try_cast(tier AS DOUBLE)
    END AS number
  FROM distinct_tiers
)
SELECT
  run,
  tier,
  CAST(row_number() OVER (PARTITION BY run ORDER BY number, tier) AS BIGINT) AS place,
  lead(tier) OVER (PARTITION BY run ORDER BY number, tier) AS next_tier
FROM numbered
ORDER BY run, place
