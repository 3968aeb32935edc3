#include <ostream>

#include "tests/core/engine/engine_scenario.h"

namespace hybridscope::test {

ScenarioShape draw_shape(MambaCacheMode mode, const std::function<int(int, int)>& in) {
  const bool all = mode == MambaCacheMode::all;
  const MambaType types[] = {MambaType::mamba2, MambaType::mamba1, MambaType::gdn_attention};
  ScenarioShape shape;
  shape.seed = static_cast<std::uint64_t>(in(0, 1'000'000'000));
  shape.mode = mode;
  shape.mamba_type = types[in(0, all ? 1 : 2)];
  shape.block_size = in(1, 8);
  shape.num_speculative_tokens = in(0, 3);
  shape.ngram = in(0, 1) == 1;
  shape.num_mamba_groups = in(1, 3);
  shape.second_attention_blocks = in(0, 2) == 0 ? in(1, 3) : 0;
  shape.conv_kernel = in(2, 4);
  shape.num_requests = in(1, 7);
  shape.longest_text = in(1, 30);
  shape.longest_output = in(1, 20);
  shape.extra_blocks = in(0, 1) == 0 ? in(0, 4) : in(0, 60);
  shape.max_num_seqs = in(1, 5);
  shape.extra_batched_tokens = in(0, 40);
  shape.long_prefill_blocks = in(0, 3) == 0 ? in(1, 3) : 0;
  shape.cut_model_len = in(0, 2) == 0 ? in(1, 8) : 0;
  shape.steps_between_arrivals = in(0, 5);
  shape.num_budget_steps = in(0, 1) * in(1, 40);
  shape.num_preemptions = in(0, 1) * in(1, 4);
  shape.num_aborts = in(0, 4) / 4;
  shape.num_resets = in(0, 4) / 3;
  shape.acceptance_percent = 10 * in(0, 10);
  shape.watermark_percent = in(0, 3) == 3 ? in(1, 30) : 0;
  shape.reserve_full_isl = in(0, 1) == 1;
  shape.chunked_prefill = in(0, 7) > 0;
  shape.priority = in(0, 2) == 2;
  shape.graph_mode =
      in(0, 1) == 0 ? CUDAGraphMode::full_and_piecewise : static_cast<CUDAGraphMode>(in(0, 4));
  shape.capture_every = in(0, 1) * in(1, 7);
  shape.asynchronous = in(0, 1) == 1;
  shape.kv_consumer = in(0, 5) == 5;
  shape.runner_v2 = in(0, 1) == 1;
  return shape;
}

std::ostream& operator<<(std::ostream& out, const ScenarioShape& s) {
  return out << "{.seed = " << s.seed << "U, .mode = MambaCacheMode{" << int(s.mode)
             << "}, .mamba_type = MambaType{" << int(s.mamba_type)
             << "}, .block_size = " << s.block_size
             << ", .num_speculative_tokens = " << s.num_speculative_tokens
             << ", .ngram = " << s.ngram << ", .num_mamba_groups = " << s.num_mamba_groups
             << ", .second_attention_blocks = " << s.second_attention_blocks
             << ", .conv_kernel = " << s.conv_kernel << ", .num_requests = " << s.num_requests
             << ", .longest_text = " << s.longest_text << ", .longest_output = " << s.longest_output
             << ", .extra_blocks = " << s.extra_blocks << ", .max_num_seqs = " << s.max_num_seqs
             << ", .extra_batched_tokens = " << s.extra_batched_tokens
             << ", .long_prefill_blocks = " << s.long_prefill_blocks
             << ", .cut_model_len = " << s.cut_model_len
             << ", .steps_between_arrivals = " << s.steps_between_arrivals
             << ", .num_budget_steps = " << s.num_budget_steps
             << ", .num_preemptions = " << s.num_preemptions << ", .num_aborts = " << s.num_aborts
             << ", .num_resets = " << s.num_resets
             << ", .acceptance_percent = " << s.acceptance_percent
             << ", .watermark_percent = " << s.watermark_percent
             << ", .chunked_prefill = " << s.chunked_prefill
             << ", .reserve_full_isl = " << s.reserve_full_isl << ", .priority = " << s.priority
             << ", .graph_mode = CUDAGraphMode{" << int(s.graph_mode)
             << "}, .capture_every = " << s.capture_every << ", .asynchronous = " << s.asynchronous
             << ", .kv_consumer = " << s.kv_consumer << ", .runner_v2 = " << s.runner_v2 << "}";
}

}  // namespace hybridscope::test
