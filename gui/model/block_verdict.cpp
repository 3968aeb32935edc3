#include "gui/model/block_verdict.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>

#include "sessions/explain/explain_parts.h"
#include "sessions/explain/forward_rows.h"

namespace hybridscope {
namespace {

const HeldContent& content_of(const BlockFacts& facts, ContentKind content) {
  if (content == ContentKind::conv) return facts.conv;
  return content == ContentKind::attention ? facts.attention : facts.temporal;
}

std::span<const ContentKind> contents_of(const KVCacheConfig& config, bool is_mamba) {
  static constexpr std::array kMamba{ContentKind::temporal, ContentKind::conv};
  static constexpr std::array kAttention{ContentKind::attention};
  if (!is_mamba) return kAttention;
  const std::span<const ContentKind> both(kMamba);
  if (!keeps(config, StateKind::conv)) return both.first(1);
  return keeps(config, StateKind::temporal) ? both : both.last(1);
}

}  // namespace

std::string verdict_words(const BlockVerdict& verdict) {
  const std::string state(state_name(verdict.state));
  switch (verdict.reason) {
    case VerdictReason::none:
      break;
    case VerdictReason::named_now:
    case VerdictReason::named_before:
      return fmt::format("{}: {} in step {}", state, rule_info(verdict.rule).slug, verdict.step);
    case VerdictReason::padding_row:
      return state + ": a padding row wrote it";
    case VerdictReason::wrong_start:
      return fmt::format("{}: its row started from a wrong state in step {} ({})", state,
                         verdict.step, rule_info(verdict.rule).slug);
    case VerdictReason::label_differs:
      return state + ": it is not what the block is registered as";
    case VerdictReason::label_agrees:
      return state + ": it is what the block is registered as";
    case VerdictReason::read_right:
      return state + ": this step's forward pass read it and found it right";
  }
  return state;
}

BlockVerdicts::BlockVerdicts(const ShownRun& run) : run_(run), view_(run.view()) {
  for (const Finding& finding : view_.findings) named_.emplace(finding.block, &finding);
  for (const GroupTrace& group : view_.trace.groups)
    if (group.is_mamba) add_reads(group);
}

// The checker checks a row's initial state before it executes the row. Rows that it could not
// execute are not checked.
void BlockVerdicts::add_reads(const GroupTrace& group) {
  std::set<RequestId> carried_out;
  for (const StateWrite& write : view_.writes)
    if (write.group == group.group &&
        (write.event.kind == WriteKind::prefill || write.event.kind == WriteKind::decode))
      carried_out.insert(write.event.request);
  // What a stale replay read is not known.
  if (carried_out.empty() || replays_stale(view_.trace, group)) return;
  for (const ForwardPlaces& row : forward_rows(view_.trace, group, view_.config.mamba_cache_mode)) {
    const RequestId request = view_.trace.rows[static_cast<std::size_t>(row.row)].request;
    if (!row.has_initial_state || !row.source_in_range || !carried_out.contains(request)) continue;
    read_.emplace(row.temporal_source.block, ContentKind::temporal);
    read_.emplace(row.conv_source.block, ContentKind::conv);
  }
}

bool BlockVerdicts::is_mamba(const BlockFacts& facts, std::int32_t group) const {
  const auto& groups = view_.config.kv_cache_config.groups;
  const std::int32_t known = group >= 0 ? group : facts.registered ? facts.label_group : -1;
  if (known >= 0 && static_cast<std::size_t>(known) < groups.size())
    return groups[static_cast<std::size_t>(known)].is_mamba();
  return facts.attention.event.kind == WriteKind::never;
}

// Does the label belong to this kind of content?
bool BlockVerdicts::is_labelled(const BlockFacts& facts, bool is_mamba) const {
  const auto& groups = view_.config.kv_cache_config.groups;
  const auto group = static_cast<std::size_t>(facts.label_group);
  return facts.registered && group < groups.size() && groups[group].is_mamba() == is_mamba;
}

// Are there keys and values in the block behind the prefix that it is registered as?
bool BlockVerdicts::is_written_on(const BlockFacts& facts) const {
  if (!is_labelled(facts, false)) return false;
  const KVCacheGroup& group =
      view_.config.kv_cache_config.groups[static_cast<std::size_t>(facts.label_group)];
  return facts.label_num_tokens % group.block_size() != 0 &&
         facts.attention.event.num_tokens > facts.label_num_tokens;
}

bool BlockVerdicts::agrees(const BlockFacts& facts) const {
  if (is_written_on(facts)) return true;
  const auto contents = contents_of(view_.config.kv_cache_config, is_labelled(facts, true));
  return std::ranges::all_of(contents, [&](ContentKind content) {
    const HeldContent& held = content_of(facts, content);
    return held.event.kind != WriteKind::never && held.fingerprint == facts.block_hash;
  });
}

bool BlockVerdicts::is_named(std::int32_t block) const {
  return named_.contains(block) || run_.block_faults().names(block);
}

// And not written afterwards: the pre-copies come before the forward pass.
bool BlockVerdicts::was_read(std::int32_t block, const HeldContent& held,
                             ContentKind content) const {
  const bool before_forward = held.event.step < view_.trace.step ||
                              held.event.kind == WriteKind::pre_copy ||
                              held.event.kind == WriteKind::block_copy;
  return before_forward && read_.contains({block, content});
}

// The verdict from the writes themselves; state unknown: none.
BlockVerdict BlockVerdicts::by_writes(std::int32_t block, const BlockFacts& facts,
                                      std::int32_t group) const {
  const BlockFaults& faults = run_.block_faults();
  const BlockWrites writes{facts.temporal.event, facts.conv.event, facts.attention.event};
  if (const BlockFault* fault = faults.find(block, writes, view_.trace.step))
    return {CellState::wrong, VerdictReason::named_before, fault->step, fault->rule};
  const WriteEvent& state = facts.temporal.event;
  const bool by_row = state.kind != WriteKind::never && state.kind != WriteKind::pre_copy &&
                      state.kind != WriteKind::block_copy;
  if (by_row && group >= 0)
    if (const auto rule = faults.wrong_start(state.step, state.request, group))
      return {CellState::wrong, VerdictReason::wrong_start, state.step, *rule};
  return {};
}

BlockVerdict BlockVerdicts::of(std::int32_t block, const BlockFacts& facts,
                               std::int32_t group) const {
  if (const auto named = named_.find(block); named != named_.end())
    return {CellState::wrong, VerdictReason::named_now, named->second->step, named->second->rule};
  if (!facts.writes_known || !facts.label_known) return {};
  const bool mamba = is_mamba(facts, group);
  if (const BlockVerdict found = by_writes(block, facts, mamba ? group : -1);
      found.state == CellState::wrong)
    return found;
  const bool labelled = is_labelled(facts, mamba) && !is_written_on(facts);
  bool all_read = true;
  bool any_written = false;
  for (const ContentKind content : contents_of(view_.config.kv_cache_config, mamba)) {
    const HeldContent& held = content_of(facts, content);
    const bool written = held.event.kind != WriteKind::never;
    if (written && held.event.request.value < 0)
      return {.state = CellState::wrong, .reason = VerdictReason::padding_row};
    all_read = all_read && (!written || was_read(block, held, content));
    any_written = any_written || written;
  }
  if (labelled && !agrees(facts))
    return {.state = CellState::wrong, .reason = VerdictReason::label_differs};
  if (!any_written) return {.state = CellState::unwritten};
  if (labelled) return {.state = CellState::verified, .reason = VerdictReason::label_agrees};
  if (all_read) return {.state = CellState::verified, .reason = VerdictReason::read_right};
  return {.state = CellState::written};
}

std::string stale_words(const GroupTrace& group, std::int64_t step) {
  return replay_words(group, step) +
         "; it finds what is left in its buffers, not the values of this step. What blocks hold is "
         "shown as if it had read the values of this step, which is an assumption";
}

const NamedArray* left_in_buffers(const NamedStepArrays& before, const GroupTrace& group,
                                  std::string_view name) {
  if (before.step == 0 || before.step != group.persistent_buffers_step) return nullptr;
  const NamedArrayGroup* of_group = before.find(group.group);
  const NamedArray* array = of_group == nullptr ? nullptr : of_group->find(name);
  return array != nullptr && array->present ? array : nullptr;
}

}  // namespace hybridscope
