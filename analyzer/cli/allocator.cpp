// SPDX-License-Identifier: Apache-2.0
// jemalloc's settings for plumb, which it looks up under this name. Analyses fill large arrays once: on huge pages that
// takes a quarter less time, most of it the system's, and a short program has no use for giving memory back in between.
extern "C" {
extern const char* malloc_conf;  // NOLINT(readability-identifier-naming): jemalloc's name
const char* malloc_conf = "thp:always,metadata_thp:disabled,lg_extent_max_active_fit:20,dirty_decay_ms:-1,muzzy_decay_ms:-1";
}
