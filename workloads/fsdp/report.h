// SPDX-License-Identifier: Apache-2.0
// What rank 0 prints, and what every rank checks.
#pragma once
#include <string>
#include <vector>

#include "workloads/fsdp/options.h"
#include "workloads/fsdp/trainer.h"
#include "workloads/nn/checks.h"

namespace plumb::fsdp {

class Progress {
 public:
  void add(int step, float loss, double milliseconds) {
    m_step = step;
    m_losses.push_back(loss);
    m_milliseconds.push_back(milliseconds);
  }
  int step() const { return m_step; }
  const std::vector<float>& losses() const { return m_losses; }
  const std::vector<double>& milliseconds() const { return m_milliseconds; }
  // Of the steps after the first, which warms up; of the first if there is no other.
  double medianMilliseconds() const;

 private:
  int m_step = 0;
  std::vector<float> m_losses;
  std::vector<double> m_milliseconds;
};

void printHeader(const Options& options, int ranks);
void printStep(const Progress& progress, const nn::MemoryLedger& memory);
void printSummary(const Options& options, int ranks, const Trainer& trainer, const Progress& progress);

// What a run promises.
void check(const Options& options, int ranks, const Trainer& trainer, const Progress& progress, nn::Checks& checks);

}  // namespace plumb::fsdp
