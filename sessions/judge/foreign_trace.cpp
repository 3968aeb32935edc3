#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

void ForeignStep::clear() {
  line = 0;
  step = 0;
  untold.clear();
  scheduled_new_reqs.clear();
  scheduled_cached_reqs.clear();
  num_scheduled_tokens.clear();
  scheduled_spec_decode_tokens.clear();
  num_drafts_offered.clear();
  placeholder_drafts.clear();
  finished_req_ids.clear();
  preempted_req_ids.clear();
  kv_cache_block_copies.clear();
  new_block_ids_to_zero.clear();
  reset_prefix_cache = false;
  preempted_by_command.clear();
  num_drafts_proposed.clear();
  token_budget.reset();
  step_time_us.reset();
  scheduler_block_ids.clear();
  num_cached_block.clear();
  num_tokens_after_output.clear();
  block_hashes.reset();
  block_hashes_after_output.lost.clear();
  block_hashes_after_output.registered.clear();
  prefill_checkpoints.clear();
  rows.clear();
  preprocess_copies.reset();
  graph.reset();
  attn_metadata.clear();
  states.clear();
  sampled_token_ids.reset();
  postprocess_copies.reset();
  ids.clear();
  lists.clear();
}

}  // namespace hybridscope
