#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "core/state/mode_copies.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_kernels.h"
#include "sessions/conformance/vector_states.h"

namespace hybridscope {

// preprocess_align and precopy_align: V1's copies before the forward pass, and V2's steps (advance,
// pre-copy, post-copy) on one memory.

namespace {

using nlohmann::json;

using Decisions = std::vector<StateCopyDecision>;
using Counts = std::vector<std::int32_t>;

class PreprocessRun {
 public:
  PreprocessRun(const JsonValue& config, const VectorKernels& kernels)
      : enable_prefix_caching_(config["enable_prefix_caching"].boolean()),
        max_num_reqs_(read_max_num_reqs(config)),
        tensors_(read_mamba_state_tensors(config)),
        memory_(config, tensors_),
        kernels_(kernels) {}

  json raw_crc32() const { return memory_.raw_crc32(); }
  // Entries of MambaCopyBuffers (semantics: mamba-copy-buffers): one request may copy each state of
  // each layer once.
  std::int64_t capacity() const { return std::int64_t{max_num_reqs_} * tensors_.num_states(); }

  json step(const JsonValue& step) {
    const std::vector<std::string> names = step["req_ids"].strings();
    const auto scheduled = counts_of(names, step["num_scheduled_tokens"]);
    if (!scheduled) return error_json(scheduled.error());
    const auto computed = counts_of(names, step["num_computed_tokens"]);
    if (!computed) return error_json(computed.error());
    const VectorGoneRequests gone(step, requests_);
    const auto req_ids = requests_.ids(names);
    const auto block_ids = read_block_ids(step["block_ids"], names);
    auto accepted = read_counts(step["num_accepted_tokens_cpu"], max_num_reqs_);
    cleanup_mamba_state_idx(gone.view(), mamba_state_idx_);
    std::vector<StateCopyDecision> decisions;
    const Status decided = preprocess_mamba({.enable_prefix_caching = enable_prefix_caching_,
                                             .block_size = tensors_.block_size,
                                             .req_ids = req_ids,
                                             .num_scheduled_tokens = scheduled.value(),
                                             .num_computed_tokens = computed.value()},
                                            mamba_state_idx_, accepted, decisions);
    if (!decided) return error_json(decided.error());
    const RequestBlockTables tables(block_ids, tensors_.mamba_group_ids);
    const auto copies = plan_batched_copies(tensors_, launch_of(decisions, tables.lists()));
    if (!copies) return error_json(copies.error());
    memory_.execute(copies.value(), kernels_);
    return {{"copies", state_copies_json(tensors_, copies.value())},
            {"num_accepted_tokens_cpu", accepted},
            {"mamba_state_idx", requests_.state_idx_json(mamba_state_idx_)},
            {"raw_crc32", memory_.raw_crc32()},
            {"state_crc32", memory_.state_crc32()}};
  }

 private:
  static std::vector<RequestBlockIds> read_block_ids(const JsonValue& block_ids,
                                                     const std::vector<std::string>& names) {
    std::vector<RequestBlockIds> result;
    for (const std::string& name : names) {
      result.emplace_back();
      for (const JsonValue& group : block_ids[name].elements())
        result.back().push_back(group.int32s());
    }
    return result;
  }

  bool enable_prefix_caching_;
  std::int32_t max_num_reqs_;
  MambaStateTensors tensors_;
  VectorMemory memory_;
  const VectorKernels& kernels_;
  VectorRequests requests_;
  MambaStateIdx mamba_state_idx_;
};

// A fused launch: it decides and makes the copies by itself. Empty: there is no such kernel.
using FusedLaunch = std::function<Status(const HostStates&)>;

// The memory of a vector, on which copies are made as its fused kernels make them.
class FusedMemory {
 public:
  FusedMemory(const JsonValue& config, const MambaStateTensors& tensors, StateLayout layout,
              const VectorKernels& kernels)
      : layout_(std::move(layout)), memory_(config, tensors), kernels_(kernels) {}

  const VectorMemory& bytes() const { return memory_; }
  const StateLayout& layout() const { return layout_; }
  const VectorKernels& kernels() const { return kernels_; }

  // Makes the copies that the decisions call for, with `fused` if there is one. The list of them.
  Result<json> carry_out(std::span<const StateCopyDecision> decisions,
                         const VectorBlockTables& tables, const FusedLaunch& fused) {
    const auto of_groups = tables.of_groups(layout_.mamba_group_ids);
    if (!of_groups) return of_groups.error();
    const auto copies = plan_fused_copies(layout_, launch_of(decisions, of_groups.value()));
    if (!copies) return copies.error();
    const std::vector<StateCopy> planned = without_rows(copies.value());
    if (fused) {
      const auto bytes = memory_.bytes_for(planned);
      expect_launched(fused({.layout = layout_, .bytes = bytes, .block_tables = tables.views()}));
    } else {
      memory_.execute(planned, kernels_);
    }
    return row_copies_json(copies.value());
  }

  // The post-copy of mode align: decided by `decide`, a function of core, and again by `kernel`,
  // if there is one. `counts` as there.
  template <class Inputs, class Decide, class Kernel>
  Result<json> postprocess(const Inputs& inputs, const Decide& decide, const Kernel& kernel,
                           const VectorBlockTables& tables, Counts& counts) {
    const Counts before = counts;
    Decisions decisions;
    if (Status status = decide(inputs, counts, decisions); !status) return status.error();
    FusedLaunch fused;
    if (kernel)
      fused = [&](const HostStates& states) {
        counts = before;
        return kernel(states, inputs, counts);
      };
    return carry_out(decisions, tables, fused);
  }

 private:
  StateLayout layout_;
  VectorMemory memory_;
  const VectorKernels& kernels_;
};

class PrecopyRun {
 public:
  PrecopyRun(const JsonValue& config, const MambaStateTensors& tensors, StateLayout layout,
             const VectorKernels& kernels)
      : memory_(config, tensors, std::move(layout), kernels),
        slots_(make_align_slots(read_max_num_reqs(config))) {}

  const VectorMemory& memory() const { return memory_.bytes(); }

  json step(const JsonValue& step) {
    add_slots(step);
    const VectorBlockTables tables(step["block_tables"]);
    json answer;
    if (Status status = advance_and_precopy(step, tables, answer); !status)
      return error_json(status.error());
    slots_.num_accepted_tokens = read_counts(step["num_accepted_tokens_sampled"], num_slots());
    if (step["run_postprocess"].boolean())
      if (Status status = postprocess(step, tables, answer); !status)
        return error_json(status.error());
    answer["num_accepted_tokens_after_postprocess"] = slots_.num_accepted_tokens;
    answer["raw_crc32_after_step"] = memory().raw_crc32();
    return answer;
  }

 private:
  std::int64_t num_slots() const { return std::ssize(slots_.state_idx); }

  // The vector repeats the slot arrays before each step; ours must be equal.
  void add_slots(const JsonValue& step) {
    for (const JsonValue& added : step["added"].elements())
      if (Status status = add_align_slot(
              slots_, {.slot = added["slot"].int32(),
                       .num_computed_tokens = read_count(added["num_computed_tokens"]),
                       .block_size = memory_.layout().block_size});
          !status)
        added.fail(status.error().message);
    const JsonValue state_idx = step["state_idx_before"];
    if (state_idx.int32s() != slots_.state_idx)
      state_idx.fail("not what the steps before and the added slots lead to");
    const JsonValue accepted = step["num_accepted_tokens_before"];
    if (accepted.int32s() != slots_.num_accepted_tokens)
      accepted.fail("not what the steps before and the added slots lead to");
  }

  // A launch may have any positive width.
  Status advance_and_precopy(const JsonValue& step, const VectorBlockTables& tables, json& answer) {
    step["launch_block_size"].int32({1, kMaxVectorCount});
    const Counts idx_mapping = read_counts(step["idx_mapping"]);
    const Counts computed = read_counts(step["num_computed_tokens"], num_slots());
    const Counts query_start_loc = read_counts(step["query_start_loc"]);
    const AlignAdvanceInputs inputs{.num_reqs = step["num_reqs"].int32(),
                                    .block_size = memory_.layout().block_size,
                                    .idx_mapping = idx_mapping,
                                    .num_computed_tokens = computed,
                                    .query_start_loc = query_start_loc};
    const AlignSlots before = slots_;
    Decisions decisions;
    if (Status status = preprocess_mamba_align(inputs, slots_, decisions); !status) return status;
    const Counts precopy_mapping = read_counts(step["precopy_idx_mapping"]);
    const auto num_reqs = static_cast<std::size_t>(std::max(inputs.num_reqs, 0));
    if (precopy_mapping.size() < num_reqs)
      return invalid_input("precopy_idx_mapping is shorter than num_reqs");
    const auto rows = std::span(precopy_mapping).first(num_reqs);
    if (Status status = run_fused_precopy(rows, slots_, decisions); !status) return status;
    FusedLaunch fused;
    if (const auto& kernel = memory_.kernels().advance_and_precopy)
      fused = [&](const HostStates& states) {
        slots_ = before;
        return kernel(states, inputs, rows, slots_);
      };
    auto copies = memory_.carry_out(decisions, tables, fused);
    if (!copies) return copies.error();
    answer["state_idx"] = slots_.state_idx;
    answer["src_col"] = slots_.src_col;
    answer["src_off"] = slots_.src_off;
    answer["num_accepted_tokens"] = slots_.num_accepted_tokens;
    answer["precopy_copies"] = std::move(copies).value();
    answer["raw_crc32_after_precopy"] = memory().raw_crc32();
    return Ok{};
  }

  Status postprocess(const JsonValue& step, const VectorBlockTables& tables, json& answer) {
    const Counts idx_mapping = read_counts(step["idx_mapping"]);
    const Counts computed = read_counts(step["new_num_computed_tokens"], num_slots());
    const PostprocessV2Inputs inputs{.num_reqs = step["num_reqs"].int32(),
                                     .block_size = memory_.layout().block_size,
                                     .idx_mapping = idx_mapping,
                                     .state_idx = slots_.state_idx,
                                     .new_num_computed_tokens = computed};
    auto copies = memory_.postprocess(inputs, &run_fused_postprocess_align,
                                      memory_.kernels().fused_postprocess_align, tables,
                                      slots_.num_accepted_tokens);
    if (!copies) return copies.error();
    answer["postprocess_copies"] = std::move(copies).value();
    return Ok{};
  }

  FusedMemory memory_;
  AlignSlots slots_;
};

}  // namespace

json recompute_preprocess_align(const VectorCase& vector, const VectorKernels& kernels) {
  PreprocessRun run(vector.config, kernels);
  json answer{{"copy_buffer_capacity", run.capacity()}, {"raw_crc32_before", run.raw_crc32()}};
  answer["steps"] = answer_until_error(vector.input["steps"],
                                       [&](const JsonValue& step) { return run.step(step); });
  return answer;
}

json recompute_precopy_align(const VectorCase& vector, const VectorKernels& kernels) {
  const MambaStateTensors tensors = read_mamba_state_tensors(vector.config);
  const std::vector<std::int64_t> strides(
      tensors.mamba_group_ids.size(),
      vector.config["block_table_stride"].int64({0, kMaxVectorCount}));
  auto layout = make_state_layout(tensors, strides);
  if (!layout) return error_json(layout.error());
  PrecopyRun run(vector.config, tensors, layout.value(), kernels);
  json answer{{"ctx", layout_json(layout.value())}, {"raw_crc32_before", run.memory().raw_crc32()}};
  answer["steps"] = answer_until_error(vector.input["steps"],
                                       [&](const JsonValue& step) { return run.step(step); });
  answer["final_state_crc32"] = run.memory().state_crc32();
  return answer;
}

// One launch of the post-copy of mode align, in the form of V1 or of V2.
json recompute_postprocess_align(const VectorCase& vector, const VectorKernels& kernels) {
  const JsonValue& input = vector.input;
  const bool v1 = vector.config["form"].one_of({"V1", "V2"}) == 0;
  const MambaStateTensors tensors = read_mamba_state_tensors(vector.config);
  const VectorBlockTables tables(input["block_tables"]);
  auto layout = make_state_layout(tensors, tables.row_strides());
  if (!layout) return error_json(layout.error());
  FusedMemory memory(vector.config, tensors, layout.value(), kernels);
  json answer{{"ctx", layout_json(layout.value())},
              {"raw_crc32_before", memory.bytes().raw_crc32()}};
  const std::int32_t num_reqs = input["num_reqs"].int32();
  // The arrays of V1 have a place for every row.
  const std::int64_t length = v1 ? read_max_num_reqs(vector.config) : -1;
  const auto array = [&](std::string_view name) { return read_counts(input[name], length); };
  const Counts accepted = array("num_accepted_tokens");
  const Counts state_idx = array("mamba_state_idx");
  Counts counts;
  Result<json> copies = json();
  if (v1) {
    const Counts scheduled = array("num_scheduled_tokens");
    const Counts computed = array("num_computed_tokens");
    const Counts drafts = array("num_draft_tokens");
    counts.resize(accepted.size());
    copies = memory.postprocess(PostprocessV1Inputs{.num_reqs = num_reqs,
                                                    .block_size = layout.value().block_size,
                                                    .num_accepted_tokens = accepted,
                                                    .mamba_state_idx = state_idx,
                                                    .num_scheduled_tokens = scheduled,
                                                    .num_computed_tokens = computed,
                                                    .num_draft_tokens = drafts},
                                &run_fused_postprocess, kernels.fused_postprocess, tables, counts);
  } else {
    const Counts idx_mapping = array("idx_mapping");
    const Counts computed = array("new_num_computed_tokens");
    counts = accepted;
    copies = memory.postprocess(PostprocessV2Inputs{.num_reqs = num_reqs,
                                                    .block_size = layout.value().block_size,
                                                    .idx_mapping = idx_mapping,
                                                    .state_idx = state_idx,
                                                    .new_num_computed_tokens = computed},
                                &run_fused_postprocess_align, kernels.fused_postprocess_align,
                                tables, counts);
  }
  if (!copies) return error_json(copies.error());
  answer["num_accepted_out"] = counts;
  answer["copies"] = std::move(copies).value();
  answer["raw_crc32_after"] = memory.bytes().raw_crc32();
  answer["state_crc32_after"] = memory.bytes().state_crc32();
  return answer;
}

}  // namespace hybridscope
