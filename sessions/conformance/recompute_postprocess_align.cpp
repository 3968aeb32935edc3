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

struct Postprocessed {
  std::vector<StateCopyDecision> decisions;
  std::vector<std::int32_t> num_accepted_tokens;
};

Result<Postprocessed> run_v1(const VectorCase& vector, std::int32_t block_size) {
  const VectorValue& input = vector.input;
  const std::int32_t max_num_reqs = read_max_num_reqs(vector.config);
  const auto accepted = read_counts(input["num_accepted_tokens"], max_num_reqs);
  const auto state_idx = read_counts(input["mamba_state_idx"], max_num_reqs);
  const auto scheduled = read_counts(input["num_scheduled_tokens"], max_num_reqs);
  const auto computed = read_counts(input["num_computed_tokens"], max_num_reqs);
  const auto drafts = read_counts(input["num_draft_tokens"], max_num_reqs);
  Postprocessed result;
  result.num_accepted_tokens.assign(static_cast<std::size_t>(max_num_reqs), 0);
  const Status status = run_fused_postprocess({.num_reqs = input["num_reqs"].int32(),
                                               .block_size = block_size,
                                               .num_accepted_tokens = accepted,
                                               .mamba_state_idx = state_idx,
                                               .num_scheduled_tokens = scheduled,
                                               .num_computed_tokens = computed,
                                               .num_draft_tokens = drafts},
                                              result.num_accepted_tokens, result.decisions);
  if (!status) return status.error();
  return result;
}

Result<Postprocessed> run_v2(const VectorCase& vector, std::int32_t block_size) {
  const VectorValue& input = vector.input;
  const auto idx_mapping = read_counts(input["idx_mapping"]);
  const auto state_idx = read_counts(input["mamba_state_idx"]);
  const auto computed = read_counts(input["new_num_computed_tokens"]);
  Postprocessed result;
  result.num_accepted_tokens = read_counts(input["num_accepted_tokens"]);
  const Status status = run_fused_postprocess_align({.num_reqs = input["num_reqs"].int32(),
                                                     .block_size = block_size,
                                                     .idx_mapping = idx_mapping,
                                                     .state_idx = state_idx,
                                                     .new_num_computed_tokens = computed},
                                                    result.num_accepted_tokens, result.decisions);
  if (!status) return status.error();
  return result;
}

}  // namespace

json recompute_postprocess_align(const VectorCase& vector, ExecuteCopies execute_copies) {
  const MambaStateTensors tensors = read_mamba_state_tensors(vector.config);
  VectorMemory memory(vector.config, tensors);
  const VectorBlockTables tables(vector.input["block_tables"]);
  const auto layout = make_state_layout(tensors, tables.row_strides());
  if (!layout) return error_json(layout.error());
  json answer{{"ctx", layout_json(layout.value())}, {"raw_crc32_before", memory.raw_crc32()}};
  const std::int32_t block_size = layout.value().block_size;
  const auto result = vector.config["form"].one_of({"V1", "V2"}) == 0 ? run_v1(vector, block_size)
                                                                      : run_v2(vector, block_size);
  if (!result) return error_json(result.error());
  const auto of_groups = tables.of_groups(tensors.mamba_group_ids);
  if (!of_groups) return error_json(of_groups.error());
  const auto copies =
      plan_fused_copies(layout.value(), launch_of(result.value().decisions, of_groups.value()));
  if (!copies) return error_json(copies.error());
  memory.execute(without_rows(copies.value()), execute_copies);
  answer["num_accepted_out"] = result.value().num_accepted_tokens;
  answer["copies"] = row_copies_json(copies.value());
  answer["raw_crc32_after"] = memory.raw_crc32();
  answer["state_crc32_after"] = memory.state_crc32();
  return answer;
}

}  // namespace hybridscope
