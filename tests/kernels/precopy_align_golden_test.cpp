#include <gtest/gtest.h>

#include "core/state/align_postprocess.h"
#include "core/state/align_precopy.h"
#include "tests/kernels/golden_replay.h"

namespace hybridscope::test {
namespace {

class PrecopyRun {
 public:
  PrecopyRun(const Json& config, StateLayout layout)
      : config_(config),
        layout_(std::move(layout)),
        memory_(config.at("memory")),
        slots_(make_align_slots(config.at("max_num_reqs").get<std::int32_t>())) {}

  const GoldenMemory& memory() const { return memory_; }

  Json step(const Json& step) {
    if (auto text = add_slots(step); !text.empty()) return {{"error", text}};
    Json got;
    if (auto text = advance(step, got); !text.empty()) return {{"error", text}};
    if (auto text = precopy(step, got); !text.empty()) return {{"error", text}};
    slots_.num_accepted_tokens = ints(step.at("num_accepted_tokens_sampled"));
    if (step.at("run_postprocess").get<bool>())
      if (auto text = postprocess(step, got); !text.empty()) return {{"error", text}};
    got["num_accepted_tokens_after_postprocess"] = slots_.num_accepted_tokens;
    got["raw_crc32_after_step"] = memory_.raw_crc32();
    return got;
  }

 private:
  // Also checks that the arrays before the step are those that the file says.
  std::string add_slots(const Json& step) {
    for (const Json& added : step.at("added"))
      if (Status status = add_align_slot(
              slots_, {.slot = added.at("slot").get<std::int32_t>(),
                       .num_computed_tokens = added.at("num_computed_tokens").get<std::int32_t>(),
                       .block_size = layout_.block_size});
          !status)
        return status.error().message;
    if (slots_.state_idx != ints(step.at("state_idx_before"))) return "state_idx_before";
    if (slots_.num_accepted_tokens != ints(step.at("num_accepted_tokens_before")))
      return "num_accepted_tokens_before";
    return "";
  }

  std::string advance(const Json& step, Json& got) {
    const auto idx_mapping = ints(step.at("idx_mapping"));
    const auto computed = ints(step.at("num_computed_tokens"));
    const auto query_start_loc = ints(step.at("query_start_loc"));
    auto result =
        preprocess_mamba_align({.num_reqs = step.at("num_reqs").get<std::int32_t>(),
                                .block_size = config_.at("block_size").get<std::int32_t>(),
                                .idx_mapping = idx_mapping,
                                .num_computed_tokens = computed,
                                .query_start_loc = query_start_loc},
                               slots_);
    if (!result) return result.error().message;
    slots_ = result.value().slots;
    got["state_idx"] = slots_.state_idx;
    got["src_col"] = slots_.src_col;
    got["src_off"] = slots_.src_off;
    got["num_accepted_tokens"] = slots_.num_accepted_tokens;
    return "";
  }

  std::string precopy(const Json& step, Json& got) {
    const auto idx_mapping = ints(step.at("precopy_idx_mapping"));
    const GoldenBlockTables tables(step.at("block_tables"));
    auto result = run_fused_precopy(layout_, {.num_reqs = step.at("num_reqs").get<std::int32_t>(),
                                              .idx_mapping = idx_mapping,
                                              .state_idx = slots_.state_idx,
                                              .src_col = slots_.src_col,
                                              .src_off = slots_.src_off,
                                              .block_tables = tables.views});
    if (!result) return result.error().message;
    execute(result.value().copies, memory_);
    got["precopy_copies"] = copies_json(result.value().copies);
    got["raw_crc32_after_precopy"] = memory_.raw_crc32();
    return "";
  }

  std::string postprocess(const Json& step, Json& got) {
    const auto idx_mapping = ints(step.at("idx_mapping"));
    const auto computed = ints(step.at("new_num_computed_tokens"));
    const GoldenBlockTables tables(step.at("block_tables"));
    auto result =
        run_fused_postprocess_align(layout_, {.num_reqs = step.at("num_reqs").get<std::int32_t>(),
                                              .idx_mapping = idx_mapping,
                                              .num_accepted_tokens = slots_.num_accepted_tokens,
                                              .state_idx = slots_.state_idx,
                                              .new_num_computed_tokens = computed,
                                              .block_tables = tables.views});
    if (!result) return result.error().message;
    execute(result.value().copies, memory_);
    slots_.num_accepted_tokens = result.value().num_accepted_tokens;
    got["postprocess_copies"] = copies_json(result.value().copies);
    return "";
  }

  const Json& config_;
  StateLayout layout_;
  GoldenMemory memory_;
  AlignSlots slots_;
};

std::string check_case(const Json& test_case) {
  const Json& config = test_case.at("config");
  const Json& output = test_case.at("output");
  const MambaStateTensors tensors = state_tensors(config);
  const std::vector<std::int64_t> strides(tensors.mamba_group_ids.size(),
                                          config.at("block_table_stride").get<std::int64_t>());
  const auto layout = make_state_layout(tensors, strides);
  if (!layout) return layout.error().message;
  if (auto text = first_difference(output.at("ctx"), layout_json(layout.value())); !text.empty())
    return "ctx: " + text;
  PrecopyRun run(config, layout.value());
  if (output.at("raw_crc32_before") != run.memory().raw_crc32()) return "raw_crc32_before";
  const Json& expected = output.at("steps");
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (auto text = first_difference(expected[i], run.step(test_case.at("input").at("steps")[i]));
        !text.empty())
      return "step " + std::to_string(i) + ": " + text;
  return first_difference(output.at("final_state_crc32"), state_crc32(tensors, run.memory()));
}

TEST(PrecopyAlignGolden, EveryCaseOfPrecopyAlign) {
  HS_NEED_GOLDEN();
  int failures = 0;
  const int cases = for_each_case("precopy_align.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    const std::string difference = check_case(test_case);
    if (difference.empty()) return;
    ++failures;
    ADD_FAILURE() << test_case.at("id") << ": " << difference;
  });
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace hybridscope::test
