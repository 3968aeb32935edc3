#include "sessions/record/value_names.h"

#include <array>

#include "core/base/result.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_parts.h"

namespace hybridscope::value_names {
namespace {

// A code without an enumerator comes from a damaged file.
constexpr std::string_view kUnknown = "unknown";

// "none" for a value without a name.
std::string_view or_none(std::string_view text) { return text.empty() ? "none" : text; }

}  // namespace

std::string_view name(CommandKind value) { return command_name(value); }
std::string_view name(Admission value) { return admission_name(value); }
std::string_view name(RowClass value) { return row_class_name(value); }
std::string_view name(RowOrigin value) { return row_origin_name(value); }
std::string_view name(CUDAGraphMode value) { return cudagraph_mode_name(value); }
std::string_view name(StateCopyOutcome value) { return outcome_name(value); }
std::string_view name(CommitOutcome value) { return commit_outcome_name(value); }
std::string_view name(Rule value) { return rule_info(value).slug; }
std::string_view name(ContentKind value) { return or_none(finding_words::content_name(value)); }
std::string_view name(WriteKind value) { return or_none(finding_words::write_kind_name(value)); }

std::string_view name(CommandOutcome value) {
  static constexpr std::string_view kNames[] = {"done", "ignored"};
  return name_at(kNames, value, kUnknown);
}

std::string_view name(IgnoredReason value) {
  static constexpr std::string_view kNames[] = {
      "none",          "not_running",     "has_finished",        "drafts_planned_ahead",
      "no_draft_list", "samples_nothing", "no_drafts_to_accept", "count_out_of_range",
      "blocks_in_use", "frees_deferred"};
  return name_at(kNames, value, kUnknown);
}

std::string_view name(SkipReason value) {
  static constexpr std::string_view kNames[] = {
      "no_token_budget",    "split_to_zero",  "max_model_len",          "chunked_prefill_off",
      "allocation_refused", "max_num_seqs",   "behind_refused_request", "preemption_in_step",
      "ends_in_flight",     "frees_deferred", "frame_in_flight"};
  return name_at(kNames, value, kUnknown);
}

std::string_view name(LookupStop value) {
  static constexpr std::string_view kNames[] = {
      "caching_off", "limit_reached", "miss", "eagle_drop", "alignment", "cut_to_other_group"};
  return name_at(kNames, value, kUnknown);
}

std::string_view name(CudagraphDispatchReason value) {
  static constexpr std::string_view kNames[] = {
      "graphs_off",           "only_none_allowed", "above_largest_size", "no_graph_for_batch",
      "uniform_decode_graph", "mixed_batch_graph", "not_uniform",        "full_graph_too_small",
      "full_graph_forbidden", "piecewise_only"};
  return name_at(kNames, value, kUnknown);
}

std::string_view name(StateCopyRule value) {
  static constexpr std::string_view kNames[] = {"preprocess_mamba",
                                                "preprocess_mamba_align_fused_kernel",
                                                "precopy_mamba_align_fused_kernel",
                                                "postprocess_mamba_v1",
                                                "postprocess_mamba_v2",
                                                "all_mode_boundary"};
  return name_at(kNames, value, kUnknown);
}

std::string_view write_name(WriteKind kind, ContentKind content) {
  if (kind == WriteKind::block_copy && content != ContentKind::attention)
    return content == ContentKind::conv ? "block_copy conv" : "block_copy temporal";
  static constexpr std::array<std::array<std::string_view, 2>, 5> kNames = {
      {{"never", "never"},
       {"prefill temporal", "prefill conv"},
       {"decode temporal", "decode conv"},
       {"pre_copy temporal", "pre_copy conv"},
       {"post_copy temporal", "post_copy conv"}}};
  const auto code = static_cast<std::size_t>(kind);
  if (code >= kNames.size() || content == ContentKind::attention) return name(kind);
  return kNames[code][content == ContentKind::conv ? 1 : 0];
}

std::string_view name(CacheEventKind value) {
  static constexpr std::string_view kNames[] = {
      "allocated",  "touched",       "freed",         "evicted",  "registered",  "withdrawn",
      "column_set", "table_dropped", "free_deferred", "free_due", "copied_from", "copied_to"};
  return name_at(kNames, value, kUnknown);
}

}  // namespace hybridscope::value_names
