-- The cells that the grid of a run's protocol promises and the run has no rung of.
--| run | | run id
--| tier | | resource budget
--| target | | the deployed server
--| response_format | | csv, votable, or -
--| query_class | | query class or scenario
--| concurrency | 1 | connections held
--| cell | | name of its rungs, without the repetition
SELECT
  p.run, p.tier, p.target, p.response_format, p.query_class, p.concurrency,
  coalesce('t' || p.tier || '-', '') || p.target || '-' || p.response_format || '-' || p.query_class
    || '-c' || CAST(p.concurrency AS VARCHAR) AS cell
FROM promised AS p
LEFT JOIN cells AS c
  ON c.run = p.run
  AND c.target = p.target
  AND c.response_format = p.response_format
  AND c.query_class = p.query_class
  AND c.concurrency = p.concurrency
  AND (c.tier IS NOT DISTINCT FROM p.tier)
WHERE c.run IS NULL
ORDER BY p.run, try_cast(p.tier AS DOUBLE), p.tier, p.response_format, p.query_class, p.concurrency,
  p.target
