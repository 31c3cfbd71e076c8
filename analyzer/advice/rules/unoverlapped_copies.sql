-- SPDX-License-Identifier: Apache-2.0
-- Copies that nothing covers
-- Time in which a device only copies, more than 3 % of its span
-- remedy: Copy on a second stream from pinned memory while the step before computes (prefetch the next batch); keep data that
--   is used every step on the device.
SELECT rank,
       printf('device %d only copied or set memory for %.2f ms (%.1f %% of its span)', device, exposed_memory_ns / 1e6, 100.0 * exposed_memory_ns / span_ns) AS finding,
       exposed_memory_ns AS gain_ns, printf('all of the exposed copies hidden behind compute: %.2f ms', exposed_memory_ns / 1e6) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) WHERE span_ns > 0 AND exposed_memory_ns > 0.03 * span_ns;
