#include "core/language/replayed_buffers.h"

#include <algorithm>
#include <variant>

namespace hybridscope {
namespace {

bool replays_array(const GroupTrace& group, std::string_view name) {
  return std::ranges::count(group.replayed_arrays, name) > 0;
}

}  // namespace

void ReplayedBuffers::Buffer::write(const TensorView<std::int32_t>& head) {
  if (!head.present) return;
  if (cols != head.cols) values.clear();
  cols = head.cols;
  const auto size = static_cast<std::size_t>(head.size());
  values.resize(std::max(values.size(), size));
  std::copy_n(head.data, size, values.begin());
}

TensorView<std::int32_t> ReplayedBuffers::Buffer::head(std::int32_t rows, std::int32_t otherwise) {
  const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  values.resize(std::max(values.size(), size), otherwise);
  return cols == 1 ? vector_view(values.data(), rows) : matrix_view(values.data(), rows, cols);
}

std::optional<BuilderMetadata> ReplayedBuffers::read(const StepTrace& trace,
                                                     const GroupTrace& group) {
  if (!group.is_mamba || !group.metadata) return std::nullopt;
  const bool replays = trace.graph.pads_metadata() && !group.replayed_arrays.empty();
  const bool was_written = group.persistent_buffers_step == trace.step;
  const bool only_states = !was_written && replays && group.reused_metadata;
  const auto write_own = [&](const auto& metadata) { write(metadata, only_states); };
  if (was_written || only_states) {
    if (const auto* gdn = std::get_if<GdnMetadata>(&*group.metadata))
      write_own(*gdn);
    else if (const auto* mamba2 = std::get_if<Mamba2Metadata>(&*group.metadata))
      write_own(mamba2->base);
    else
      write_own(std::get<MambaMetadata>(*group.metadata));
  }
  if (!replays || was_written) return std::nullopt;
  const Size size{trace.graph.num_reqs_padded, trace.graph.num_tokens_padded};
  BuilderMetadata read = *group.metadata;
  if (auto* gdn = std::get_if<GdnMetadata>(&read))
    replay(group, size, *gdn);
  else if (auto* mamba2 = std::get_if<Mamba2Metadata>(&read))
    replay(trace, group, size, mamba2->base);
  else
    replay(trace, group, size, std::get<MambaMetadata>(read));
  return read;
}

void ReplayedBuffers::write(const MambaMetadata& metadata, bool only_states) {
  states_.write(metadata.state_indices_tensor_d);
  if (only_states) return;
  accepted_.write(metadata.num_accepted_tokens);
  last_scheduled_.write(metadata.block_idx_last_scheduled_token);
  last_computed_.write(metadata.block_idx_last_computed_token);
}

void ReplayedBuffers::write(const GdnMetadata& metadata, bool only_states) {
  states_.write(metadata.spec_state_indices_tensor);
  non_spec_states_.write(metadata.non_spec_state_indices_tensor);
  if (only_states) return;
  accepted_.write(metadata.num_accepted_tokens);
  spec_starts_.write(metadata.spec_query_start_loc);
  non_spec_starts_.write(metadata.non_spec_query_start_loc);
}

// Every row of the graph is a decode row.
void ReplayedBuffers::replay(const StepTrace& trace, const GroupTrace& group, Size size,
                             MambaMetadata& metadata) {
  metadata.num_prefills = metadata.num_prefill_tokens = 0;
  metadata.num_decodes = size.rows;
  metadata.num_decode_tokens = size.tokens;
  metadata.state_indices_tensor_d = states_.head(size.rows, kPadSlotId);
  metadata.query_start_loc_d = {};
  metadata.num_accepted_tokens = {};
  if (replays_array(group, "num_accepted_tokens")) {    // with drafts
    const auto& starts = trace.common.query_start_loc;  // the runner's, which every step writes
    metadata.query_start_loc_d =
        vector_view(starts.data(), static_cast<std::int32_t>(starts.size()));
    metadata.num_accepted_tokens = accepted_.head(size.rows, 1);
  }
  if (!replays_array(group, "block_idx_last_scheduled_token")) return;
  metadata.block_idx_last_scheduled_token = last_scheduled_.head(size.rows, -1);
  metadata.block_idx_last_computed_token = last_computed_.head(size.rows, -1);
}

void ReplayedBuffers::replay(const GroupTrace& group, Size size, GdnMetadata& metadata) {
  metadata.num_prefills = metadata.num_prefill_tokens = 0;
  metadata.num_decodes = metadata.num_decode_tokens = 0;
  metadata.num_spec_decodes = metadata.num_spec_decode_tokens = 0;
  metadata.spec_token_indx = metadata.non_spec_token_indx = {};
  metadata.spec_state_indices_tensor = metadata.non_spec_state_indices_tensor = {};
  if (replays_array(group, "spec_state_indices_tensor")) {
    metadata.num_spec_decodes = size.rows;
    metadata.num_spec_decode_tokens = size.tokens;
    metadata.spec_state_indices_tensor = states_.head(size.rows, kPadSlotId);
    metadata.spec_query_start_loc = spec_starts_.head(size.rows + 1, 0);
    metadata.num_accepted_tokens = accepted_.head(size.rows, 1);
    return;
  }
  metadata.num_decodes = size.rows;
  metadata.num_decode_tokens = size.tokens;
  metadata.non_spec_state_indices_tensor = non_spec_states_.head(size.rows, kPadSlotId);
  metadata.non_spec_query_start_loc = non_spec_starts_.head(size.rows + 1, 0);
}

}  // namespace hybridscope
