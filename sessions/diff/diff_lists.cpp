#include "sessions/diff/diff_lists.h"

#include "core/base/check.h"
#include "core/metadata/builder_metadata.h"
#include "sessions/record/metadata_arrays.h"
#include "sessions/record/step_fields.h"
#include "sessions/record/step_record.h"

namespace hybridscope {
namespace {

constexpr std::string_view kScheduler = "vLLM v1/core/sched/scheduler.py schedule";
constexpr std::string_view kHit = "vLLM v1/core/kv_cache_coordinator.py find_longest_cache_hit";
constexpr std::string_view kRowsV1 = "vLLM v1/worker/gpu_model_runner.py _prepare_inputs";
constexpr std::string_view kRowsV2 = "vLLM v1/worker/gpu/model_runner.py prepare_inputs";
constexpr std::string_view kBuild =
    "vLLM v1/attention/backends/mamba_attn.py and gdn_attn.py build";
constexpr std::string_view kCopies = "vLLM v1/worker/mamba_utils.py";
constexpr std::string_view kTables = "vLLM v1/worker/block_table.py";

constexpr std::array kLists = {
    DiffListInfo{DiffList::step, "step", DiffSection::schedule, kScheduler},
    DiffListInfo{DiffList::commands, "commands", DiffSection::commands},
    DiffListInfo{DiffList::scheduled, "scheduled", DiffSection::schedule, kScheduler},
    DiffListInfo{DiffList::skipped, "skipped", DiffSection::schedule, kScheduler},
    DiffListInfo{DiffList::preempted, "preempted", DiffSection::schedule, kScheduler},
    DiffListInfo{DiffList::lookups, "lookups", DiffSection::schedule, kHit},
    DiffListInfo{DiffList::lookup_groups, "lookup_groups", DiffSection::schedule, kHit},
    DiffListInfo{DiffList::rows, "rows", DiffSection::rows, kRowsV1, kRowsV2},
    DiffListInfo{DiffList::layout, "layout", DiffSection::layout,
                 "vLLM v1/worker/gpu_input_batch.py condense and swap_states",
                 "vLLM v1/worker/gpu/states.py"},
    DiffListInfo{DiffList::graph, "graph", DiffSection::graph,
                 "vLLM v1/cudagraph_dispatcher.py dispatch",
                 "vLLM v1/worker/gpu/cudagraph_utils.py CudaGraphManager"},
    DiffListInfo{DiffList::copies, "copies", DiffSection::copies, kCopies},
    DiffListInfo{DiffList::state_copies, "state_copies", DiffSection::copies,
                 "vLLM v1/worker/mamba_utils.py collect_mamba_copy_meta"},
    DiffListInfo{DiffList::groups, "groups", DiffSection::metadata, kBuild},
    DiffListInfo{DiffList::arrays, "arrays", DiffSection::metadata, kBuild},
    DiffListInfo{DiffList::commits, "commits", DiffSection::commits,
                 "vLLM v1/core/sched/scheduler.py update_from_output"},
    DiffListInfo{DiffList::block_events, "block_events", DiffSection::blocks,
                 "vLLM v1/core/block_pool.py"},
    DiffListInfo{DiffList::worker_tables, "worker_tables", DiffSection::blocks, kTables},
    DiffListInfo{DiffList::attention_writes, "attention_writes", DiffSection::state,
                 "vLLM v1/worker/block_table.py compute_slot_mapping"},
    DiffListInfo{DiffList::findings, "findings", DiffSection::findings},
    DiffListInfo{DiffList::state_writes, "state_writes", DiffSection::state, kBuild},
    DiffListInfo{DiffList::counts, "counts", DiffSection::counts, kScheduler},
    DiffListInfo{DiffList::digests, "digests", DiffSection::metadata, kBuild},
};
static_assert(kLists.size() == kNumDiffLists);

template <class T>
const T& example() {
  static const T value{};
  return value;
}

struct Collector {
  std::vector<std::string_view>& names;
  template <class T>
  void operator()(std::string_view name, const T&) {
    names.push_back(name);
  }
};

// The names of all arrays that any builder returns.
void add_array_names(std::vector<std::string_view>& names) {
  StepTrace trace;
  for (const BuilderMetadata& metadata : every_kind_of_metadata())
    trace.groups.emplace_back().metadata = metadata;
  const auto add = [&](std::string_view name) {
    for (const std::string_view known : names)
      if (known == name) return;
    names.push_back(name);
  };
  std::vector<ArrayRecord> arrays;
  append_arrays(trace, arrays);
  for (const ArrayRecord& array : arrays) add(array.name);
  // Fields that the samples above lack: those of convolution metadata that is not None, and the
  // source columns of mode all with drafts.
  for (const std::string_view name :
       {"nums_dict.8.nums", "nums_dict.8.tot", "batch_ptr", "token_chunk_offset_ptr",
        "temporal_source_column", "conv_source_column"})
    add(name);
}

void add_field_names(DiffList list, std::vector<std::string_view>& names) {
  Collector collect{names};
  switch (list) {
    case DiffList::step:
      return for_each_step_field(example<StepTrace>(), collect);
    case DiffList::commands:
      return for_each_command_field(example<CommandTrace>(), collect);
    case DiffList::scheduled:
      return for_each_scheduled_field(example<ScheduledTrace>(), collect);
    case DiffList::skipped:
      return for_each_skipped_field(example<SkippedRequest>(), collect);
    case DiffList::preempted:
      return;
    case DiffList::lookups:
      return for_each_lookup_field(example<AdmissionLookup>(), collect);
    case DiffList::lookup_groups:
      return for_each_group_lookup_field(example<GroupLookup>(), collect);
    case DiffList::rows:
      return for_each_row_field(example<RowTrace>(), collect);
    case DiffList::layout:
      names.push_back("row");
      return for_each_layout_field(example<RowTrace>(), collect);
    case DiffList::graph:
      return for_each_graph_field(example<StepTrace>(), collect);
    case DiffList::copies:
      return for_each_decision_field(example<CopyDecisionTrace>(), collect);
    case DiffList::state_copies:
      return for_each_copy_field(example<StateCopyTrace>(), collect);
    case DiffList::groups:
      return for_each_group_field(example<GroupTrace>(), collect);
    case DiffList::arrays:
      return add_array_names(names);
    case DiffList::commits:
      return for_each_commit_field(example<CommitTrace>(), collect);
    case DiffList::block_events:
      return for_each_cache_event_field(example<CacheEvent>(), collect);
    case DiffList::worker_tables:
      return names.push_back("block");
    case DiffList::attention_writes:
      return for_each_attention_write_field(example<AttentionWrite>(), collect);
    case DiffList::findings:
      return for_each_finding_field(example<Finding>(), collect);
    case DiffList::state_writes:
      return for_each_write_field(example<StateWrite>(), collect);
    case DiffList::counts:
      return for_each_count_field(example<StepCounts>(), collect);
    case DiffList::digests:
      for (std::size_t s = 0; s < kNumStepSections; ++s)
        names.push_back(step_section_name(static_cast<StepSection>(s)));
      return;
  }
}

bool is_block_id(DiffList list, std::string_view field) {
  if (list == DiffList::state_copies) return field.ends_with("_block");
  return field == "block" && (list == DiffList::findings || list == DiffList::attention_writes ||
                              list == DiffList::state_writes);
}

bool is_place(DiffList list, std::string_view field) {
  if (field == "row") return list == DiffList::findings || list == DiffList::attention_writes;
  return (list == DiffList::state_writes && field == "ordinal") ||
         (list == DiffList::findings && field == "cause_ordinal");
}

}  // namespace

std::string_view diff_section_name(DiffSection section) {
  if (section == DiffSection::state) return "state";
  if (section == DiffSection::counts) return "counts";
  return step_section_name(static_cast<StepSection>(section));
}

std::span<const DiffListInfo> diff_lists() { return kLists; }

const DiffListInfo& diff_list(DiffList list) {
  const DiffListInfo& info = kLists[static_cast<std::size_t>(list)];
  HS_EXPECT(info.list == list);
  return info;
}

DiffSection section_of(DiffList list, std::string_view field) {
  if (is_block_id(list, field)) return DiffSection::blocks;
  if (is_place(list, field)) return DiffSection::layout;
  if (list == DiffList::digests)
    for (std::size_t s = 0; s < kNumStepSections; ++s)
      if (step_section_name(static_cast<StepSection>(s)) == field)
        return static_cast<DiffSection>(s);
  return diff_list(list).section;
}

std::vector<std::string_view> field_names(DiffList list) {
  std::vector<std::string_view> names;
  add_field_names(list, names);
  names.push_back(kPresentField);
  return names;
}

bool never_compared(DiffList list, std::string_view field) {
  if (list == DiffList::step) return field == "time_us" || field == "duration_us";
  return list == DiffList::state_copies && field == "decision";
}

}  // namespace hybridscope
