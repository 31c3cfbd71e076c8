-- SPDX-License-Identifier: Apache-2.0
-- Communication that nothing covers
-- Transfers during which a device does not compute, more than 0.5 % of its span; waits for late or missing ranks, where they can be told, are not counted: see Kernels that wait for a late rank, One rank makes the others wait, A rank never came to a collective. The gain is that of transfers that held up queued work or a waiting host
-- needs: device work
-- remedy: Put communication on a stream of its own and start it as soon as its data is ready, use larger buckets, or give each rank more work.
WITH part AS (
  SELECT *, CASE WHEN operation = 'AllReduce' THEN 'reduce' WHEN operation IN ('AllGather', 'ReduceScatter') THEN 'shard'
                 WHEN operation IN ('AllToAll', 'AlltoAll', 'SendRecv', 'Send', 'Recv') THEN 'exchange' ELSE 'other' END AS family
  FROM analysis_exposed_communication(:rank, :step, :range, :from_ns, :to_ns)),
family AS (
  SELECT rank, pid, device, family, group_concat(DISTINCT operation) AS operations, sum(kernels) AS kernels, sum(exposed_ns) AS exposed_ns,
         sum(transfer_ns) AS transfer_ns, sum(waiting_ns - recording_later_ns) AS waiting_ns, sum(recording_later_ns) AS recording_later_ns, sum(missing_ns) AS missing_ns, sum(unknown_ns) AS unknown_ns,
         sum(transfer_ns + unknown_ns) AS hidden_ns, sum(held_up_ns) AS held_up_ns, sum(launch_unknown_ns) AS launch_unknown_ns, max(basis = 'names') AS by_names
  FROM part GROUP BY rank, pid, device, family),
-- A transfer costs what it held up: where the next work was not launched yet, the device would have been idle without it.
cost AS (
  SELECT f.*, f.held_up_ns + f.launch_unknown_ns AS cost_ns, f.hidden_ns - f.held_up_ns - f.launch_unknown_ns AS host_late_ns, min(f.held_up_ns + f.launch_unknown_ns, b.span_ns - b.exposed_communication_ns) AS gain_ns,
         b.span_ns AS span_ns, b.span_ns - b.exposed_communication_ns AS rest_ns
  FROM family f JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = f.pid AND b.rank IS f.rank AND b.device = f.device),
ddp AS (
  SELECT EXISTS (SELECT 1 FROM main.string WHERE text GLOB '*DistributedDataParallel*') AS is_used),
longest AS (
  SELECT rank, pid, device, family, longest_kernel_id, start_ns, end_ns, row_number() OVER (PARTITION BY rank, pid, device, family ORDER BY exposed_ns DESC) AS place FROM part),
whole AS (
  SELECT rank, pid, device, sum(missing_ns) AS missing_ns FROM family GROUP BY rank, pid, device)
SELECT f.rank AS rank, f.pid AS pid,
       printf('device %d ran %d kernel%s of %s for %.6f ms (%.1f %% of its span of %.6f ms) while nothing computed%s%s%s%s%s%s', f.device, f.kernels, iif(f.kernels = 1, '', 's'), replace(f.operations, ',', ', '),
              f.exposed_ns / 1e6, 100.0 * f.exposed_ns / f.span_ns, f.span_ns / 1e6,
              iif(f.transfer_ns > 0, printf('; transfer: %.6f ms', f.transfer_ns / 1e6), ''),
              iif(f.waiting_ns > 0, printf('; waiting for late ranks: %s%.6f ms', iif(f.by_names, 'probably ', iif(f.unknown_ns > 0, 'at least ', '')), f.waiting_ns / 1e6), ''),
              iif(f.recording_later_ns > 0, printf('; waiting for a rank whose recording began later: %.6f ms', f.recording_later_ns / 1e6), ''),
              iif(f.missing_ns > 0, printf('; waiting for a rank that never came: %.6f ms', f.missing_ns / 1e6), ''),
              iif(f.unknown_ns > 0, printf('; transfer or waiting, which cannot be told without the kernels of all ranks and clocks that can be compared: %.6f ms', f.unknown_ns / 1e6), ''),
              iif(f.host_late_ns > 0, printf('; in %.6f ms of it the next work had not been launched yet, so that the device would have been idle without it, too', f.host_late_ns / 1e6), '')) AS finding,
       f.gain_ns AS gain_ns,
       printf('%s: %.6f ms%s%s%s%s', iif(f.unknown_ns = 0, 'the exposed transfers', iif(f.transfer_ns = 0, 'the exposed time that is not known to be waiting', 'the exposed transfers and what is not known to be waiting')), f.hidden_ns / 1e6,
              iif(f.host_late_ns > 0, printf(' - %.6f ms in which the host had not launched the next work yet = %.6f ms that held up work that was queued, or a host that waited', f.host_late_ns / 1e6, f.cost_ns / 1e6), ''),
              iif(f.launch_unknown_ns > 0, printf('; of %.6f ms it cannot be said whether that held up anything, because the launches of the next work were not recorded', f.launch_unknown_ns / 1e6), ''),
              iif(f.cost_ns > f.rest_ns, printf('; it cannot be hidden behind more than the rest of the span: %.6f ms', f.rest_ns / 1e6), ''),
              iif(f.by_names AND f.waiting_ns > 0, '; waits are told by kernels'' names and times', '')) AS arithmetic,
       l.start_ns AS start_ns, l.end_ns AS end_ns, 'kernel ' || l.longest_kernel_id AS evidence, NULL AS range,
       CASE iif(2 * f.host_late_ns > f.hidden_ns, 'host', iif(f.family = 'reduce' AND (SELECT is_used FROM ddp), 'ddp', f.family))
         WHEN 'host' THEN 'Let the host launch further ahead first (see The device waits for launches, Hidden synchronization): mostly it is the host that the device waits for here, and the transfers only fill that time. Hiding them pays once the next work is queued before they end.'
         WHEN 'ddp' THEN 'DistributedDataParallel reduces gradients per bucket while the backward pass goes on: what is left is mostly the last buckets, or too little backward work to cover them. Try smaller buckets, which start earlier, or larger ones, which cost less latency (bucket_cap_mb); gradient_as_bucket_view=True, static_graph=True, a hook that compresses to 16 bits (fp16_compress_hook), several batches per reduction (no_sync), or more work per rank.'
         WHEN 'reduce' THEN 'Let gradients be reduced while the backward pass goes on: DistributedDataParallel does that per bucket (bucket_cap_mb; smaller buckets start earlier, larger ones cost less latency; gradient_as_bucket_view=True, static_graph=True); accumulate gradients over several batches (no_sync), or give each rank more work.'
         WHEN 'shard' THEN 'Prefetch the next layer''s all-gather one or two layers ahead and let reduce-scatter run beside the backward pass (FSDP2: set_modules_to_forward_prefetch, set_modules_to_backward_prefetch; FSDP1: forward_prefetch, backward_prefetch=BACKWARD_PRE), or shard within a node only (HSDP).'
         WHEN 'exchange' THEN 'Do other work while the exchange runs (async_op=True, wait() where the result is needed): split the batch into micro-batches and pipeline them, compute what does not depend on it (in DLRM the dense part) meanwhile, exchange in 16 bits.'
       END AS remedy, NULL AS cannot_say
FROM cost f JOIN whole w ON w.pid = f.pid AND w.rank IS f.rank AND w.device = f.device
     JOIN longest l ON l.pid = f.pid AND l.rank IS f.rank AND l.device = f.device AND l.family = f.family AND l.place = 1
WHERE f.hidden_ns > 0.005 * (f.span_ns - w.missing_ns)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
