// The sources of the rules of findings, and stable names of their values.
#include "sessions/explain/block_copies.h"
#include "sessions/explain/finding_words.h"

namespace hybridscope::finding_words {
namespace {

std::string_view source_of_write(WriteKind kind, const Names& names) {
  switch (kind) {
    case WriteKind::pre_copy:
      return "vLLM v1/worker/mamba_utils.py preprocess_mamba";
    case WriteKind::post_copy:
      return names.mamba_cache_mode == MambaCacheMode::all
                 ? "docs/differences.md all_mode_speculation"
                 : "vLLM v1/worker/mamba_utils.py postprocess_mamba_fused_kernel";
    case WriteKind::attention:
      return "vLLM v1/worker/block_table.py compute_slot_mapping";
    case WriteKind::block_copy:
      return kBlockCopySource;
    default:
      return "vLLM v1/attention/backends/mamba_attn.py and gdn_attn.py build";
  }
}

}  // namespace

std::string_view source(const Finding& finding, const Names& names) {
  switch (finding.rule) {
    case Rule::reference_count:
      return "vLLM v1/core/block_pool.py touch and free_blocks";
    case Rule::label_mismatch:
      return finding.cause.kind == WriteKind::never ? "vLLM v1/core/block_pool.py cache_full_blocks"
                                                    : source_of_write(finding.cause.kind, names);
    case Rule::copy_out_of_range:
    case Rule::conflicting_copies:
      return "vLLM v1/worker/mamba_utils.py collect_mamba_copy_meta";
    case Rule::padded_row_not_null:
      if (finding.detail == "a row of a dummy run")
        return "vLLM v1/worker/gpu_model_runner.py _dummy_run";
      [[fallthrough]];
    case Rule::block_table_mismatch:
      return "vLLM v1/worker/gpu_model_runner.py _update_states and _prepare_inputs";
    case Rule::hit_longer_than_group:
      return "vLLM v1/core/kv_cache_coordinator.py find_longest_cache_hit";
    case Rule::foreign_row_datum:
      if (finding.detail.ends_with("token_indx"))
        return "vLLM v1/attention/backends/gdn_attn.py build";
      if (finding.detail.starts_with("slot of"))
        return "vLLM v1/worker/gpu/states.py add_request and remove_request";
      return finding.detail.ends_with("another row")
                 ? "vLLM v1/worker/gpu_model_runner.py _build_attention_metadata"
                 : "vLLM v1/worker/gpu_input_batch.py condense and swap_states";
    case Rule::rejected_draft_counted:
      return "vLLM v1/core/sched/scheduler.py update_from_output";
    case Rule::no_progress:
    case Rule::schedule_over_limit:
    case Rule::drafts_cut:
      return "vLLM v1/core/sched/scheduler.py schedule";
    case Rule::chunk_off_grid:
      return "vLLM v1/core/sched/scheduler.py _mamba_block_aligned_split";
    case Rule::published_not_written:
      return "vLLM model_executor/layers/mamba/checkpoint.py MambaPrefillCheckpointBuilder";
    case Rule::graph_not_captured:
      return "vLLM v1/cudagraph_dispatcher.py dispatch";
    case Rule::state_bytes_wrong:
      return "docs/architecture.md, State in bytes";
    case Rule::state_differs:
    case Rule::logits_differ:
    case Rule::acceptance_differs:
      return "docs/numeric.md, What is compared";
    case Rule::copy_differs:
      return source_of_write(finding.cause.kind, names);
    case Rule::state_changed:
    case Rule::write_missing:
    case Rule::state_unchanged:
      return "docs/trace-format.md, States";
    case Rule::expectation_unused:
      return "docs/scenario-format.md, Script";
    case Rule::attention_slot_unwritten:
      return source_of_write(WriteKind::attention, names);
    case Rule::metadata_inconsistent:
      if (finding.detail.ends_with(" copy"))
        return "vLLM v1/worker/mamba_utils.py collect_mamba_copy_meta";
      [[fallthrough]];
    default:
      return source_of_write(
          finding.content == ContentKind::attention ? WriteKind::attention : finding.cause.kind,
          names);
  }
}

std::string_view write_kind_name(WriteKind kind) {
  switch (kind) {
    case WriteKind::never:
      return {};
    case WriteKind::prefill:
      return "prefill";
    case WriteKind::decode:
      return "decode";
    case WriteKind::pre_copy:
      return "pre_copy";
    case WriteKind::post_copy:
      return "post_copy";
    case WriteKind::attention:
      return "attention";
    case WriteKind::block_copy:
      return "block_copy";
  }
  return {};
}

std::string_view content_name(ContentKind content) {
  switch (content) {
    case ContentKind::none:
      return {};
    case ContentKind::temporal:
      return "temporal";
    case ContentKind::conv:
      return "conv";
    case ContentKind::attention:
      return "attention";
  }
  return {};
}

}  // namespace hybridscope::finding_words
