// What is compared of a step: lists of elements with fields, each in a section. The fields are
// those of sessions/record/step_fields.h, so that none is forgotten.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/engine/engine_config.h"
#include "sessions/record/step_digests.h"

namespace hybridscope {

// The sections of digests, and what has none.
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
  state,   // what the step wrote to state, keys and values (level full)
  counts,  // sums over the step (level counts: otherwise the rest says it)
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
  digests,  // a section that differs where the level keeps nothing more of it
};
inline constexpr std::size_t kNumDiffLists = 22;

struct DiffListInfo {
  DiffList list;
  std::string_view name{};
  DiffSection section;           // of its fields, but for section_of
  std::string_view source{};     // function of the reference that decides it, runner V1
  std::string_view source_v2{};  // runner V2; empty: the same
  std::string_view source_for(ModelRunner runner) const {
    return runner == ModelRunner::v2 && !source_v2.empty() ? source_v2 : source;
  }
};
std::span<const DiffListInfo> diff_lists();  // in the order of the enum
const DiffListInfo& diff_list(DiffList list);

// Where a field belongs: block ids to `blocks`, places in the batch to `layout`, whatever list they
// are in; all others to their list's section. The list `digests` has a field a section.
DiffSection section_of(DiffList list, std::string_view field);

// A difference in whether an element is there at all.
inline constexpr std::string_view kPresentField = "present";

// Names of the fields of a list in the order of for_each_*_field, then kPresentField.
std::vector<std::string_view> field_names(DiffList list);

// Simulated time; also the ids by which elements refer to each other inside a record.
bool never_compared(DiffList list, std::string_view field);

}  // namespace hybridscope
