#include "kernels/language/cuda_language_machine.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/language/numeric_memory.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/language/language_machine_content.h"

namespace hybridscope {

Result<std::unique_ptr<LanguageMachine>> CudaLanguageMachine::create(
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
  return std::unique_ptr<LanguageMachine>(new CudaLanguageMachine(std::move(content)));
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

namespace {

// Room at creation; larger steps take more, once.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;
constexpr std::int32_t kPositions = 8192;
constexpr std::int32_t kChunkEnds = 16;  // pieces of fewer tokens than others
constexpr std::size_t kMostGraphs = 256;

}  // namespace

Status CudaLanguageMachine::Content::reserve(const LanguageMachineRequest& request) {
  auto made = make_stream(context.device);
  if (!made) return made.error();
  stream = std::move(made).value();
  context.stream = stream.get();
  if (Status status = upload.reserve(context.device, kPieceBytes); !status) return status;
  const std::int32_t tokens = std::max(request.max_num_tokens, 1);
  const std::int32_t pieces =
      request.form == NumericForm::chunked ? tokens / kPieceTokens + kChunkEnds : 0;
  if (Status status = forward.reserve(tokens, kPositions, pieces); !status) return status;
  allocations_at_creation = num_allocations();
  HS_CUDA(context.device, cudaDeviceSynchronize);  // copies so far were on no stream of ours
  return Ok{};
}

void CudaLanguageMachine::Content::begin_if_finished() {
  if (!std::exchange(finished, false)) return;
  kept.clear();
  num_state_floats = num_logits_rows = num_decisions = 0;
  decided.clear();
  most_tokens = most_positions = most_pieces = 0;
  move_floats = 0;
  has_front = false;
}

void CudaLanguageMachine::Content::flush_states() {
  if (pending_states.empty()) return;
  const auto floats = step.rest().add(pending_states);
  step.add([this, floats, count = pending_states.size()](const StepPieces& pieces) {
    return gather_floats_cuda({floats.in(pieces.rest), count}, states(), context.stream);
  });
  pending_states.clear();
}

void CudaLanguageMachine::Content::flush_logits() {
  if (pending_logits.empty()) return;
  const auto tokens = step.rest().add(pending_logits);
  const auto rows = static_cast<std::int64_t>(pending_logits.size());
  step.add([this, tokens, rows, first = num_logits_rows - rows](const StepPieces& pieces) {
    const auto count = static_cast<std::size_t>(rows);
    return forward.launch_logits(
        {tokens.in(pieces.rest), count},
        {logits() + first * vocab_size, count * static_cast<std::size_t>(vocab_size)},
        {greedy() + first, count}, context.stream);
  });
  pending_logits.clear();
}

void CudaLanguageMachine::Content::fill(std::span<const std::int32_t> blocks, float value) {
  begin_if_finished();
  flush_states();
  std::vector<std::int32_t> there;
  std::ranges::copy_if(blocks, std::back_inserter(there), [this](std::int32_t block) {
    return block > 0 && block < layout.num_blocks;
  });
  if (there.empty()) return;
  const auto at = step.rest().add(there);
  step.add([this, at, count = there.size(), value](const StepPieces& pieces) {
    return fill_blocks_cuda(pools.table(), {at.in(pieces.rest), count}, value, context.stream);
  });
}

// Moves that meet: read together, then written one after the other.
void CudaLanguageMachine::Content::move(const PoolMoves& moves) {
  move_floats = std::max(move_floats, moves.num_floats);
  const auto scratch = [this] { return reinterpret_cast<float*>(move_scratch.data()); };
  for (const PoolMoves::Read& read : moves.reads) {
    const auto floats = step.rest().add(read.floats);
    step.add([this, floats, count = read.floats.size(), scratch](const StepPieces& pieces) {
      return gather_floats_cuda({floats.in(pieces.rest), count}, scratch(), context.stream);
    });
    if (!read.shift) continue;
    const auto copy = step.rest().add(std::span(&*read.shift, 1));
    step.add([this, copy](const StepPieces& pieces) {
      return copy_states_cuda(pools.table(),
                              {.copies = {copy.in(pieces.rest), 1},
                               .shifts_last_position_first = true,
                               .only_such_shifts = true},
                              context.stream);
    });
  }
  const auto writes = step.rest().add(moves.writes);
  for (std::size_t i = 0; i < moves.writes.size(); ++i)
    step.add([this, writes, i, scratch](const StepPieces& pieces) {
      return spread_floats_cuda({writes.in(pieces.rest) + i, 1}, scratch(), context.stream);
    });
}

Status CudaLanguageMachine::Content::launch_forward(const StagedBatch& batch,
                                                    const std::byte* piece, bool replays_graph) {
  const auto launch = [&] {
    return forward.launch(batch.in(piece), pools.layers(), layout.group_of_layer, context.stream);
  };
  if (!replays_graph) return launch();
  if (graphs_read != piece || graphs_at_layout != forward.num_layouts()) graphs.clear();
  graphs_read = piece;
  graphs_at_layout = forward.num_layouts();
  auto found = graphs.find(batch.key());
  if (found == graphs.end()) {
    if (graphs.size() >= kMostGraphs) return launch();
    auto graph = LaunchGraph::record(context, launch);
    if (!graph) return graph.error();
    found = graphs.emplace(batch.key(), std::move(graph).value()).first;
    ++delays.num_captures;
  }
  ++delays.num_replays;
  return found->second.launch();
}

Status CudaLanguageMachine::Content::make_room() {
  if (Status status = forward.reserve(most_tokens, most_positions, most_pieces); !status)
    return status;
  if (Status status = device_kept.reserve(context.device, kept_bytes()); !status) return status;
  if (Status status = host_kept.reserve(context.device, kept_bytes()); !status) return status;
  return move_scratch.reserve(context.device, 4 * move_floats);
}

}  // namespace hybridscope
