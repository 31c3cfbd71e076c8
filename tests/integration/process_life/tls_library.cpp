// SPDX-License-Identifier: Apache-2.0
// Takes room in the block of static thread-local data, of which late libraries get little.
namespace {
__attribute__((tls_model("initial-exec"))) thread_local volatile char t_data[16] = {1};
}

extern "C" __attribute__((visibility("default"))) char tlsLibraryRead() { return t_data[0]; }
