#include "core/engine/worker.h"

#include "core/engine/worker_policies.h"

namespace hybridscope {

void RunnerBase::add_post_copies(StepTrace& trace) {
  vary_post_copies(config_->policies, decisions_);
  append_decisions(trace, decisions_, trace.post_copies);
  collect_batch_copy_meta(decisions_, mamba_tables_, trace.post_copies.copies);
  if (config_->policies.is(PostCopyBlockTable::of_first_group))
    use_blocks_of_first_group(trace.post_copies.copies);
}

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
