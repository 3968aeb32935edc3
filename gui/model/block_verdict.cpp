#include "gui/model/block_verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

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
    case VerdictReason::none: break;
    case VerdictReason::named_now:
    case VerdictReason::named_before:
      return fmt::format("{}: {} in step {}", state, rule_info(verdict.rule).slug, verdict.step);
    case VerdictReason::padding_row: return state + ": a padding row wrote it";
    case VerdictReason::wrong_start:
      return fmt::format("{}: its row started from a wrong state in step {} ({})", state,
                         verdict.step, rule_info(verdict.rule).slug);
    case VerdictReason::label_differs: return state + ": it is not what the block is registered as";
    case VerdictReason::label_agrees: return state + ": it is what the block is registered as";
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

namespace {

// The token of the row, near its first one, whose prefix has the fingerprint; -1: none.
std::int32_t token_of(const RowTruth& truth, std::int32_t row, std::int32_t conv_kernel,
                      Fingerprint prefix) {
  const std::int32_t computed = truth.num_computed_tokens(row);
  for (std::int32_t token = std::max(computed - conv_kernel + 2, 1);
       token <= computed + truth.num_query_tokens(row); ++token)
    if (truth.at(row, token) == prefix) return token;
  return -1;
}

}  // namespace

MeantStates::MeantStates(const ShownRun& run)
    : run_(run), view_(run.view()), has_tokens_(!view_.trace.tokens.empty()) {
  if (has_tokens_) truth_.fold(view_.trace, view_.config.conv_kernel);
}

const StateWrite* MeantStates::write_of(const CopyMeant& meant, ContentKind content) const {
  for (const StateWrite& write : view_.writes)
    if (write.event.kind == meant.kind && write.content == content && write.group == meant.group &&
        write.block == meant.dst_block)
      return &write;
  return nullptr;
}

// Is the write's result the subject of a finding up to this step?
bool MeantStates::is_blamed(std::int32_t block, ContentKind content,
                            const WriteEvent& event) const {
  BlockWrites writes;
  (content == ContentKind::conv ? writes.conv : writes.temporal) = event;
  return run_.block_faults().find(block, writes, view_.trace.step) != nullptr;
}

const Finding* MeantStates::wrong_start(const RowPlace& row) const {
  for (const Finding& finding : view_.findings)
    if (finding.row == row.row && finding.group == row.group &&
        finding.content == ContentKind::temporal &&
        (finding.rule == Rule::running_state_wrong ||
         finding.rule == Rule::read_of_unwritten_block))
      return &finding;
  return nullptr;
}

StateTruth MeantStates::of_block(const RowPlace& row, std::int32_t block, const HeldContent& held,
                                 std::int32_t num_tokens) const {
  if (has_tokens_)
    return held.event.kind != WriteKind::never && held.fingerprint == truth_.at(row.row, num_tokens)
               ? StateTruth::right
               : StateTruth::wrong;
  const bool is_wrong = held.event.num_tokens != num_tokens ||
                        is_blamed(block, ContentKind::temporal, held.event) ||
                        (held.event.step == view_.trace.step && wrong_start(row) != nullptr);
  return is_wrong ? StateTruth::wrong : StateTruth::not_known;
}

CopiedState MeantStates::of_copy(const CopyMeant& meant) const {
  CopiedState copied;
  const StateWrite* temporal = write_of(meant, ContentKind::temporal);
  const StateWrite* conv = write_of(meant, ContentKind::conv);
  if (temporal == nullptr || conv == nullptr) return copied;
  copied.num_tokens = temporal->event.num_tokens;
  bool right = copied.num_tokens == meant.num_tokens &&
               !is_blamed(temporal->block, ContentKind::temporal, temporal->event);
  std::optional<Fingerprint> expected;  // of the prefix of n tokens
  if (has_tokens_ && meant.row >= 0) {
    expected = truth_.at(meant.row, meant.num_tokens);
    right = temporal->fingerprint == *expected;
    copied.last_conv_token =
        token_of(truth_, meant.row, view_.config.conv_kernel, conv->fingerprint);
  } else if (right) {
    expected = temporal->fingerprint;
  }
  copied.temporal = right ? StateTruth::right : StateTruth::wrong;
  if (is_blamed(conv->block, ContentKind::conv, conv->event) ||
      (expected && conv->fingerprint != *expected))
    copied.conv = StateTruth::wrong;
  else if (expected)
    copied.conv = StateTruth::right;
  return copied;
}

std::vector<std::string> copy_faults(const CopiedState& copied, const CopyTerms& terms) {
  const std::int32_t num_tokens = terms.num_tokens;
  const bool temporal = terms.has_temporal && copied.temporal == StateTruth::wrong;
  const bool conv = terms.has_conv && copied.conv == StateTruth::wrong;
  if (num_tokens == 0 && (temporal || conv))
    return {
        "Nothing of the request is computed, so it has to start from zeros, but the copy puts "
        "what another block holds into its block."};
  std::vector<std::string> faults;
  if (temporal)
    faults.push_back(fmt::format("Meant to be S({}), but it holds {}.", num_tokens,
                                 copied.num_tokens == num_tokens
                                     ? fmt::format("the state after {} other tokens", num_tokens)
                                     : fmt::format("S({})", copied.num_tokens)));
  if (conv)
    faults.push_back(fmt::format(
        "The conv window is meant to end with token {}, but {}.", num_tokens,
        copied.last_conv_token == num_tokens ? "does not hold the tokens before it"
        : copied.last_conv_token > 0 ? fmt::format("ends with token {}", copied.last_conv_token)
                                     : "holds other tokens"));
  return faults;
}

}  // namespace hybridscope
