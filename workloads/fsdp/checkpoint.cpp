// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/checkpoint.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "workloads/nn/error.h"
#include "workloads/nn/nvtx.h"

namespace plumb::fsdp {
namespace {

using nn::Buffer;
using nn::Range;
using nn::Tensor;

constexpr std::array<char, 8> kMagic = {'f', 's', 'd', 'p', 'c', 'k', 'p', '1'};

// Begins the file; elements follow, three arrays of fp32 per group.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint64_t elements = 0;
};

uint64_t elementsOf(Trainer& trainer) {
  uint64_t elements = 0;
  for (const ParameterGroup* group : trainer.groups()) elements += 3 * group->layout().count();
  return elements;
}

// Where rank 0 puts a group's parts together; nothing on the other ranks.
Buffer wholeOnRankZero(Trainer& trainer, nn::MemoryLedger& ledger, const GroupLayout& layout) {
  if (trainer.mesh().world().rank() != 0) return {};
  return {ledger,
          trainer.mesh().stream(),
          nn::Category::kCommunicationBuffer,
          layout.name + "/checkpoint",
          nn::Dtype::kFloat32,
          layout.padded(trainer.mesh().shards())};
}

// Calls body(state array of the group, whole array on rank 0, the group) for every array of the checkpoint.
template <class Body>
void forEachArray(Trainer& trainer, Body body) {
  nn::MemoryLedger ledger;  // what a checkpoint needs is no part of the training's peak
  for (ParameterGroup* group : trainer.groups()) {
    const Range range(group->layout().name);
    const Buffer whole = wholeOnRankZero(trainer, ledger, group->layout());
    for (const Tensor& part : group->state()) body(part, whole.tensor(), *group);
  }
}

void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  nn::check(cudaMemcpyAsync(to, from, bytes, kind, stream), "copying a checkpoint");
}

}  // namespace

size_t saveCheckpoint(Trainer& trainer, const std::string& path) {
  const Range range("save checkpoint");
  trainer.synchronize();
  const Mesh& mesh = trainer.mesh();
  const bool writes = mesh.world().rank() == 0;
  const Header header{kMagic, elementsOf(trainer)};
  std::ofstream out;
  if (writes) {
    out.open(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
  }
  std::vector<float> host;
  forEachArray(trainer, [&](const Tensor& part, const Tensor& whole, const ParameterGroup& group) {
    mesh.world().gatherToZero(part, whole, mesh.shards());
    if (!writes) return;
    host.resize(group.layout().count());
    copy(host.data(), whole.data, host.size() * sizeof(float), cudaMemcpyDeviceToHost, mesh.stream());
    trainer.synchronize();
    out.write(reinterpret_cast<const char*>(host.data()), static_cast<std::streamsize>(host.size() * sizeof(float)));
  });
  trainer.synchronize();
  if (!writes) return 0;
  out.close();
  if (!out) throw std::runtime_error("the checkpoint " + path + " cannot be written: " + std::strerror(errno));
  return sizeof header + header.elements * sizeof(float);
}

void loadCheckpoint(Trainer& trainer, const std::string& path) {
  const Range range("load checkpoint");
  trainer.synchronize();
  const Mesh& mesh = trainer.mesh();
  const bool reads = mesh.world().rank() == 0;
  std::ifstream in;
  if (reads) {
    Header header{};
    in.open(path, std::ios::binary);
    in.read(reinterpret_cast<char*>(&header), sizeof header);
    if (!in || header.magic != kMagic || header.elements != elementsOf(trainer))
      throw std::runtime_error("the checkpoint " + path + " cannot be read, or is not one of this model");
  }
  std::vector<float> host;
  forEachArray(trainer, [&](const Tensor& part, const Tensor& whole, ParameterGroup& group) {
    if (reads) {
      host.assign(whole.count, 0.0f);  // the padding is 0
      in.read(reinterpret_cast<char*>(host.data()),
              static_cast<std::streamsize>(group.layout().count() * sizeof(float)));
      if (!in) throw std::runtime_error("the checkpoint " + path + " ends too early");
      copy(whole.data, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, mesh.stream());
    }
    mesh.world().scatterFromZero(whole, part, mesh.shards());
    group.stateChanged(mesh.stream());
    trainer.synchronize();
  });
}

void eraseState(Trainer& trainer) {
  trainer.synchronize();
  for (ParameterGroup* group : trainer.groups()) {
    for (const Tensor& part : group->state())
      nn::check(cudaMemsetAsync(part.data, 0xff, part.bytes(), trainer.mesh().stream()), "erasing the state");
    group->stateChanged(trainer.mesh().stream());
  }
  trainer.synchronize();
}

}  // namespace plumb::fsdp
