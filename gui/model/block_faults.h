// What findings said of the content of blocks. A block stays wrong behind the step of a finding for
// as long as it holds what the finding saw: until it is written anew or given out anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/check/finding.h"

namespace hybridscope {

// The last writes to a block, by content; kind never: nothing was written since it was given out.
struct BlockWrites {
  WriteEvent temporal;
  WriteEvent conv;
  WriteEvent attention;

  const WriteEvent& of(ContentKind content) const;
};

struct BlockFault {
  std::int64_t step = 0;
  Rule rule = Rule::running_state_wrong;
  ContentKind content = ContentKind::none;
  WriteEvent cause;  // kind never: whatever was written up to the step
};

class BlockFaults {
 public:
  // Of a rule that breaks in every step the first ones are kept.
  static constexpr std::size_t kMostARule = 5000;
  static constexpr std::size_t kMostStarts = 2 * kMostARule;

  // Steps come in order. Findings that say nothing of what a block holds are left out.
  void take(const Finding& finding);
  void forget_after(std::int64_t step);

  bool names(std::int32_t block) const { return faults_.contains(block); }
  // Of the rule by which the row of the request in the step started from a wrong state, so that
  // every state it left in the group is wrong; empty: none is known.
  std::optional<Rule> wrong_start(std::int64_t step, RequestId request, std::int32_t group) const;
  // Of the steps up to `step`, the last one that still holds of a block with these writes; null:
  // none does.
  const BlockFault* find(std::int32_t block, const BlockWrites& writes, std::int64_t step) const;

 private:
  using Start = std::tuple<std::int64_t, RequestId, std::int32_t>;  // step, request, group

  std::unordered_map<std::int32_t, std::vector<BlockFault>> faults_;  // by block; ascending steps
  std::map<Start, Rule> starts_;
  std::vector<std::size_t> taken_;  // [rule_table()]
};

}  // namespace hybridscope
