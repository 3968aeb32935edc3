#include "kernels/language/cuda_language_machine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/language/numeric_memory.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/language/language_machine_content.h"

namespace hybridscope {

Result<std::unique_ptr<CudaLanguageMachine>> CudaLanguageMachine::create(
    const LanguageMachineRequest& request, std::int32_t device) {
  if (Status status = expect_cuda_device(device); !status) return status.error();
  HS_CUDA(device, cudaSetDevice, device);
  const ConvRoom room{.num_drafts = request.num_speculative_tokens,
                      .missing = request.missing_conv_positions};
  auto layout = make_language_layout(request.model, request.kv_cache_config, room);
  if (!layout) return layout.error();
  auto forward = DeviceForward::create(request.model, device);
  if (!forward) return forward.error();
  auto pools = DevicePools::create(layout.value(), room, device);
  if (!pools) return pools.error();
  auto content =
      std::make_unique<Content>(request.model, std::move(layout).value(), std::move(pools).value(),
                                std::move(forward).value(), device);
  content->context.device = device;
  if (Status status = content->reserve(request); !status) return status.error();
  return std::unique_ptr<CudaLanguageMachine>(new CudaLanguageMachine(std::move(content)));
}

CudaLanguageMachine::CudaLanguageMachine(std::unique_ptr<Content> content)
    : content_(std::move(content)) {}
CudaLanguageMachine::~CudaLanguageMachine() = default;

const LanguageLayout& CudaLanguageMachine::layout() const { return content_->layout; }

void CudaLanguageMachine::poison(std::span<const std::int32_t> blocks) {
  content_->fill(blocks, kPoisonFloat);
}

void CudaLanguageMachine::zero(std::span<const std::int32_t> blocks) {
  content_->fill(blocks, 0.0F);
}

void CudaLanguageMachine::copy(std::span<const StateCopyOp> copies,
                               bool shifts_last_position_first) {
  Content& content = *content_;
  content.begin_if_finished();
  content.flush_states();
  if (copies.empty()) return;
  if (content.conflicts.found_in(copies))
    return content.move(meeting_state_moves(content.layout, content.pools.layers(), copies,
                                            shifts_last_position_first));
  const auto at = content.step.rest().add(copies);
  content.step.add(
      [&content, at, count = copies.size(), shifts_last_position_first](const StepPieces& pieces) {
        return copy_states_cuda(content.pools.table(),
                                {.copies = {at.in(pieces.rest), count},
                                 .shifts_last_position_first = shifts_last_position_first},
                                content.context.stream);
      });
}

std::optional<std::size_t> CudaLanguageMachine::copy_decided(const DecidedCopies& decided) {
  Content& content = *content_;
  const bool has_kernel =
      DeviceCopies::has_kernel(decided) && !content.conflicts.found_in(decided.copies);
  if (const Status room = has_kernel ? content.fused.reserve(decided) : Status(Ok{});
      !room && !content.queue_error)
    content.queue_error = room.error();
  if (!has_kernel || content.queue_error) {
    copy(decided.copies, false);
    return std::nullopt;
  }
  content.begin_if_finished();
  content.flush_states();
  const DeviceCopies::Staged staged = content.fused.stage(decided, content.step.rest());
  const std::int64_t first = content.num_decisions;
  content.step.add([&content, staged, first](const StepPieces& pieces) {
    return content.fused.launch(staged, pieces.rest, content.decisions() + first,
                                content.context.stream);
  });
  content.num_decisions += staged.num_rows;
  content.decided.emplace_back(first, decided.decisions.size());
  ++content.delays.num_decided;
  return content.decided.size() - 1;
}

void CudaLanguageMachine::copy_blocks(std::span<const BlockCopy> copies) {
  Content& content = *content_;
  content.begin_if_finished();
  content.flush_states();
  const std::vector<BlockCopy> there = copies_of_blocks(content.layout, copies);
  if (there.empty()) return;
  if (do_meet(there))
    return content.move(meeting_block_moves(content.layout, content.pools.layers(), there));
  const auto at = content.step.rest().add(there);
  content.step.add([&content, at, count = there.size()](const StepPieces& pieces) {
    return copy_key_blocks_cuda(content.pools.table(), {at.in(pieces.rest), count},
                                content.context.stream);
  });
}

void CudaLanguageMachine::forward(const MachineForward& batch) {
  Content& content = *content_;
  content.begin_if_finished();
  content.flush_states();
  content.flush_logits();
  const bool in_front = !std::exchange(content.has_front, true);
  StagedBatch staged(batch, content.meetings,
                     in_front ? content.step.front() : content.step.rest());
  content.most_tokens = std::max(content.most_tokens, staged.most_tokens());
  content.most_pieces = std::max(content.most_pieces, staged.most_pieces());
  for (const std::int32_t position : batch.positions)
    content.most_positions = std::max(content.most_positions, position + 1);
  content.step.add([&content, in_front, staged = std::move(staged),
                    replays = in_front && batch.replays_graph](const StepPieces& pieces) {
    return content.launch_forward(staged, in_front ? pieces.front : pieces.rest, replays);
  });
}

std::size_t CudaLanguageMachine::keep_state(const BlockElementRange& place) {
  Content& content = *content_;
  content.begin_if_finished();
  const LayerMemory& layer = content.pools.layers()[static_cast<std::size_t>(place.layer)];
  const StatePool& pool = place.kind == StateKind::temporal ? layer.temporal : layer.conv;
  content.pending_states.push_back({.place = pool.block(place.block).data() + place.first,
                                    .offset = content.num_state_floats,
                                    .count = place.count});
  content.kept.push_back({.first = content.num_state_floats, .count = place.count});
  content.num_state_floats += place.count;
  return content.kept.size() - 1;
}

std::size_t CudaLanguageMachine::keep_logits(std::int32_t token) {
  Content& content = *content_;
  content.begin_if_finished();
  content.pending_logits.push_back(token);
  content.kept.push_back({.is_logits = true, .first = content.num_logits_rows++});
  return content.kept.size() - 1;
}

Status CudaLanguageMachine::finish() {
  Content& content = *content_;
  content.begin_if_finished();
  content.finished = true;
  if (content.queue_error) return *content.queue_error;
  content.flush_states();
  content.flush_logits();
  if (content.step.empty()) return Ok{};
  const int device = content.context.device;
  HS_CUDA(device, cudaSetDevice, device);
  if (Status status = content.make_room(); !status) return status;
  if (Status status = content.step.send(content.upload, content.context); !status) return status;
  const std::int64_t bytes = content.kept_bytes();
  if (bytes > 0)
    HS_CUDA(device, cudaMemcpyAsync, content.host_kept.data(), content.device_kept.data(),
            static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, content.context.stream);
  HS_CUDA(device, cudaStreamSynchronize, content.context.stream);
  return Ok{};
}

std::span<const float> CudaLanguageMachine::kept(std::size_t number) const {
  const Content& content = *content_;
  const Content::Kept& kept = content.kept[number];
  const auto* floats = reinterpret_cast<const float*>(content.host_kept.data());
  if (!kept.is_logits) return {floats + kept.first, static_cast<std::size_t>(kept.count)};
  return {floats + content.num_state_floats + kept.first * content.vocab_size,
          static_cast<std::size_t>(content.vocab_size)};
}

std::int32_t CudaLanguageMachine::greedy(std::size_t number) const {
  const Content& content = *content_;
  const auto* tokens = reinterpret_cast<const std::int32_t*>(content.host_kept.data());
  return tokens[content.num_state_floats + content.num_logits_rows * content.vocab_size +
                content.kept[number].first];
}

std::span<const StateCopyDecision> CudaLanguageMachine::decided(std::size_t number) const {
  const Content& content = *content_;
  const auto& [first, count] = content.decided[number];
  const auto* decisions = reinterpret_cast<const StateCopyDecision*>(content.host_kept.data() +
                                                                     content.decisions_offset());
  return {decisions + first, count};
}

LanguageMachineDelays CudaLanguageMachine::delays() const {
  LanguageMachineDelays delays = content_->delays;
  delays.num_allocations = content_->num_allocations() - content_->allocations_at_creation;
  return delays;
}

}  // namespace hybridscope
