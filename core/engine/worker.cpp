#include "core/engine/worker.h"

namespace hybridscope {

Result<Worker> Worker::create(const EngineConfig& config) {
  if (config.runner == ModelRunner::v2) {
    auto runner = WorkerV2::create(config);
    if (!runner.ok()) return runner.error();
    return Worker(Runner(std::move(runner).value()));
  }
  auto runner = WorkerV1::create(config);
  if (!runner.ok()) return runner.error();
  return Worker(Runner(std::move(runner).value()));
}

Worker::Worker(const Worker& other, const EngineConfig& config) : runner_(other.runner_) {
  std::visit([&](auto& runner) { runner.read_from(config); }, runner_);
}

}  // namespace hybridscope
