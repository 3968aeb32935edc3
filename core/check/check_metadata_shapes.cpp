#include "core/check/check_group_metadata.h"
#include "core/check/mismatch.h"

namespace hybridscope {
namespace {

// At least `expected` rows where the array is needed.
struct NeededRows {
  std::int64_t expected = 0;
  bool present = false;
  std::int32_t rows = 0;
  std::string_view name{};
};

template <class T>
NeededRows needed(const TensorView<T>& array, std::int64_t rows, std::string_view name) {
  return {rows, array.present && array.cols > 0 && (array.rows == 0 || array.data != nullptr),
          array.rows, name};
}

// The same for an array that may be absent.
template <class T>
NeededRows if_present(const TensorView<T>& array, std::int64_t rows, std::string_view name) {
  NeededRows result = needed(array, rows, name);
  if (!array.present) result.expected = 0;
  return result;
}

bool fits(CheckContext& context, std::int32_t group, const NeededRows& array) {
  if (array.expected == 0 || (array.present && array.rows >= array.expected)) return true;
  report(context, Rule::metadata_inconsistent,
         {array.expected, array.present ? array.rows : -1, array.name, -1, group});
  return false;
}

bool mamba_fits(CheckContext& context, const GroupTrace& group, const MambaMetadata& metadata) {
  const std::int32_t decodes = metadata.num_decodes;
  const std::int32_t prefills = metadata.num_prefills;
  const bool all = context.config().mamba_cache_mode == MambaCacheMode::all;
  bool fit = decodes >= 0 && prefills >= 0;
  for (const NeededRows& array :
       {needed(metadata.state_indices_tensor_d, decodes, "state_indices_tensor_d"),
        if_present(metadata.query_start_loc_d, decodes + 1, "query_start_loc_d"),
        if_present(metadata.num_accepted_tokens, decodes, "num_accepted_tokens"),
        if_present(group.temporal_source_column, decodes, "temporal source columns"),
        if_present(group.conv_source_column, decodes, "conv source columns"),
        needed(metadata.state_indices_tensor_p, prefills, "state_indices_tensor_p"),
        needed(metadata.has_initial_states_p, prefills, "has_initial_states_p"),
        needed(metadata.block_idx_last_scheduled_token, all ? decodes + prefills : 0,
               "block_idx_last_scheduled_token"),
        needed(metadata.block_idx_last_computed_token, all ? decodes + prefills : 0,
               "block_idx_last_computed_token"),
        needed(metadata.block_idx_first_scheduled_token_p, all ? prefills : 0,
               "block_idx_first_scheduled_token_p")})
    fit = fits(context, group.group, array) && fit;
  return fit;
}

bool gdn_fits(CheckContext& context, std::int32_t group, const GdnMetadata& metadata) {
  const bool mixed = metadata.num_prefills > 0;
  const auto num_rows = static_cast<std::int32_t>(context.trace().rows.size());
  const std::int32_t spec = metadata.num_spec_decodes;
  const TensorView<std::int32_t>& spec_states = metadata.spec_state_indices_tensor;
  const TensorView<std::int32_t>& states = metadata.non_spec_state_indices_tensor;
  bool fit = true;
  for (const NeededRows& array :
       {needed(spec_states, spec, "spec_state_indices_tensor"),
        needed(metadata.num_accepted_tokens, spec, "num_accepted_tokens"),
        if_present(metadata.spec_query_start_loc,
                   spec > 0 ? (mixed ? spec : spec_states.rows) + 1 : 0, "spec_query_start_loc"),
        if_present(metadata.spec_sequence_masks, num_rows, "spec_sequence_masks"),
        needed(states, mixed ? 1 : 0, "non_spec_state_indices_tensor"),
        needed(metadata.has_initial_state, mixed ? states.rows : 0, "has_initial_state"),
        if_present(metadata.non_spec_query_start_loc, states.present ? states.rows + 1 : 0,
                   "non_spec_query_start_loc")})
    fit = fits(context, group, array) && fit;
  return fit;
}

}  // namespace

bool check_metadata_shapes(CheckContext& context, const GroupTrace& group) {
  if (!group.metadata) {
    report(context, Rule::metadata_inconsistent,
           {1, 0, "a mamba group without metadata", -1, group.group});
    return false;
  }
  if (const auto* mamba = std::get_if<MambaMetadata>(&*group.metadata))
    return mamba_fits(context, group, *mamba);
  if (const auto* mamba2 = std::get_if<Mamba2Metadata>(&*group.metadata))
    return mamba_fits(context, group, mamba2->base);
  return gdn_fits(context, group.group, std::get<GdnMetadata>(*group.metadata));
}

}  // namespace hybridscope
