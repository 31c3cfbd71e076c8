-- SPDX-License-Identifier: Apache-2.0
-- Communication that nothing covers
-- Time in which a device only communicates, more than 5 % of its span
-- remedy: Prefetch the next layer's all-gather one or two layers ahead (FSDP2: set_modules_to_forward_prefetch,
--   set_modules_to_backward_prefetch), put communication on its own stream, use larger buckets, or give each rank more work.
SELECT rank,
       printf('rank %s communicates %.1f %% of its span (%.2f ms of %.2f ms) while nothing computes', coalesce(rank, '-'),
              100.0 * exposed_communication_ns / span_ns, exposed_communication_ns / 1e6, span_ns / 1e6) AS finding,
       exposed_communication_ns AS gain_ns,
       printf('all of the exposed communication hidden behind compute: %.2f ms', exposed_communication_ns / 1e6) AS arithmetic
FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns)
WHERE span_ns > 0 AND exposed_communication_ns > 0.05 * span_ns;
