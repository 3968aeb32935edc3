#include "sessions/explain/block_copies.h"

#include <fmt/core.h>

#include "core/trace/step_trace.h"

namespace hybridscope {
namespace {

// The column that the step puts the block into; -1: none.
std::int32_t column_of(const StepTrace& trace, const BlockCopy& copy) {
  for (const CacheEvent& event : trace.cache_events)
    if (event.kind == CacheEventKind::column_set && event.request == copy.request &&
        event.group == copy.group && event.block == copy.block)
      return event.column;
  return -1;
}

}  // namespace

std::vector<ExplainedBlockCopy> explained_block_copies(const StepTrace& trace,
                                                       const KVCacheConfig& config) {
  std::vector<ExplainedBlockCopy> copies;
  for (const BlockCopy& copy : block_copies_of(trace.cache_events)) {
    if (copy.group < 0 || static_cast<std::size_t>(copy.group) >= config.groups.size()) continue;
    copies.push_back({.copy = copy,
                      .column = column_of(trace, copy),
                      .num_tokens = copied_tokens(trace, copy),
                      .is_mamba = config.groups[static_cast<std::size_t>(copy.group)].is_mamba()});
  }
  return copies;
}

std::string block_copy_words(const ExplainedBlockCopy& explained, const Names& names) {
  const BlockCopy& copy = explained.copy;
  const std::string blocks = fmt::format("block {} -> {}: ", copy.source_block, copy.block);
  const std::string who =
      copy.request.value >= 0 ? names.request(copy.request) : std::string("the request");
  const std::int32_t tokens = explained.num_tokens;
  if (explained.column >= 0)
    return blocks + fmt::format("the hit{} ends inside block {}, so {} writes on in a copy",
                                tokens > 0 ? fmt::format(" of {} tokens", tokens) : "",
                                copy.source_block, who);
  const std::string content = tokens == 0          ? std::string("what was registered")
                              : explained.is_mamba ? fmt::format("S({})", tokens)
                                                   : fmt::format("the prefix of {} tokens", tokens);
  return blocks + fmt::format("{} writes on in block {}, and the prefix cache keeps {} in the copy",
                              who, copy.source_block, content);
}

}  // namespace hybridscope
