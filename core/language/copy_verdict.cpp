#include "core/language/copy_verdict.h"

#include <string>

namespace hybridscope {
namespace {

std::string words_of(const StateCopyDecision& decision) {
  const std::string columns = " column " + std::to_string(decision.src_col) + " to " +
                              std::to_string(decision.dst_col) + ", bias " +
                              std::to_string(decision.accept_token_bias);
  return (decision.copies() ? "copies" : "does not copy") + columns + ", outcome " +
         std::to_string(static_cast<int>(decision.outcome)) + ", count after " +
         std::to_string(decision.num_accepted_tokens_after());
}

// " (group 1: blocks 4 and 5 to 7)" for every copy of the decision.
std::string blocks_of(const CopyLaunch& launch, std::size_t decision) {
  std::string words;
  for (const StateCopyTrace& copy : launch.copies)
    if (copy.decision == static_cast<std::int32_t>(decision))
      words += " (group " + std::to_string(copy.group) + ": conv of block " +
               std::to_string(copy.conv_src_block) + ", temporal of block " +
               std::to_string(copy.temporal_src_block) + ", to block " +
               std::to_string(copy.dst_block) + ")";
  return words;
}

}  // namespace

Status compare_decisions(const CopyLaunch& launch, std::span<const StateCopyDecision> decided) {
  for (std::size_t i = 0; i < launch.decisions.size() && i < decided.size(); ++i) {
    const CopyDecisionTrace& engine = launch.decisions[i];
    if (engine.decision == decided[i]) continue;
    return Error{ErrorKind::device, "request " + std::to_string(engine.request.value) + ", row " +
                                        std::to_string(engine.row) + ": the kernel " +
                                        words_of(decided[i]) + "; the engine " +
                                        words_of(engine.decision) + blocks_of(launch, i)};
  }
  return Ok{};
}

}  // namespace hybridscope
