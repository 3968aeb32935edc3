// A part of ForeignImporter: which request and which of our decisions a traced copy belongs to.
#include <algorithm>

#include "sessions/judge/foreign_importer.h"

namespace hybridscope {
namespace {

bool is_postcopy(StateCopyRule rule) {
  return rule == StateCopyRule::postprocess_mamba_v1 || rule == StateCopyRule::postprocess_mamba_v2;
}

}  // namespace

// The request that the copy is of: the one it names, unless it is told by blocks, has not that
// one's destination, and is the copy that another row had to make and lacks.
RequestId ForeignImporter::owner_of(const ForeignCopy& traced, const std::vector<ForeignCopy>& all,
                                    const CopyLaunch& launch) const {
  if (traced.group < 0) return traced.request;
  const auto& lists = requests_.at(traced.request).block_ids;
  const auto group = static_cast<std::size_t>(traced.group);
  if (group >= lists.size() || column_of(lists[group], traced.dest_block_id) >= 0)
    return traced.request;
  for (const CopyDecisionTrace& decided : launch.decisions) {
    ForeignCopy as_other = traced;
    as_other.request = decided.request;
    const bool has_copy = std::ranges::any_of(all, [&](const ForeignCopy& other) {
      return other.request == decided.request && other.group == traced.group;
    });
    if (!has_copy && carries_out(as_other, decided.decision)) return decided.request;
  }
  return traced.request;
}

// Does the copy of one group carry out the decision? Blocks that it leaves out count as the same.
bool ForeignImporter::carries_out(const ForeignCopy& traced,
                                  const StateCopyDecision& decision) const {
  const auto same = [&](std::int32_t block, std::int32_t column) {
    return block < 0 || block == block_at(traced.request, traced.group, column);
  };
  return decision.copies() && same(traced.conv_src_block_id, decision.src_col) &&
         same(traced.temporal_src_block_id, decision.src_col + decision.accept_token_bias) &&
         same(traced.dest_block_id, decision.dst_col) &&
         (traced.accept_token_bias < 0 || traced.accept_token_bias == decision.accept_token_bias);
}

// Does the copy contradict itself, and is it our rule's but for one value? Its sources are `bias`
// columns apart, so that one value of the three is wrong; a destination that differs alone is wrong
// too, where our rule leaves no choice.
bool ForeignImporter::has_one_wrong_value(const ForeignCopy& traced,
                                          const StateCopyDecision& decision) const {
  if (!decision.copies() || traced.group < 0) return false;
  const auto differs = [&](std::int32_t block, std::int32_t column) {
    return block >= 0 && block != block_at(traced.request, traced.group, column);
  };
  const int wrong_sources =
      differs(traced.conv_src_block_id, decision.src_col) +
      differs(traced.temporal_src_block_id, decision.src_col + decision.accept_token_bias) +
      (traced.accept_token_bias >= 0 && traced.accept_token_bias != decision.accept_token_bias);
  const bool tells_all = traced.conv_src_block_id >= 0 && traced.temporal_src_block_id >= 0 &&
                         traced.accept_token_bias >= 0;
  const bool wrong_destination = differs(traced.dest_block_id, decision.dst_col);
  return (tells_all && wrong_sources == 1 && !wrong_destination) ||
         (wrong_sources == 0 && wrong_destination && is_postcopy(decision.rule));
}

// With two recurrent groups or more, whose copies the trace tells by blocks: did at least one do
// what the decision says, and another one not?
bool ForeignImporter::some_group_agrees(const std::vector<ForeignCopy>& traced, std::int32_t row,
                                        const StateCopyDecision& decision) const {
  std::int32_t num_groups = 0;
  std::int32_t num_agreeing = 0;
  for (const GroupTrace& group : trace_.groups) {
    if (!group.is_mamba) continue;
    ++num_groups;
    std::int32_t num_copies = 0;
    bool agrees = false;
    for (const ForeignCopy& copy : traced) {
      if (requests_.at(copy.request).row != row) continue;
      if (copy.group < 0) return false;
      if (copy.group != group.group) continue;
      ++num_copies;
      agrees = carries_out(copy, decision);
    }
    num_agreeing += decision.copies() ? (num_copies == 1 && agrees) : (num_copies == 0);
  }
  return num_agreeing > 0 && num_agreeing < num_groups;
}

// Has a copy of the row one wrong value?
bool ForeignImporter::differs_by_one_value(const std::vector<ForeignCopy>& traced, std::int32_t row,
                                           const StateCopyDecision& decision) const {
  return std::ranges::any_of(traced, [&](const ForeignCopy& copy) {
    return requests_.at(copy.request).row == row && has_one_wrong_value(copy, decision);
  });
}

// Does a group carry out our decision, and has another copy of the row besides?
bool ForeignImporter::has_extra_copy(const std::vector<ForeignCopy>& traced, std::int32_t row,
                                     const StateCopyDecision& decision) const {
  const auto of_row = [&](const ForeignCopy& copy) {
    return requests_.at(copy.request).row == row;
  };
  return std::ranges::any_of(traced, [&](const ForeignCopy& copy) {
    return of_row(copy) && copy.group >= 0 && carries_out(copy, decision) &&
           std::ranges::count_if(traced, [&](const ForeignCopy& other) {
             return of_row(other) && other.group == copy.group;
           }) > 1;
  });
}

}  // namespace hybridscope
