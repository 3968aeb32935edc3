#include <array>
#include <cstddef>

#include "sessions/explain_decision.h"
#include "sessions/explain_dispatch.h"
#include "sessions/trace_names.h"
#include "storage/schema.h"

namespace hybridscope {
namespace {

// Names of enums that no other unit names, in the order of each enum.
constexpr std::array kCommandOutcomes = {"done", "ignored"};
constexpr std::array kIgnoredReasons = {
    "none",          "not_running",     "has_finished",        "drafts_planned_ahead",
    "no_draft_list", "samples_nothing", "no_drafts_to_accept", "count_out_of_range",
    "blocks_in_use", "frees_deferred"};
constexpr std::array kSkipReasons = {
    "no_token_budget",    "split_to_zero",  "max_model_len",          "chunked_prefill_off",
    "allocation_refused", "max_num_seqs",   "behind_refused_request", "preemption_in_step",
    "ends_in_flight",     "frees_deferred", "frame_in_flight"};
constexpr std::array kLookupStops = {"caching_off", "limit_reached", "miss",
                                     "eagle_drop",  "alignment",     "cut_to_other_group"};
constexpr std::array kCacheEventKinds = {
    "allocated", "touched",    "freed",         "evicted",       "registered",
    "withdrawn", "column_set", "table_dropped", "free_deferred", "free_due"};
constexpr std::array kDispatchReasons = {
    "graphs_off",           "only_none_allowed", "above_largest_size", "no_graph_for_batch",
    "uniform_decode_graph", "mixed_batch_graph", "not_uniform",        "full_graph_too_small",
    "full_graph_forbidden", "piecewise_only"};
constexpr std::array kCopyRules = {"preprocess_mamba",
                                   "preprocess_mamba_align_fused_kernel",
                                   "precopy_mamba_align_fused_kernel",
                                   "postprocess_mamba_v1",
                                   "postprocess_mamba_v2",
                                   "all_mode_boundary",
                                   "normalise_to_column_zero"};
constexpr std::array kLaunches = {"before_forward", "after_sampling"};
constexpr std::array kWriteKinds = {"never",    "prefill",   "decode",
                                    "pre_copy", "post_copy", "attention"};
constexpr std::array kContentKinds = {"none", "temporal", "conv", "attention"};
constexpr std::array kArrayDtypes = {"boolean", "int32", "int64", "host_int", "host_bool"};

class Table {
 public:
  template <std::size_t N>
  void add(std::string_view of, const std::array<const char*, N>& names) {
    for (std::size_t code = 0; code < N; ++code)
      rows_.push_back({of, static_cast<std::int32_t>(code), names[code]});
  }
  // All up to and with `last`, by the function that other units name the enum with.
  template <class Enum>
  void add(std::string_view of, Enum last, std::string_view (*name)(Enum)) {
    for (std::int32_t code = 0; code <= static_cast<std::int32_t>(last); ++code)
      rows_.push_back({of, code, name(static_cast<Enum>(code))});
  }
  std::vector<EnumName> take() { return std::move(rows_); }

 private:
  std::vector<EnumName> rows_;
};

}  // namespace

std::vector<EnumName> enum_names() {
  Table table;
  table.add("command", CommandKind::set_policies, command_name);
  table.add("command_outcome", kCommandOutcomes);
  table.add("ignored_reason", kIgnoredReasons);
  table.add("admission", Admission::resumed, admission_name);
  table.add("row_class", RowClass::padding, row_class_name);
  table.add("row_origin", RowOrigin::returned, row_origin_name);
  table.add("commit_outcome", CommitOutcome::left_the_engine, commit_outcome_name);
  table.add("skip_reason", kSkipReasons);
  table.add("lookup_stop", kLookupStops);
  table.add("cache_event", kCacheEventKinds);
  table.add("runtime_mode", CUDAGraphMode::full_and_piecewise, cudagraph_mode_name);
  table.add("dispatch_reason", kDispatchReasons);
  table.add("launch", kLaunches);
  table.add("copy_rule", kCopyRules);
  table.add("copy_outcome", StateCopyOutcome::padded_row, outcome_name);
  table.add("write_kind", kWriteKinds);
  table.add("content", kContentKinds);
  table.add("array_dtype", kArrayDtypes);
  return table.take();
}

}  // namespace hybridscope
