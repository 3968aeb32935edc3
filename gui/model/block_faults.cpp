#include "gui/model/block_faults.h"

#include <algorithm>

#include "core/base/ids.h"

namespace hybridscope {
namespace {

// Rules after which the block's content is unknown, whichever row wrote it.
bool spoils(Rule rule) {
  return rule == Rule::foreign_write || rule == Rule::copy_out_of_range ||
         rule == Rule::conflicting_copies;
}

std::int32_t last_step(const BlockWrites& writes) {
  std::int32_t last = 0;
  for (const WriteEvent* event : {&writes.temporal, &writes.conv, &writes.attention})
    if (event->kind != WriteKind::never) last = std::max(last, event->step);
  return last;
}

bool holds(const BlockFault& fault, const BlockWrites& writes) {
  if (fault.cause.kind != WriteKind::never) return writes.of(fault.content) == fault.cause;
  const std::int32_t last = last_step(writes);
  return last > 0 && last <= fault.step;
}

}  // namespace

const WriteEvent& BlockWrites::of(ContentKind content) const {
  if (content == ContentKind::conv) return conv;
  return content == ContentKind::attention ? attention : temporal;
}

void BlockFaults::take(const Finding& finding) {
  const bool is_start =
      finding.content == ContentKind::temporal && finding.row >= 0 &&
      (finding.rule == Rule::running_state_wrong || finding.rule == Rule::read_of_unwritten_block);
  if (is_start && starts_.size() < kMostStarts)
    starts_.emplace(Start{finding.step, finding.request, finding.group}, finding.rule);
  const bool says = finding.cause.kind != WriteKind::never || spoils(finding.rule);
  if (!says || finding.block <= kNullBlock) return;
  taken_.resize(rule_table().size());
  if (++taken_[static_cast<std::size_t>(finding.rule)] > kMostARule) return;
  faults_[finding.block].push_back({.step = finding.step,
                                    .rule = finding.rule,
                                    .content = finding.content,
                                    .cause = finding.cause});
}

void BlockFaults::forget_after(std::int64_t step) {
  std::erase_if(starts_, [&](const auto& start) { return std::get<0>(start.first) > step; });
  std::ranges::fill(taken_, 0);
  for (auto at = faults_.begin(); at != faults_.end();) {
    std::erase_if(at->second, [&](const BlockFault& fault) { return fault.step > step; });
    for (const BlockFault& fault : at->second) ++taken_[static_cast<std::size_t>(fault.rule)];
    at = at->second.empty() ? faults_.erase(at) : std::next(at);
  }
}

std::optional<Rule> BlockFaults::wrong_start(std::int64_t step, RequestId request,
                                             std::int32_t group) const {
  const auto found = starts_.find({step, request, group});
  return found == starts_.end() ? std::nullopt : std::optional(found->second);
}

const BlockFault* BlockFaults::find(std::int32_t block, const BlockWrites& writes,
                                    std::int64_t step) const {
  const auto found = faults_.find(block);
  if (found == faults_.end()) return nullptr;
  for (auto fault = found->second.rbegin(); fault != found->second.rend(); ++fault)
    if (fault->step <= step && holds(*fault, writes)) return &*fault;
  return nullptr;
}

}  // namespace hybridscope
