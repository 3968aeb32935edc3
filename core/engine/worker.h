// The worker of an engine: one of the model runners.
#pragma once

#include <span>
#include <utility>
#include <variant>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/engine/worker_v1.h"
#include "core/engine/worker_v2.h"

namespace hybridscope {

class Worker {
 public:
  // The runner that `config` names; RunnerBase says what it does and which settings it refuses.
  // `config` outlives the worker.
  static Result<Worker> create(const EngineConfig& config);
  static Result<Worker> create(EngineConfig&&) = delete;

  // The state of `other`, for a copy of its engine, which owns `config`.
  Worker(const Worker& other, const EngineConfig& config);
  Worker(Worker&&) = default;
  Worker& operator=(Worker&&) = default;

  void prepare(StepTrace& trace, const NewBlocks& new_blocks, std::span<const RequestId> finished,
               RequestList& requests) {
    std::visit([&](auto& runner) { runner.prepare(trace, new_blocks, finished, requests); },
               runner_);
  }
  void sample(StepTrace& trace, RequestList& requests) {
    std::visit([&](auto& runner) { runner.sample(trace, requests); }, runner_);
  }

  const CudagraphResolution& cudagraphs() const {
    return std::visit(
        [](const auto& runner) -> const CudagraphResolution& { return runner.cudagraphs(); },
        runner_);
  }

 private:
  using Runner = std::variant<WorkerV1, WorkerV2>;
  explicit Worker(Runner runner) : runner_(std::move(runner)) {}
  Runner runner_;
};

}  // namespace hybridscope
