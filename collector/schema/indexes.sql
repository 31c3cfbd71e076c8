-- SPDX-License-Identifier: Apache-2.0
-- Built by the recorder when a run ends (and by `plumb index` on a file whose recorder was killed). Every index is
-- optional: all views and reports work without, only slower.
CREATE INDEX IF NOT EXISTS kernel_correlation ON kernel(process_id, correlation);
CREATE INDEX IF NOT EXISTS kernel_start ON kernel(process_id, start_ns);
CREATE INDEX IF NOT EXISTS memory_copy_correlation ON memory_copy(process_id, correlation);
CREATE INDEX IF NOT EXISTS memory_set_correlation ON memory_set(process_id, correlation);
CREATE INDEX IF NOT EXISTS api_call_correlation ON api_call(process_id, correlation);
CREATE INDEX IF NOT EXISTS range_name ON range(name_id, process_id, start_ns);
CREATE INDEX IF NOT EXISTS range_payload_range ON range_payload(range_id);
CREATE INDEX IF NOT EXISTS correlation_link_external ON correlation_link(process_id, external_id);
CREATE INDEX IF NOT EXISTS correlation_link_correlation ON correlation_link(process_id, correlation);
CREATE INDEX IF NOT EXISTS memory_region_address ON memory_region(process_id, address, start_ns);
CREATE INDEX IF NOT EXISTS library_call_external ON library_call(process_id, external_id);
