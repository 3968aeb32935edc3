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

}  // namespace hybridscope
