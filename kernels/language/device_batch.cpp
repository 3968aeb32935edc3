#include "kernels/language/device_batch.h"

#include <algorithm>
#include <numeric>

namespace hybridscope {
namespace {

// Calls `visit` with every array of rows.
template <class Visit>
void visit_arrays(DecodeRows& rows, Visit&& visit) {
  visit(rows.state_indices);
  visit(rows.query_start_loc);
  visit(rows.num_accepted_tokens);
  visit(rows.source_column);
  visit(rows.destination_column);
  visit(rows.conv_source_column);
}
template <class Visit>
void visit_arrays(PrefillRows& rows, Visit&& visit) {
  visit(rows.query_start_loc);
  visit(rows.has_initial_states);
  visit(rows.state_indices);
  visit(rows.block_idx_first_scheduled_token);
  visit(rows.block_idx_last_scheduled_token);
  visit(rows.block_idx_last_computed_token);
  visit(rows.num_computed_tokens);
  visit(rows.checkpoint_offsets);
  visit(rows.checkpoint_blocks);
}
template <class Visit>
void visit_arrays(AttentionRows& rows, Visit&& visit) {
  visit(rows.query_start_loc);
  visit(rows.seq_lens);
  visit(rows.block_table);
}
template <class Visit>
void visit_arrays(DeviceForwardBatch& batch, Visit&& visit) {
  visit(batch.token_ids);
  visit(batch.positions);
  for (DeviceGroup& group : batch.groups) {
    visit_arrays(group.attention, visit);
    for (DeviceDecodes& part : group.decodes) visit_arrays(part.rows, visit);
    for (DevicePrefills& part : group.prefills) {
      visit_arrays(part.rows, visit);
      visit(part.row_chunks);
      visit(part.mamba2_chunks.cu_chunk_seqlen);
      visit(part.mamba2_chunks.seq_idx);
      visit(part.mamba2_chunks.last_chunk_indices);
    }
    visit(group.tokens);
    visit(group.gate_tokens);
    visit(group.from);
  }
}

// Puts arrays of host memory into a piece; they point to offsets then.
struct IntoPiece {
  ArrayPiece& piece;
  std::vector<std::int64_t>& key;

  template <class T>
  void operator()(std::span<const T>& values) const {
    const Uploaded<T> at = piece.add(values);
    key.insert(key.end(), {at.offset, std::ssize(values)});
    values = {at.in(nullptr), values.size()};
  }
  void operator()(TensorView<std::int32_t>& view) const {
    const Uploaded<std::int32_t> at =
        piece.add(std::span<const std::int32_t>(view.data, static_cast<std::size_t>(view.size())));
    key.insert(key.end(), {at.offset, view.rows, view.cols});
    view.data = at.in(nullptr);
  }
};

// Offsets become addresses.
struct ToAddresses {
  const std::byte* piece;

  template <class T>
  const T* moved(const T* offset) const {
    return Uploaded<T>{reinterpret_cast<std::intptr_t>(offset)}.in(piece);
  }
  template <class T>
  void operator()(std::span<const T>& values) const {
    values = values.empty() ? std::span<const T>()
                            : std::span<const T>(moved(values.data()), values.size());
  }
  void operator()(TensorView<std::int32_t>& view) const { view.data = moved(view.data); }
};

// Sets how the chunks of a part run, if it has any.
void set_chunks(const PrefillPart& part, DevicePrefills& made) {
  if (!part.is_chunked()) return;
  made.row_chunks = part.row_chunks;
  made.mamba2_chunks = part.mamba2_chunks;
  made.row_chunk_plan = plan_chunks(part.row_chunks, made.num_tokens);
  made.mamba2_chunk_plan = plan_chunks(part.mamba2_chunks, made.num_tokens);
  if (made.ranges.size() > 1) made.row_chunk_plan.in_turn = made.mamba2_chunk_plan.in_turn = true;
}

// Which tokens of the batch the parts of a group have, and back.
class PartTokens {
 public:
  PartTokens(const ForwardGroup& group, std::int32_t num_tokens) {
    for (const DecodePart& part : group.decodes)
      add(part.tokens, part.gate_tokens.empty() ? part.tokens : part.gate_tokens);
    for (const PrefillPart& part : group.prefills) add(part.tokens, part.tokens);
    from.assign(static_cast<std::size_t>(num_tokens), -1);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      from[static_cast<std::size_t>(tokens[i])] = static_cast<std::int32_t>(i);
    std::vector<std::int32_t> all(from.size());
    std::iota(all.begin(), all.end(), 0);
    in_order = tokens == all;
  }

  std::vector<std::int32_t> tokens, gate_tokens, from;
  bool in_order = false;

 private:
  void add(const std::vector<std::int32_t>& of_part, const std::vector<std::int32_t>& gates) {
    tokens.insert(tokens.end(), of_part.begin(), of_part.end());
    gate_tokens.insert(gate_tokens.end(), gates.begin(), gates.end());
  }
};

}  // namespace

StagedBatch::StagedBatch(const MachineForward& batch, RowMeetings& meetings, ArrayPiece& piece) {
  batch_.token_ids = batch.token_ids;
  batch_.positions = batch.positions;
  most_tokens_ = batch_.num_tokens();
  std::vector<PartTokens> tokens;
  tokens.reserve(batch.groups.size());
  for (const ForwardGroup& group : batch.groups) {
    DeviceGroup& made = batch_.groups.emplace_back();
    made.attention = group.attention;
    made.attention_ranges = meetings.ranges(group.attention, std::max(group.block_size, 1));
    made.block_size = group.block_size;
    std::int32_t next = 0;
    const auto take = [&next](std::size_t count) {
      return std::exchange(next, next + static_cast<std::int32_t>(count));
    };
    const auto num_before = [](std::span<const std::int32_t> starts) {
      return starts.empty() ? 0 : starts.front();
    };
    const auto num_in_front = [](const PrefillPart& part) {
      const bool counts = part.stores_boundaries_by_piece && !part.tokens.empty();
      return counts ? part.tokens.front() : 0;
    };
    for (const DecodePart& part : group.decodes)
      made.decodes.push_back({.rows = part.rows,
                              .ranges = meetings.ranges(part.rows),
                              .first_token = take(part.tokens.size()),
                              .num_tokens = static_cast<std::int32_t>(part.tokens.size()),
                              .num_before = num_before(part.rows.query_start_loc),
                              .rolled_tokens = part.rolled_tokens});
    for (const PrefillPart& part : group.prefills) {
      DevicePrefills& added = made.prefills.emplace_back();
      added.rows = part.rows;
      added.ranges = meetings.ranges(part.rows);
      added.first_token = take(part.tokens.size());
      added.num_tokens = static_cast<std::int32_t>(part.tokens.size());
      added.num_before = num_before(part.rows.query_start_loc);
      added.prep_initial_states = part.prep_initial_states;
      added.stores_boundaries_by_piece = part.stores_boundaries_by_piece;
      added.num_in_front = num_in_front(part);
      set_chunks(part, added);
      most_pieces_ = std::max(
          {most_pieces_, added.row_chunk_plan.num_pieces, added.mamba2_chunk_plan.num_pieces});
    }
    most_tokens_ = std::max(most_tokens_, next);
    const PartTokens& own = tokens.emplace_back(group, batch_.num_tokens());
    made.in_order = own.in_order;
    made.has_gate_tokens = own.gate_tokens != own.tokens;
    if (!own.in_order) made.tokens = own.tokens, made.from = own.from;
    if (made.has_gate_tokens) made.gate_tokens = own.gate_tokens;
  }
  visit_arrays(batch_, IntoPiece{piece, key_});
  for (const DeviceGroup& group : batch_.groups) {
    const auto add_ranges = [this](const RowRanges& ranges) {
      key_.push_back(std::ssize(ranges));
      key_.insert(key_.end(), ranges.begin(), ranges.end());
    };
    add_ranges(group.attention_ranges);
    key_.insert(key_.end(), {group.block_size, std::int64_t{group.in_order},
                             std::int64_t{group.has_gate_tokens}, std::ssize(group.decodes),
                             std::ssize(group.prefills)});
    for (const DeviceDecodes& part : group.decodes) {
      add_ranges(part.ranges);
      key_.insert(key_.end(),
                  {part.first_token, part.num_tokens, part.num_before, part.rolled_tokens});
    }
    for (const DevicePrefills& part : group.prefills) {
      add_ranges(part.ranges);
      key_.insert(key_.end(), {part.first_token, part.num_tokens, part.num_before,
                               std::int64_t{part.prep_initial_states}, part.rows.mamba_block_size,
                               std::int64_t{part.stores_boundaries_by_piece}, part.num_in_front,
                               part.mamba2_chunks.chunk_size});
      for (const ChunkPlan& plan : {part.row_chunk_plan, part.mamba2_chunk_plan})
        key_.insert(key_.end(), {plan.num_pieces, std::int64_t{plan.in_turn}});
    }
  }
}

DeviceForwardBatch StagedBatch::in(const std::byte* piece) const {
  DeviceForwardBatch batch = batch_;
  visit_arrays(batch, ToAddresses{piece});
  return batch;
}

Status DeviceLanguageStep::send(DeviceUpload& upload, const LaunchContext& context) {
  const Uploaded<std::byte> rest = front_.add(rest_.bytes());
  const std::vector<StepLaunch> launches = std::exchange(launches_, {});
  const Status sent = upload.send(front_, context);
  front_.clear();
  rest_.clear();
  if (!sent) return sent;
  const StepPieces pieces{.front = upload.data(), .rest = rest.in(upload.data())};
  for (const StepLaunch& launch : launches)
    if (Status launched = launch(pieces); !launched) return launched;
  return Ok{};
}

}  // namespace hybridscope
