#include "core/engine/worker.h"

namespace hybridscope {

Result<Worker> Worker::create(const EngineConfig& config) {
  auto metadata = BatchMetadata::create(config);
  if (!metadata.ok()) return metadata.error();
  return config.runner == ModelRunner::v2 ? Worker(WorkerV2(config, std::move(metadata).value()))
                                          : Worker(WorkerV1(config, std::move(metadata).value()));
}

Worker::Worker(const Worker& other, const EngineConfig& config) : runner_(other.runner_) {
  std::visit([&](auto& runner) { runner.read_from(config); }, runner_);
}

}  // namespace hybridscope
