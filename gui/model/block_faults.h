// What findings said about the content of blocks. After a finding's step its block stays wrong as
// long as it holds what the finding saw: until it is written or allocated again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/check/finding.h"
#include "gui/model/finding_log.h"

namespace hybridscope {

// The last writes to a block, by content; kind never: nothing was written since its allocation.
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
  WriteEvent cause;  // kind never: any write up to the step
};

class BlockFaults {
 public:
  // Findings kept of each rule, the first ones.
  static constexpr std::size_t kMostARule = FindingLog::kMostARule;
  static constexpr std::size_t kMostStarts = 2 * kMostARule;

  // Call in order of steps. Findings that say nothing about a block's content are left out.
  void take(const Finding& finding);
  void forget_after(std::int64_t step);

  bool names(std::int32_t block) const { return faults_.contains(block); }
  // The rule that was broken when the request's row in that step started from a wrong state, so
  // that every state it left in the group is wrong; empty: none is known.
  std::optional<Rule> wrong_start(std::int64_t step, RequestId request, std::int32_t group) const;
  // The last fault up to `step` that still applies to a block with these writes; null: none does.
  const BlockFault* find(std::int32_t block, const BlockWrites& writes, std::int64_t step) const;

 private:
  using Start = std::tuple<std::int64_t, RequestId, std::int32_t>;  // step, request, group

  std::unordered_map<std::int32_t, std::vector<BlockFault>> faults_;  // by block; ascending steps
  std::map<Start, Rule> starts_;
  std::vector<std::size_t> taken_;  // [rule_table()]
};

}  // namespace hybridscope
