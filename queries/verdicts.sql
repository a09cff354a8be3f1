-- One verdict per comparison: the cells of all targets that differ in nothing but the target.
--
-- The first that matches: a target of the run has no cell here -> incomplete;
-- a cell has a voided rung -> invalid; no target is clean -> invalid; one clean
-- target -> its name; the fastest clean target beats every other clean one ->
-- its name; else tie. A run of one target has nothing to compare: null.
--
-- reason is one of: one target, missing cell, voided rung, no clean target,
-- one clean target, beats every other, no interval, intervals touch, below tie
-- floor, guard unknown.
--| run | | run id
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
SELECT
  run, tier, response_format, query_class, concurrency, verdict, reason, targets, best, runner_up,
  ratio, mode, loop, offered_rps, instances, loops
FROM judge('judged_cells')
ORDER BY
  run, try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, mode, loop,
  offered_rps, instances, loops
