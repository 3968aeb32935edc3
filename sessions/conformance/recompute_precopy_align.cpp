// precopy_align: V2's advance, pre-copy and post-copy, step by step on one memory.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "core/state/align_postprocess.h"
#include "core/state/align_precopy.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_memory.h"
#include "sessions/conformance/vector_states.h"

namespace hybridscope {
namespace {

using nlohmann::json;

class PrecopyRun {
 public:
  PrecopyRun(const VectorValue& config, const MambaStateTensors& tensors, StateLayout layout,
             ExecuteCopies execute_copies)
      : layout_(std::move(layout)),
        memory_(config, tensors),
        execute_copies_(execute_copies),
        slots_(make_align_slots(read_max_num_reqs(config))) {}

  const VectorMemory& memory() const { return memory_; }

  json step(const VectorValue& step) {
    add_slots(step);
    const VectorBlockTables tables(step["block_tables"]);
    json answer;
    if (Status status = advance(step, answer); !status) return error_json(status.error());
    if (Status status = precopy(step, tables, answer); !status) return error_json(status.error());
    slots_.num_accepted_tokens = read_counts(step["num_accepted_tokens_sampled"], num_slots());
    if (step["run_postprocess"].boolean())
      if (Status status = postprocess(step, tables, answer); !status)
        return error_json(status.error());
    answer["num_accepted_tokens_after_postprocess"] = slots_.num_accepted_tokens;
    answer["raw_crc32_after_step"] = memory_.raw_crc32();
    return answer;
  }

 private:
  std::int64_t num_slots() const { return std::ssize(slots_.state_idx); }

  // The file repeats the arrays before the step; ours must have come to the same.
  void add_slots(const VectorValue& step) {
    for (const VectorValue& added : step["added"].elements())
      if (Status status = add_align_slot(
              slots_, {.slot = added["slot"].int32(),
                       .num_computed_tokens = read_count(added["num_computed_tokens"]),
                       .block_size = layout_.block_size});
          !status)
        added.fail(status.error().message);
    const VectorValue state_idx = step["state_idx_before"];
    if (state_idx.int32s() != slots_.state_idx)
      state_idx.fail("not what the steps before and the added slots lead to");
    const VectorValue accepted = step["num_accepted_tokens_before"];
    if (accepted.int32s() != slots_.num_accepted_tokens)
      accepted.fail("not what the steps before and the added slots lead to");
  }

  // A launch may be of any width, above 0.
  Status advance(const VectorValue& step, json& answer) {
    step["launch_block_size"].int32_in(1, kMaxVectorCount);
    const auto idx_mapping = read_counts(step["idx_mapping"]);
    const auto computed = read_counts(step["num_computed_tokens"], num_slots());
    const auto query_start_loc = read_counts(step["query_start_loc"]);
    std::vector<StateCopyDecision> decisions;
    if (Status status = preprocess_mamba_align({.num_reqs = step["num_reqs"].int32(),
                                                .block_size = layout_.block_size,
                                                .idx_mapping = idx_mapping,
                                                .num_computed_tokens = computed,
                                                .query_start_loc = query_start_loc},
                                               slots_, decisions);
        !status)
      return status;
    answer["state_idx"] = slots_.state_idx;
    answer["src_col"] = slots_.src_col;
    answer["src_off"] = slots_.src_off;
    answer["num_accepted_tokens"] = slots_.num_accepted_tokens;
    return Ok{};
  }

  Status precopy(const VectorValue& step, const VectorBlockTables& tables, json& answer) {
    const auto idx_mapping = read_counts(step["precopy_idx_mapping"]);
    const std::int32_t num_reqs = std::max(step["num_reqs"].int32(), 0);
    if (std::ssize(idx_mapping) < num_reqs)
      return invalid_input("precopy_idx_mapping is shorter than num_reqs");
    std::vector<StateCopyDecision> decisions;
    if (Status status = run_fused_precopy(
            std::span(idx_mapping).first(static_cast<std::size_t>(num_reqs)), slots_, decisions);
        !status)
      return status;
    const auto copies = execute(decisions, tables);
    if (!copies) return copies.error();
    answer["precopy_copies"] = row_copies_json(copies.value());
    answer["raw_crc32_after_precopy"] = memory_.raw_crc32();
    return Ok{};
  }

  Status postprocess(const VectorValue& step, const VectorBlockTables& tables, json& answer) {
    const auto idx_mapping = read_counts(step["idx_mapping"]);
    const auto computed = read_counts(step["new_num_computed_tokens"], num_slots());
    std::vector<StateCopyDecision> decisions;
    if (Status status = run_fused_postprocess_align({.num_reqs = step["num_reqs"].int32(),
                                                     .block_size = layout_.block_size,
                                                     .idx_mapping = idx_mapping,
                                                     .state_idx = slots_.state_idx,
                                                     .new_num_computed_tokens = computed},
                                                    slots_.num_accepted_tokens, decisions);
        !status)
      return status;
    const auto copies = execute(decisions, tables);
    if (!copies) return copies.error();
    answer["postprocess_copies"] = row_copies_json(copies.value());
    return Ok{};
  }

  // The copies of one launch, as they were carried out.
  Result<std::vector<RowStateCopy>> execute(std::span<const StateCopyDecision> decisions,
                                            const VectorBlockTables& tables) {
    const auto of_groups = tables.of_groups(layout_.mamba_group_ids);
    if (!of_groups) return of_groups.error();
    auto copies = plan_fused_copies(layout_, launch_of(decisions, of_groups.value()));
    if (copies) memory_.execute(without_rows(copies.value()), execute_copies_);
    return copies;
  }

  StateLayout layout_;
  VectorMemory memory_;
  ExecuteCopies execute_copies_;
  AlignSlots slots_;
};

}  // namespace

json recompute_precopy_align(const VectorCase& vector, ExecuteCopies execute_copies) {
  const MambaStateTensors tensors = read_mamba_state_tensors(vector.config);
  const std::vector<std::int64_t> strides(
      tensors.mamba_group_ids.size(),
      vector.config["block_table_stride"].int64_in(0, kMaxVectorCount));
  auto layout = make_state_layout(tensors, strides);
  if (!layout) return error_json(layout.error());
  PrecopyRun run(vector.config, tensors, layout.value(), execute_copies);
  json answer{{"ctx", layout_json(layout.value())}, {"raw_crc32_before", run.memory().raw_crc32()}};
  answer["steps"] = answer_until_error(vector.input["steps"],
                                       [&](const VectorValue& step) { return run.step(step); });
  answer["final_state_crc32"] = run.memory().state_crc32();
  return answer;
}

}  // namespace hybridscope
