-- S3: argus gains from tier 8 to 16 and then stops, while Q01 keeps climbing.
WITH steps AS (
  SELECT *, query_class IN ('Q05', 'Q11', 'Q13') AS is_database_bound
  FROM tier_changes
  WHERE run = $run AND server = 'argus'
),
counted AS (
  SELECT
    count(CASE WHEN from_tier = '8' AND change = 'higher' THEN 1 END) AS gained,
    count(CASE WHEN from_tier = '8' AND change IN ('tie', 'lower') THEN 1 END) AS not_gained,
    count(CASE WHEN from_tier = '8' AND change = 'void' THEN 1 END) AS gain_void,
    count(CASE WHEN from_tier = '16' AND change = 'tie' THEN 1 END) AS all_tie,
    count(CASE WHEN from_tier = '16' AND change = 'void' THEN 1 END) AS all_void,
    count(CASE WHEN from_tier = '16' AND change = 'higher' THEN 1 END) AS all_higher,
    count(CASE WHEN from_tier = '16' AND is_database_bound AND change = 'tie' THEN 1 END) AS stopped,
    count(CASE WHEN from_tier = '16' AND is_database_bound AND change IN ('higher', 'lower') THEN 1 END)
      AS not_stopped,
    string_agg(
      CASE WHEN change = 'void' THEN
        from_tier || ' to ' || to_tier || ' ' || query_class || ' ' || response_format || ' c='
        || concurrency END,
      ', ' ORDER BY from_tier DESC, query_class, response_format, concurrency
    ) AS voided
  FROM steps
),
metadata AS (
  SELECT
    count(CASE WHEN change = 'higher' THEN 1 END) AS climbed,
    count(CASE WHEN change IN ('tie', 'lower') THEN 1 END) AS not_climbed,
    count(CASE WHEN change = 'void' THEN 1 END) AS void,
    max(CASE WHEN change <> 'void' THEN ratio END) AS ratio,
    string_agg(
      CASE WHEN change = 'void' THEN from_tier || ' to ' || to_tier || ' Q01 csv c=32' END, ', '
    ) AS voided
  FROM steps
  WHERE from_tier = '16' AND query_class = 'Q01' AND response_format = 'csv' AND concurrency = 32
)
SELECT
  'first half: gains to tier 16, then stops' AS part,
  CASE
    WHEN not_gained + not_stopped > 0 THEN false
    WHEN gained > 0 AND stopped > 0 THEN true
  END AS holds,
  '8 to 16: ' || gained || ' higher, ' || not_gained || ' not, ' || gain_void
    || ' void; 16 to 24: ' || all_tie || ' tie, ' || all_void || ' void, ' || all_higher
    || ' higher' AS found,
  '8 to 16 higher; 16 to 24 ties on Q05, Q11, Q13' AS expected,
  'voided: ' || voided AS detail
FROM counted
UNION ALL
SELECT
  'second half: Q01 keeps climbing to tier 24',
  CASE WHEN not_climbed > 0 THEN false WHEN climbed > 0 THEN true END,
  'csv, c=32: ' || coalesce(
    '×' || CAST(CAST(ratio AS DECIMAL(12, 2)) AS VARCHAR),
    CASE WHEN void > 0 THEN 'void' ELSE 'missing' END
  ),
  'csv, c=32 higher from 16 to 24',
  'voided: ' || voided
FROM metadata
ORDER BY part
