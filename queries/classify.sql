-- What bounds each scenario of a run of N instances, and the figures that say so.
--
-- bound is one of: scales, shared limit, another process, unsettled. reason is
-- one of those below, the first that matches; those that no CPU samples stand
-- behind begin with 'throughput only: '. Every limit is the tie floor: what
-- verdicts take for no difference, a classification does too.
--
-- unsettled: no single instance, one size only, voided rung, errors above the
-- ceiling, no throughput; then, unless it scales: generator near its limit,
-- offered rate reached, fewer connections than instances; from throughput
-- alone: one instance with N loops differs, rises and then stops, two sizes
-- cannot tell.
-- scales: each instance adds its share.
-- another process: it is at its CPU limit and the instances wait; from
-- throughput alone: flat from the first instance.
-- shared limit: instances as busy and less done; instances wait and no other
-- process is at its limit; from throughput alone: falls as instances are
-- added, each instance adds less.
--| run | | run id
--| query_class | | scenario
--| concurrency | 1 | connections held
--| target | | the deployed server
--| bound | | scales, shared limit, another process, or unsettled
--| reason | | why, from a closed set
--| instances | 1 | the largest number of instances, N
--| rps_one | 1/s | median throughput of one instance
--| rps | 1/s | median throughput of N
--| efficiency | ratio | rps / (N * rps_one)
--| added | ratio | what each of the last added instances brought, in throughputs of one
--| vs_loops | ratio | against one instance with N event loops
--| instance_cores_one | cores | CPU of the one instance
--| instance_cores | cores | CPU of each of the N
--| other | | the process beside them that is nearest its CPU limit
--| other_cores | cores | its CPU with N instances
--| other_limit | cores | what it is pinned to
--| tier | | resource budget
--| response_format | | csv, votable, or -
--| mode | | sync or async
--| loop | | closed or open
--| offered_rps | 1/s | offered rate of an open loop
WITH sizes AS (
  SELECT
    *,
    lag(instances) OVER scenario AS instances_before,
    lag(rps_median) OVER scenario AS rps_before,
    row_number() OVER (
      PARTITION BY run, tier, target, response_format, query_class, concurrency, mode, loop,
        offered_rps
      ORDER BY instances DESC
    ) AS place
  FROM instance_scaling
  -- A table may not print the loops of its instances: one each.
  WHERE coalesce(loops, 1) = 1
  WINDOW scenario AS (
    PARTITION BY run, tier, target, response_format, query_class, concurrency, mode, loop,
      offered_rps
    ORDER BY instances
  )
),
scenarios AS (
  SELECT
    run, tier, target, response_format, query_class, concurrency, mode, loop, offered_rps,
    count(*) AS sizes,
    max(instances) AS instances,
    max(CASE WHEN instances = 1 THEN rps_median END) AS rps_one,
    max(rps_median) AS rps_top,
    max(CASE WHEN place = 1 THEN rps_median END) AS rps,
    max(CASE WHEN place = 1 THEN instances_before END) AS instances_before,
    max(CASE WHEN place = 1 THEN rps_before END) AS rps_before,
    max(CASE WHEN place = 1 THEN vs_loops END) AS vs_loops
  FROM sizes
  GROUP BY
    run, tier, target, response_format, query_class, concurrency, mode, loop, offered_rps
),
-- Of the rungs that the figures are of: N instances, and one with N loops.
flaws AS (
  SELECT
    run, tier, target, response_format, query_class, concurrency, mode, loop, offered_rps,
    bool_or(voided) AS voided,
    bool_or(near_limit) AS near_limit,
    max(error_fraction) AS error_fraction
  FROM judged_rungs
  WHERE instances IS NOT NULL AND (loops = 1 OR instances = 1)
  GROUP BY
    run, tier, target, response_format, query_class, concurrency, mode, loop, offered_rps
),
rung_cores AS (
  SELECT
    run, rung,
    -- All of them have a figure, or nothing is known.
    CASE
      WHEN bool_and(NOT is_instance OR cpu_cores IS NOT NULL)
      THEN sum(CASE WHEN is_instance THEN cpu_cores END)
    END AS cpu_cores
  FROM instance_cpu
  GROUP BY run, rung
),
cores AS (
  SELECT
    r.run, r.tier, r.target, r.response_format, r.query_class, r.concurrency, r.mode, r.loop,
    r.offered_rps, r.instances,
    median(c.cpu_cores) / r.instances AS instance_cores
  FROM rungs AS r
  JOIN rung_cores AS c ON c.run = r.run AND c.rung = r.rung
  WHERE r.loops = 1
  GROUP BY
    r.run, r.tier, r.target, r.response_format, r.query_class, r.concurrency, r.mode, r.loop,
    r.offered_rps, r.instances
),
others AS (
  SELECT
    r.run, r.tier, r.target, r.response_format, r.query_class, r.concurrency, r.mode, r.loop,
    r.offered_rps, r.instances, c.container,
    median(c.cpu_cores) AS cpu_cores,
    min(c.cpu_limit) AS cpu_limit
  FROM rungs AS r
  JOIN instance_cpu AS c ON c.run = r.run AND c.rung = r.rung
  WHERE r.loops = 1 AND NOT c.is_instance
  GROUP BY
    r.run, r.tier, r.target, r.response_format, r.query_class, r.concurrency, r.mode, r.loop,
    r.offered_rps, r.instances, c.container
),
nearest AS (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY run, tier, target, response_format, query_class, concurrency, mode, loop,
        offered_rps, instances
      ORDER BY cpu_cores / nullif(cpu_limit, 0) DESC NULLS LAST, cpu_cores DESC NULLS LAST, container
    ) AS place,
    bool_and(cpu_cores IS NOT NULL AND cpu_limit IS NOT NULL) OVER (
      PARTITION BY run, tier, target, response_format, query_class, concurrency, mode, loop,
        offered_rps, instances
    ) AS all_known
  FROM others
),
figures AS (
  SELECT
    s.*,
    u.tie_floor, u.error_ceiling,
    CASE WHEN s.rps_one > 0 THEN s.rps / (s.instances * s.rps_one) END AS efficiency,
    CASE
      WHEN s.rps_one > 0
      THEN (s.rps - s.rps_before) / ((s.instances - s.instances_before) * s.rps_one)
    END AS added,
    coalesce(f.voided, false) AS voided,
    coalesce(f.near_limit, false) AS near_limit,
    coalesce(f.error_fraction > u.error_ceiling, false) AS errs,
    one.instance_cores AS instance_cores_one,
    most.instance_cores,
    o.container AS other, o.cpu_cores AS other_cores, o.cpu_limit AS other_limit,
    coalesce(o.all_known, false) AS others_known
  FROM scenarios AS s
  JOIN rule AS u ON u.run = s.run
  LEFT JOIN flaws AS f
    ON f.run = s.run AND (f.tier IS NOT DISTINCT FROM s.tier) AND f.target = s.target
    AND f.response_format = s.response_format AND f.query_class = s.query_class
    AND f.concurrency = s.concurrency AND (f.mode IS NOT DISTINCT FROM s.mode)
    AND (f.loop IS NOT DISTINCT FROM s.loop)
    AND (f.offered_rps IS NOT DISTINCT FROM s.offered_rps)
  LEFT JOIN cores AS one
    ON one.run = s.run AND (one.tier IS NOT DISTINCT FROM s.tier) AND one.target = s.target
    AND one.response_format = s.response_format AND one.query_class = s.query_class
    AND one.concurrency = s.concurrency AND (one.mode IS NOT DISTINCT FROM s.mode)
    AND (one.loop IS NOT DISTINCT FROM s.loop)
    AND (one.offered_rps IS NOT DISTINCT FROM s.offered_rps) AND one.instances = 1
  LEFT JOIN cores AS most
    ON most.run = s.run AND (most.tier IS NOT DISTINCT FROM s.tier) AND most.target = s.target
    AND most.response_format = s.response_format AND most.query_class = s.query_class
    AND most.concurrency = s.concurrency AND (most.mode IS NOT DISTINCT FROM s.mode)
    AND (most.loop IS NOT DISTINCT FROM s.loop)
    AND (most.offered_rps IS NOT DISTINCT FROM s.offered_rps) AND most.instances = s.instances
  LEFT JOIN nearest AS o
    ON o.run = s.run AND (o.tier IS NOT DISTINCT FROM s.tier) AND o.target = s.target
    AND o.response_format = s.response_format AND o.query_class = s.query_class
    AND o.concurrency = s.concurrency AND (o.mode IS NOT DISTINCT FROM s.mode)
    AND (o.loop IS NOT DISTINCT FROM s.loop)
    AND (o.offered_rps IS NOT DISTINCT FROM s.offered_rps) AND o.instances = s.instances
    AND o.place = 1
),
-- Each question once; what is not known is no.
asked AS (
  SELECT
    *,
    instance_cores_one > 0 AND instance_cores IS NOT NULL AS cpu_known,
    coalesce(instance_cores < (1 - tie_floor) * instance_cores_one, false) AS waits,
    coalesce(other_cores >= (1 - tie_floor) * other_limit, false) AS other_full,
    coalesce(abs(vs_loops - 1) >= tie_floor, false) AS loops_differ,
    rps_top < (1 + tie_floor) * rps_one AND rps > (1 - tie_floor) * rps_one AS flat,
    rps <= (1 - tie_floor) * rps_top AS falls,
    added < tie_floor AS stops
  FROM figures
),
reasoned AS (
  SELECT
    *,
    CASE
      WHEN rps_one IS NULL THEN 'no single instance'
      WHEN instances = 1 THEN 'one size only'
      WHEN voided THEN 'voided rung'
      WHEN errs THEN 'errors above the ceiling'
      WHEN rps_one = 0 OR isnan(efficiency) OR efficiency > 1e300 THEN 'no throughput'
      WHEN efficiency >= 1 - tie_floor THEN 'each instance adds its share'
      WHEN near_limit THEN 'generator near its limit'
      WHEN rps_top >= (1 - tie_floor) * offered_rps THEN 'offered rate reached'
      WHEN concurrency < instances THEN 'fewer connections than instances'
      WHEN coalesce(cpu_known, false) AND waits AND other_full
        THEN 'it is at its CPU limit and the instances wait'
      WHEN coalesce(cpu_known, false) AND NOT waits THEN 'instances as busy and less done'
      WHEN coalesce(cpu_known, false) AND others_known
        THEN 'instances wait and no other process is at its limit'
      WHEN loops_differ THEN 'one instance with N loops differs'
      WHEN flat THEN 'flat from the first instance'
      WHEN falls THEN 'falls as instances are added'
      WHEN stops THEN 'rises and then stops'
      WHEN sizes > 2 OR vs_loops IS NOT NULL THEN 'each instance adds less'
      ELSE 'two sizes cannot tell'
    END AS why
  FROM asked
)
SELECT
  run, query_class, concurrency, target,
  CASE
    WHEN why = 'each instance adds its share' THEN 'scales'
    WHEN why IN ('it is at its CPU limit and the instances wait', 'flat from the first instance')
      THEN 'another process'
    WHEN why IN (
      'instances as busy and less done', 'instances wait and no other process is at its limit',
      'falls as instances are added', 'each instance adds less'
    ) THEN 'shared limit'
    ELSE 'unsettled'
  END AS bound,
  CASE
    WHEN why IN (
      'one instance with N loops differs', 'flat from the first instance',
      'falls as instances are added', 'rises and then stops', 'each instance adds less',
      'two sizes cannot tell'
    ) OR (why = 'each instance adds its share' AND NOT coalesce(cpu_known, false))
      THEN 'throughput only: ' || why
    ELSE why
  END AS reason,
  instances, rps_one, rps, efficiency, added, vs_loops, instance_cores_one, instance_cores,
  other, other_cores, other_limit, tier, response_format, mode, loop, offered_rps
FROM reasoned
ORDER BY
  run, try_cast(tier AS DOUBLE), tier, target, response_format, query_class, concurrency, mode, loop,
  offered_rps
