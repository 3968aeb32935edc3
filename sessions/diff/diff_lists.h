// The lists of a step that are compared, each in a section, and the rules that leave something out.
// Their fields are those of sessions/record/step_fields.h, so none is forgotten.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "sessions/record/step_digests.h"

namespace hybridscope {

// The sections of digests, plus those without a digest.
enum class DiffSection : std::uint8_t {
  commands,
  schedule,
  blocks,
  rows,
  layout,
  graph,
  copies,
  metadata,
  commits,
  findings,
  state,  // state, keys and values that the step wrote (level full)
  // Sums over the step (compared at level counts; at other levels the lists above cover them).
  counts,
};
inline constexpr std::size_t kNumDiffSections = 12;
std::string_view diff_section_name(DiffSection section);
constexpr DiffSection diff_section(StepSection section) {
  return static_cast<DiffSection>(section);
}

enum class DiffList : std::uint8_t {
  step,
  commands,
  scheduled,
  skipped,
  preempted,
  lookups,
  lookup_groups,
  rows,
  layout,
  graph,
  copies,
  state_copies,
  groups,
  arrays,
  commits,
  block_events,
  worker_tables,
  attention_writes,
  findings,
  state_writes,
  counts,
  digests,  // a section whose digest differs although nothing recorded at this level does
};
inline constexpr std::size_t kNumDiffLists = 22;

struct DiffListInfo {
  DiffList list;
  std::string_view name{};
  DiffSection section;           // of its fields, except where section_of says otherwise
  std::string_view source{};     // function of the reference that makes the decision, runner V1
  std::string_view source_v2{};  // runner V2; empty: the same
  std::string_view source_for(ModelRunner runner) const {
    return runner == ModelRunner::v2 && !source_v2.empty() ? source_v2 : source;
  }
};
std::span<const DiffListInfo> diff_lists();  // in the order of the enum
const DiffListInfo& diff_list(DiffList list);

// The section of a field: `blocks` for block ids and `layout` for places in the batch, in any list;
// for other fields the list's section. The list `digests` has one field per section.
DiffSection section_of(DiffList list, std::string_view field);

// The pseudo-field for an element that only one side has.
inline constexpr std::string_view kPresentField = "present";

// Names of the fields of a list in the order of for_each_*_field, then kPresentField.
std::vector<std::string_view> field_names(DiffList list);

// True for simulated time and for ids by which elements of one record refer to each other.
bool never_compared(DiffList list, std::string_view field);

// What a comparison leaves out, given as rules by the user.

class IgnoreRules {
 public:
  IgnoreRules();

  // Rules: "blocks" (a section), "block_events" (a list), "rows.num_draft_count" (a field),
  // "request:B", "step:5", "step:1-10". Error: an unknown rule; the message lists the known ones.
  static Result<IgnoreRules> parse(std::span<const std::string> rules);

  // Leaves out what only one model runner has: V2's slots, the entries of V2's rows past the
  // request's blocks, and the terms of copy decisions that only one runner's rule reads. The copies
  // themselves and the scheduler's tables are compared.
  void leave_out_runners();

  bool ignores_field(DiffList list, std::size_t field) const {
    const auto& fields = fields_[static_cast<std::size_t>(list)];
    return field < fields.size() && fields[field];
  }
  bool ignores_section(DiffSection section) const {  // all of its fields
    return sections_[static_cast<std::size_t>(section)];
  }
  bool ignores_request(std::string_view name) const;
  bool ignores_step(std::int64_t step) const;
  // Some of the section's fields or some requests are ignored, so its digest is not enough.
  bool ignores_part_of(DiffSection section) const;

 private:
  Status add(std::string_view rule);
  bool add_section_or_list(std::string_view name);
  Status add_field(std::string_view list, std::string_view field);

  std::vector<bool> sections_;             // [kNumDiffSections]
  std::vector<bool> partly_;               // [kNumDiffSections]
  std::vector<std::vector<bool>> fields_;  // [kNumDiffLists][field_names]
  std::vector<std::string> requests_;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps_;  // [first, last]
};

}  // namespace hybridscope
