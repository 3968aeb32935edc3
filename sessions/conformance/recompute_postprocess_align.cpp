// postprocess_align: one launch of the fused kernel, in V1's or V2's form.
#include <nlohmann/json.hpp>

#include "core/state/align_postprocess.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_memory.h"
#include "sessions/conformance/vector_states.h"

namespace hybridscope {
namespace {

using nlohmann::json;

Result<PostprocessAlignResult> run_v1(const StateLayout& layout, const VectorValue& input,
                                      BlockTables block_tables, std::int32_t max_num_reqs) {
  const auto accepted = read_counts(input["num_accepted_tokens"], max_num_reqs);
  const auto state_idx = read_counts(input["mamba_state_idx"], max_num_reqs);
  const auto scheduled = read_counts(input["num_scheduled_tokens"], max_num_reqs);
  const auto computed = read_counts(input["num_computed_tokens"], max_num_reqs);
  const auto drafts = read_counts(input["num_draft_tokens"], max_num_reqs);
  return run_fused_postprocess(
      layout,
      {.num_reqs = input["num_reqs"].int32(),
       .num_accepted_tokens = accepted,
       .mamba_state_idx = state_idx,
       .num_scheduled_tokens = scheduled,
       .num_computed_tokens = computed,
       .num_draft_tokens = drafts,
       .block_tables = block_tables},
      std::vector<std::int32_t>(static_cast<std::size_t>(max_num_reqs), 0));
}

Result<PostprocessAlignResult> run_v2(const StateLayout& layout, const VectorValue& input,
                                      BlockTables block_tables) {
  const auto idx_mapping = read_counts(input["idx_mapping"]);
  const auto accepted = read_counts(input["num_accepted_tokens"]);
  const auto state_idx = read_counts(input["mamba_state_idx"]);
  const auto computed = read_counts(input["new_num_computed_tokens"]);
  return run_fused_postprocess_align(layout, {.num_reqs = input["num_reqs"].int32(),
                                              .idx_mapping = idx_mapping,
                                              .num_accepted_tokens = accepted,
                                              .state_idx = state_idx,
                                              .new_num_computed_tokens = computed,
                                              .block_tables = block_tables});
}

}  // namespace

json recompute_postprocess_align(const VectorCase& vector, ExecuteCopies execute_copies) {
  const MambaStateTensors tensors = read_mamba_state_tensors(vector.config);
  VectorMemory memory(vector.config, tensors);
  const VectorBlockTables tables(vector.input["block_tables"]);
  const auto layout = make_state_layout(tensors, tables.row_strides());
  if (!layout) return error_json(layout.error());
  json answer{{"ctx", layout_json(layout.value())}, {"raw_crc32_before", memory.raw_crc32()}};
  const auto result =
      vector.config["form"].one_of({"V1", "V2"}) == 0
          ? run_v1(layout.value(), vector.input, tables.views(), read_max_num_reqs(vector.config))
          : run_v2(layout.value(), vector.input, tables.views());
  if (!result) return error_json(result.error());
  memory.execute(without_rows(result.value().copies), execute_copies);
  answer["num_accepted_out"] = result.value().num_accepted_tokens;
  answer["copies"] = row_copies_json(result.value().copies);
  answer["raw_crc32_after"] = memory.raw_crc32();
  answer["state_crc32_after"] = memory.state_crc32();
  return answer;
}

}  // namespace hybridscope
