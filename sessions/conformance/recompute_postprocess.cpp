// postprocess_align: one launch of the post-copy of mode align, in the form of V1 or of V2.
#include <vector>

#include <nlohmann/json.hpp>

#include "core/state/align_mode.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_memory.h"
#include "sessions/conformance/vector_states.h"

namespace hybridscope {

namespace {

using nlohmann::json;

using Decisions = std::vector<StateCopyDecision>;
using Counts = std::vector<std::int32_t>;

// What the V1 form of a vector asks.
class PostprocessV1 {
 public:
  PostprocessV1(const VectorCase& vector, std::int32_t block_size)
      : max_num_reqs_(read_max_num_reqs(vector.config)),
        accepted_(read_counts(vector.input["num_accepted_tokens"], max_num_reqs_)),
        state_idx_(read_counts(vector.input["mamba_state_idx"], max_num_reqs_)),
        scheduled_(read_counts(vector.input["num_scheduled_tokens"], max_num_reqs_)),
        computed_(read_counts(vector.input["num_computed_tokens"], max_num_reqs_)),
        drafts_(read_counts(vector.input["num_draft_tokens"], max_num_reqs_)),
        inputs_{.num_reqs = vector.input["num_reqs"].int32(),
                .block_size = block_size,
                .num_accepted_tokens = accepted_,
                .mamba_state_idx = state_idx_,
                .num_scheduled_tokens = scheduled_,
                .num_computed_tokens = computed_,
                .num_draft_tokens = drafts_} {}
  PostprocessV1(const PostprocessV1&) = delete;
  PostprocessV1& operator=(const PostprocessV1&) = delete;

  // The output buffer before the launch.
  Counts counts() const { return Counts(static_cast<std::size_t>(max_num_reqs_), 0); }
  Status decide(Counts& counts, Decisions& decisions) const {
    return run_fused_postprocess(inputs_, counts, decisions);
  }
  static bool has_kernel(const VectorKernels& kernels) {
    return kernels.fused_postprocess != nullptr;
  }
  Status launch(const VectorKernels& kernels, const HostStates& states, Counts& counts) const {
    return kernels.fused_postprocess(states, inputs_, counts);
  }

 private:
  std::int32_t max_num_reqs_;
  Counts accepted_, state_idx_, scheduled_, computed_, drafts_;
  PostprocessV1Inputs inputs_;
};

// What the V2 form of a vector asks.
class PostprocessV2 {
 public:
  PostprocessV2(const VectorCase& vector, std::int32_t block_size)
      : idx_mapping_(read_counts(vector.input["idx_mapping"])),
        state_idx_(read_counts(vector.input["mamba_state_idx"])),
        computed_(read_counts(vector.input["new_num_computed_tokens"])),
        accepted_(read_counts(vector.input["num_accepted_tokens"])),
        inputs_{.num_reqs = vector.input["num_reqs"].int32(),
                .block_size = block_size,
                .idx_mapping = idx_mapping_,
                .state_idx = state_idx_,
                .new_num_computed_tokens = computed_} {}
  PostprocessV2(const PostprocessV2&) = delete;
  PostprocessV2& operator=(const PostprocessV2&) = delete;

  // The slots' counts before the launch.
  Counts counts() const { return accepted_; }
  Status decide(Counts& counts, Decisions& decisions) const {
    return run_fused_postprocess_align(inputs_, counts, decisions);
  }
  static bool has_kernel(const VectorKernels& kernels) {
    return kernels.fused_postprocess_align != nullptr;
  }
  Status launch(const VectorKernels& kernels, const HostStates& states, Counts& counts) const {
    return kernels.fused_postprocess_align(states, inputs_, counts);
  }

 private:
  Counts idx_mapping_, state_idx_, computed_, accepted_;
  PostprocessV2Inputs inputs_;
};

// One launch of either form. Where it has a kernel, counts and bytes are the kernel's.
template <class Form>
json postprocess_align(const VectorCase& vector, const VectorKernels& kernels) {
  const MambaStateTensors tensors = read_mamba_state_tensors(vector.config);
  VectorMemory memory(vector.config, tensors);
  const VectorBlockTables tables(vector.input["block_tables"]);
  const auto layout = make_state_layout(tensors, tables.row_strides());
  if (!layout) return error_json(layout.error());
  json answer{{"ctx", layout_json(layout.value())}, {"raw_crc32_before", memory.raw_crc32()}};
  const Form asked(vector, layout.value().block_size);
  Counts counts = asked.counts();
  Decisions decisions;
  if (Status status = asked.decide(counts, decisions); !status) return error_json(status.error());
  const auto of_groups = tables.of_groups(tensors.mamba_group_ids);
  if (!of_groups) return error_json(of_groups.error());
  const auto copies = plan_fused_copies(layout.value(), launch_of(decisions, of_groups.value()));
  if (!copies) return error_json(copies.error());
  const std::vector<StateCopy> planned = without_rows(copies.value());
  if (Form::has_kernel(kernels)) {
    const auto bytes = memory.bytes_for(planned);
    counts = asked.counts();
    expect_launched(asked.launch(
        kernels, {.layout = layout.value(), .bytes = bytes, .block_tables = tables.views()},
        counts));
  } else {
    memory.execute(planned, kernels);
  }
  answer["num_accepted_out"] = counts;
  answer["copies"] = row_copies_json(copies.value());
  answer["raw_crc32_after"] = memory.raw_crc32();
  answer["state_crc32_after"] = memory.state_crc32();
  return answer;
}

}  // namespace

json recompute_postprocess_align(const VectorCase& vector, const VectorKernels& kernels) {
  return vector.config["form"].one_of({"V1", "V2"}) == 0
             ? postprocess_align<PostprocessV1>(vector, kernels)
             : postprocess_align<PostprocessV2>(vector, kernels);
}

}  // namespace hybridscope
