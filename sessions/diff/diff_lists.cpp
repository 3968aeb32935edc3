#include "sessions/diff/diff_lists.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/result.h"
#include "core/metadata/builder_metadata.h"
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

constexpr DiffListInfo kLists[] = {
    {DiffList::step, "step", DiffSection::schedule, kScheduler},
    {DiffList::commands, "commands", DiffSection::commands},
    {DiffList::scheduled, "scheduled", DiffSection::schedule, kScheduler},
    {DiffList::skipped, "skipped", DiffSection::schedule, kScheduler},
    {DiffList::preempted, "preempted", DiffSection::schedule, kScheduler},
    {DiffList::lookups, "lookups", DiffSection::schedule, kHit},
    {DiffList::lookup_groups, "lookup_groups", DiffSection::schedule, kHit},
    {DiffList::rows, "rows", DiffSection::rows, kRowsV1, kRowsV2},
    {DiffList::layout, "layout", DiffSection::layout,
     "vLLM v1/worker/gpu_input_batch.py condense and swap_states", "vLLM v1/worker/gpu/states.py"},
    {DiffList::graph, "graph", DiffSection::graph, "vLLM v1/cudagraph_dispatcher.py dispatch",
     "vLLM v1/worker/gpu/cudagraph_utils.py CudaGraphManager"},
    {DiffList::copies, "copies", DiffSection::copies, kCopies},
    {DiffList::state_copies, "state_copies", DiffSection::copies,
     "vLLM v1/worker/mamba_utils.py collect_mamba_copy_meta"},
    {DiffList::groups, "groups", DiffSection::metadata, kBuild},
    {DiffList::arrays, "arrays", DiffSection::metadata, kBuild},
    {DiffList::commits, "commits", DiffSection::commits,
     "vLLM v1/core/sched/scheduler.py update_from_output"},
    {DiffList::block_events, "block_events", DiffSection::blocks, "vLLM v1/core/block_pool.py"},
    {DiffList::worker_tables, "worker_tables", DiffSection::blocks, kTables},
    {DiffList::attention_writes, "attention_writes", DiffSection::state,
     "vLLM v1/worker/block_table.py compute_slot_mapping"},
    {DiffList::findings, "findings", DiffSection::findings},
    {DiffList::state_writes, "state_writes", DiffSection::state, kBuild},
    {DiffList::counts, "counts", DiffSection::counts, kScheduler},
    {DiffList::digests, "digests", DiffSection::metadata, kBuild},
};
static_assert(std::size(kLists) == kNumDiffLists);

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
    case DiffList::step: return for_each_step_field(example<StepTrace>(), collect);
    case DiffList::commands: return for_each_command_field(example<CommandTrace>(), collect);
    case DiffList::scheduled: return for_each_scheduled_field(example<ScheduledTrace>(), collect);
    case DiffList::skipped: return for_each_skipped_field(example<SkippedRequest>(), collect);
    case DiffList::preempted: return;
    case DiffList::lookups: return for_each_lookup_field(example<AdmissionLookup>(), collect);
    case DiffList::lookup_groups:
      return for_each_group_lookup_field(example<GroupLookup>(), collect);
    case DiffList::rows: return for_each_row_field(example<RowTrace>(), collect);
    case DiffList::layout:
      names.push_back("row");
      return for_each_layout_field(example<RowTrace>(), collect);
    case DiffList::graph: return for_each_graph_field(example<StepTrace>(), collect);
    case DiffList::copies: return for_each_decision_field(example<CopyDecisionTrace>(), collect);
    case DiffList::state_copies: return for_each_copy_field(example<StateCopyTrace>(), collect);
    case DiffList::groups: return for_each_group_field(example<GroupTrace>(), collect);
    case DiffList::arrays: return add_array_names(names);
    case DiffList::commits: return for_each_commit_field(example<CommitTrace>(), collect);
    case DiffList::block_events: return for_each_cache_event_field(example<CacheEvent>(), collect);
    case DiffList::worker_tables: return names.push_back("block");
    case DiffList::attention_writes:
      return for_each_attention_write_field(example<AttentionWrite>(), collect);
    case DiffList::findings: return for_each_finding_field(example<Finding>(), collect);
    case DiffList::state_writes: return for_each_write_field(example<StateWrite>(), collect);
    case DiffList::counts: return for_each_count_field(example<StepCounts>(), collect);
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

namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

// "5" or "1-10".
std::optional<std::pair<std::int64_t, std::int64_t>> step_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = whole_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : whole_number(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

std::string known_rules() {
  std::vector<std::string_view> sections;
  for (std::size_t s = 0; s < kNumDiffSections; ++s)
    sections.push_back(diff_section_name(static_cast<DiffSection>(s)));
  std::vector<std::string_view> lists;
  for (const DiffListInfo& info : diff_lists())
    if (std::ranges::find(sections, info.name) == sections.end() && info.list != DiffList::digests)
      lists.push_back(info.name);
  return fmt::format(
      "known: the sections {}; the lists {}; a field as LIST.FIELD (rows.num_draft_count); "
      "request:NAME; step:N or step:FIRST-LAST",
      fmt::join(sections, ", "), fmt::join(lists, ", "));
}

}  // namespace

IgnoreRules::IgnoreRules() : sections_(kNumDiffSections, false), partly_(kNumDiffSections, false) {
  for (const DiffListInfo& info : diff_lists()) {
    const auto names = field_names(info.list);
    auto& fields = fields_.emplace_back(names.size(), false);
    for (std::size_t f = 0; f < names.size(); ++f) fields[f] = never_compared(info.list, names[f]);
  }
}

Result<IgnoreRules> IgnoreRules::parse(std::span<const std::string> rules) {
  IgnoreRules parsed;
  for (const std::string& rule : rules)
    if (Status added = parsed.add(rule); !added.ok()) return added.error();
  return parsed;
}

Status IgnoreRules::add(std::string_view rule) {
  if (rule.starts_with("request:") && rule.size() > 8) {
    requests_.emplace_back(rule.substr(8));
    return Ok{};
  }
  if (rule.starts_with("step:")) {
    const auto range = step_range(rule.substr(5));
    if (!range)
      return invalid_input(
          fmt::format("ignore rule \"{}\" has no steps (step:5 or step:1-10)", rule));
    steps_.push_back(*range);
    return Ok{};
  }
  if (add_section_or_list(rule)) return Ok{};
  const std::size_t dot = rule.find('.');
  if (dot != std::string_view::npos) return add_field(rule.substr(0, dot), rule.substr(dot + 1));
  return invalid_input(fmt::format("there is no ignore rule \"{}\" ({})", rule, known_rules()));
}

// A name that is both a section and a list means the section.
bool IgnoreRules::add_section_or_list(std::string_view name) {
  bool found = false;
  for (std::size_t s = 0; s < kNumDiffSections; ++s)
    if (diff_section_name(static_cast<DiffSection>(s)) == name) found = sections_[s] = true;
  const bool is_section = found;
  for (const DiffListInfo& info : diff_lists()) {
    const auto names = field_names(info.list);
    for (std::size_t f = 0; f < names.size(); ++f) {
      const DiffSection section = section_of(info.list, names[f]);
      const bool ignored = is_section ? diff_section_name(section) == name : info.name == name;
      if (!ignored) continue;
      fields_[static_cast<std::size_t>(info.list)][f] = true;
      partly_[static_cast<std::size_t>(section)] = true;
      found = true;
    }
  }
  return found;
}

Status IgnoreRules::add_field(std::string_view list, std::string_view field) {
  const auto info = std::ranges::find(diff_lists(), list, &DiffListInfo::name);
  if (info == diff_lists().end())
    return invalid_input(fmt::format("ignore rule \"{}.{}\": there is no list \"{}\" ({})", list,
                                     field, list, known_rules()));
  const auto names = field_names(info->list);
  const auto found = std::ranges::find(names, field);
  if (found == names.end())
    return invalid_input(fmt::format("ignore rule \"{}.{}\": {} has no such field (known: {})",
                                     list, field, list, fmt::join(names, ", ")));
  fields_[static_cast<std::size_t>(info->list)][static_cast<std::size_t>(found - names.begin())] =
      true;
  partly_[static_cast<std::size_t>(section_of(info->list, field))] = true;
  return Ok{};
}

void IgnoreRules::leave_out_runners() {
  constexpr std::array<std::string_view, 5> kTerms = {"rule", "has_mamba_state_idx",
                                                      "num_scheduled_tokens", "num_computed_tokens",
                                                      "num_draft_tokens"};
  Status left_out = add("worker_tables");
  if (left_out.ok()) left_out = add_field("layout", "slot");
  for (const std::string_view term : kTerms)
    if (left_out.ok()) left_out = add_field("copies", term);
  HS_EXPECT(left_out.ok());
}

bool IgnoreRules::ignores_request(std::string_view name) const {
  return std::ranges::find(requests_, name) != requests_.end();
}

bool IgnoreRules::ignores_step(std::int64_t step) const {
  return std::ranges::any_of(
      steps_, [&](const auto& range) { return range.first <= step && step <= range.second; });
}

bool IgnoreRules::ignores_part_of(DiffSection section) const {
  return !requests_.empty() || partly_[static_cast<std::size_t>(section)];
}

}  // namespace hybridscope
