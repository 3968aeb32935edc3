#include "kernels/language/language_machine_content.h"

#include <algorithm>
#include <iterator>

#include "kernels/cuda/cuda_check.h"

namespace hybridscope {
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
