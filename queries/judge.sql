-- The verdicts over any relation with the columns of judged_cells, variant by variant.
--
-- judge('judged_cells') is what the view verdicts shows; judge('cell_variants')
-- judges the same comparisons as other rules would.
--| run | | run id
--| variant | | the rule, as the relation calls it
--| tier | | resource budget
--| response_format | | csv, votable, or -
--| query_class | | query class or scenario
--| concurrency | 1 | connections held
--| verdict | | a target, tie, invalid, incomplete; null with one target in the run
--| reason | | why, from a closed set
--| targets | 1 | targets with a cell here
--| best | | the fastest clean target
--| runner_up | | the next fastest clean target
--| ratio | ratio | throughput of the best over that of the runner-up
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
--| instances | 1 | instances of the server
--| loops | 1 | event loops of each instance
WITH placed AS (
  SELECT
    *,
    row_number() OVER comparison AS place,
    first_value(point) OVER comparison AS best_point,
    first_value(low) OVER comparison AS best_low
  FROM $cells
  WINDOW comparison AS (
    PARTITION BY run, variant, tier, response_format, query_class, concurrency, mode, loop, offered_rps,
      instances, loops
    ORDER BY clean DESC, point DESC, target
  )
),
rivals AS (
  SELECT
    *,
    place > 1 AND clean AS is_rival,
    beats(best_point, best_low, point, high, tie_floor) AS beaten,
    best_low IS NULL OR high IS NULL AS no_interval,
    best_low <= high AS touching
  FROM placed
),
compared AS (
  SELECT
    run, variant, tier, response_format, query_class, concurrency, mode, loop, offered_rps,
    instances, loops,
    count(*) AS targets,
    sum(CASE WHEN clean THEN 1 ELSE 0 END) AS clean_targets,
    bool_or(NOT guard_ok) AS voided,
    bool_or(guard_ok IS NULL) AS guard_unknown,
    max(CASE WHEN place = 1 AND clean THEN target END) AS best,
    max(CASE WHEN place = 1 AND clean THEN point END) AS best_point,
    max(CASE WHEN place = 2 AND clean THEN target END) AS runner_up,
    max(CASE WHEN place = 2 AND clean THEN point END) AS runner_up_point,
    bool_or(is_rival AND NOT beaten) AS undecided,
    bool_or(is_rival AND NOT beaten AND no_interval) AS lacks_interval,
    bool_or(is_rival AND NOT beaten AND coalesce(touching, false)) AS touches
  FROM rivals
  GROUP BY
    run, variant, tier, response_format, query_class, concurrency, mode, loop, offered_rps,
    instances, loops
),
run_targets AS (
  SELECT run, count(DISTINCT target) AS run_targets FROM $cells GROUP BY run
),
decided AS (
  SELECT
    c.*,
    CASE
      WHEN t.run_targets = 1 THEN NULL
      WHEN c.targets < t.run_targets THEN 'incomplete'
      WHEN c.voided THEN 'invalid'
      WHEN c.clean_targets = 0 THEN 'invalid'
      WHEN c.clean_targets = 1 OR NOT c.undecided THEN c.best
      ELSE 'tie'
    END AS verdict,
    CASE
      WHEN t.run_targets = 1 THEN 'one target'
      WHEN c.targets < t.run_targets THEN 'missing cell'
      WHEN c.voided THEN 'voided rung'
      WHEN c.guard_unknown THEN 'guard unknown'
      WHEN c.clean_targets = 0 THEN 'no clean target'
      WHEN c.clean_targets = 1 THEN 'one clean target'
      WHEN NOT c.undecided THEN 'beats every other'
      WHEN c.lacks_interval THEN 'no interval'
      WHEN c.touches THEN 'intervals touch'
      ELSE 'below tie floor'
    END AS reason
  FROM compared AS c
  JOIN run_targets AS t ON t.run = c.run
)
SELECT
  run, variant, tier, response_format, query_class, concurrency, verdict, reason, targets, best, runner_up,
  CASE WHEN runner_up_point > 0 THEN best_point / runner_up_point END AS ratio,
  mode, loop, offered_rps, instances, loops
FROM decided
