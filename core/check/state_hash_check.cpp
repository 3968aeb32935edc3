#include "core/check/state_hash_check.h"

#include <algorithm>

namespace hybridscope {
namespace {

std::size_t kind_index(StateKind kind) { return static_cast<std::size_t>(kind); }

// Batches of a step: block copies and pre-copies, the forward pass, post-copies.
struct StepParts {
  std::size_t forward = 0;  // first batch of the forward pass
  std::size_t after = 0;    // first one behind it
};

StepParts parts_of(const StateOps& ops) {
  const auto is_forward = [](const StateOpBatch& batch) {
    return batch.kind == StateOpKind::forward;
  };
  const auto first = std::ranges::find_if(ops.batches, is_forward);
  const auto last = std::find_if(ops.batches.rbegin(), ops.batches.rend(), is_forward);
  return {.forward = static_cast<std::size_t>(first - ops.batches.begin()),
          .after = static_cast<std::size_t>(last.base() - ops.batches.begin())};
}

bool is_same_window(const ToldGroup& told, std::size_t i) {
  const auto length = static_cast<std::size_t>(told.num_positions);
  return std::ranges::equal(std::span(told.before_forward.conv).subspan(i * length, length),
                            std::span(told.after_forward.conv).subspan(i * length, length));
}

// The block's temporal state, or its window where the group has no other state.
bool is_same_state(const ToldGroup& told, std::size_t i) {
  const ToldHashes& before = told.before_forward;
  const ToldHashes& after = told.after_forward;
  return after.temporal.empty() ? is_same_window(told, i) : before.temporal[i] == after.temporal[i];
}

StateKind other(StateKind kind) {
  return kind == StateKind::conv ? StateKind::temporal : StateKind::conv;
}

const WriteEvent& event_of(const SymbolicState& state, StateKind kind, std::int32_t number) {
  return kind == StateKind::conv ? state.conv_event(number) : state.temporal(number).event;
}

}  // namespace

StateHashCheck::StateHashCheck(const CheckConfig& config)
    : conv_state_len_(config.conv_state_len()),
      blocks_(static_cast<std::size_t>(config.kv_cache_config.num_blocks)),
      conv_(blocks_.size() * static_cast<std::size_t>(conv_state_len_), kUnknownHash) {
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    group_indices_.push_back(group.is_mamba() ? static_cast<std::int32_t>(num_positions_.size())
                                              : -1);
    if (group.is_mamba()) num_positions_.push_back(0);
  }
}

std::span<const Finding> StateHashCheck::follow(const StepChecker& checker, const StepTrace& trace,
                                                std::span<const ToldGroup> told) {
  findings_.clear();
  checker_ = &checker;
  step_ = trace.step;
  for (const std::int32_t number : trace.zeroed_blocks)
    if (is_block(number)) give_out(number);
  const StateOps& ops = checker.ops();
  // Without a forward pass nothing tells pre-copies from post-copies, and nothing is told.
  const StepParts parts = parts_of(ops);
  const std::size_t forward = told.empty() ? 0 : parts.forward;
  const std::size_t after = std::max(forward, parts.after);
  take_positions(told);
  apply(ops, 0, forward);
  compare(told, Moment::before_forward);
  apply(ops, forward, after);
  note_later_copies(ops, after);
  for (const ToldGroup& group : told) find_missing_writes(group);
  compare(told, Moment::after_forward);
  apply(ops, after, ops.batches.size());
  end_step();
  return findings_;
}

std::span<std::uint64_t> StateHashCheck::conv(std::int32_t number) {
  const auto length = static_cast<std::size_t>(conv_state_len_);
  return std::span(conv_).subspan(static_cast<std::size_t>(number) * length, length);
}

bool StateHashCheck::is_block(std::int32_t number) const {
  return number > kNullBlock && static_cast<std::size_t>(number) < blocks_.size();
}

// A group's layers write the block.
StateHashCheck::Block& StateHashCheck::touch(std::int32_t number, std::int32_t group_index) {
  Block& written = block(number);
  if (written.group_index != group_index) forget(number);
  written.group_index = group_index;
  touched_.push_back(number);
  return written;
}

void StateHashCheck::forget(std::int32_t number) {
  Block& known = block(number);
  known.temporal = kUnknownHash;
  for (Content& content : known.contents) content.copied_from = kNotCopied;
  std::ranges::fill(conv(number), kUnknownHash);
}

void StateHashCheck::give_out(std::int32_t number) {
  forget(number);
  block(number).group_index = -1;
}

// A window that was told as a whole says nothing about its positions.
void StateHashCheck::take_positions(std::span<const ToldGroup> told) {
  for (const ToldGroup& group : told) {
    const std::int32_t index = group_indices_[static_cast<std::size_t>(group.group)];
    std::int32_t& known = num_positions_[static_cast<std::size_t>(index)];
    if (group.num_positions == 0 || known == group.num_positions) continue;
    known = group.num_positions;
    for (std::int32_t number = 1; is_block(number); ++number)
      if (block(number).group_index == index) std::ranges::fill(conv(number), kUnknownHash);
  }
}

void StateHashCheck::apply(const StateOps& ops, std::size_t first_batch, std::size_t end_batch) {
  ops.visit_batches(
      first_batch, end_batch,
      [&](std::span<const std::int32_t> blocks) {
        for (const std::int32_t block : blocks) give_out(block);
      },
      [&](std::span<const StateCopyOp> copies) { apply_copies(copies); },
      [&](std::span<const ForwardRow> rows) {
        for (const ForwardRow& row : rows) apply_row(ops, row);
      });
}

// Reads all sources first.
void StateHashCheck::apply_copies(std::span<const StateCopyOp> copies) {
  const auto length = static_cast<std::size_t>(conv_state_len_);
  std::vector<std::uint64_t> temporal;
  std::vector<std::uint64_t> windows(copies.size() * length, kUnknownHash);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const StateCopyOp& copy = copies[i];
    temporal.push_back(is_block(copy.temporal_src_block) ? block(copy.temporal_src_block).temporal
                                                         : kUnknownHash);
    if (is_block(copy.conv_src_block))
      std::ranges::copy(conv(copy.conv_src_block),
                        windows.begin() + static_cast<std::ptrdiff_t>(i * length));
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (!is_block(copies[i].dst_block)) continue;
    Block& written = touch(copies[i].dst_block, copies[i].group_index);
    written.temporal = temporal[i];
    written.contents[kind_index(StateKind::temporal)].copied_from = copies[i].temporal_src_block;
    copy_conv(copies[i], std::span(windows).subspan(i * length, length));
  }
}

// The last positions of a shifted window keep what they held.
void StateHashCheck::copy_conv(const StateCopyOp& copy, std::span<const std::uint64_t> source) {
  const std::span<std::uint64_t> window = conv(copy.dst_block);
  const auto bias = static_cast<std::size_t>(std::max(copy.accept_token_bias, 0));
  const bool by_position =
      num_positions_[static_cast<std::size_t>(copy.group_index)] == conv_state_len_;
  if (bias > 0 && !by_position) {
    std::ranges::fill(window, kUnknownHash);
  } else if (bias < source.size()) {
    std::ranges::copy(source.subspan(bias), window.begin());
  }
  block(copy.dst_block).contents[kind_index(StateKind::conv)].copied_from = copy.conv_src_block;
}

void StateHashCheck::apply_row(const StateOps& ops, const ForwardRow& row) {
  for (std::int32_t i = row.first_write; i < row.first_write + row.num_writes; ++i) {
    const ForwardWrite& write = ops.writes[static_cast<std::size_t>(i)];
    if (!is_block(write.block)) continue;
    Block& written = touch(write.block, row.group_index);
    const bool temporal = write.kind == ForwardWriteKind::temporal;
    Content& content =
        written.contents[kind_index(temporal ? StateKind::temporal : StateKind::conv)];
    content.copied_from = kNotCopied;
    content.written_by_forward = true;
    // Kernels may move the positions behind those that a row needs.
    if (temporal)
      written.temporal = kUnknownHash;
    else
      std::ranges::fill(conv(write.block), kUnknownHash);
  }
}

void StateHashCheck::note_later_copies(const StateOps& ops, std::size_t first_batch) {
  for (std::size_t b = first_batch; b < ops.batches.size(); ++b) {
    const StateOpBatch& batch = ops.batches[b];
    if (batch.kind != StateOpKind::copy) continue;
    for (std::int32_t i = batch.first; i < batch.first + batch.count; ++i)
      if (const std::int32_t dst = ops.copies[static_cast<std::size_t>(i)].dst_block; is_block(dst))
        block(dst).is_copied_after_forward = true;
  }
}

void StateHashCheck::compare(std::span<const ToldGroup> told, Moment moment) {
  for (const ToldGroup& group : told) compare(group, moment);
}

void StateHashCheck::compare(const ToldGroup& told, Moment moment) {
  const ToldHashes& hashes =
      moment == Moment::before_forward ? told.before_forward : told.after_forward;
  const auto positions = static_cast<std::size_t>(told.num_positions);
  for (std::size_t i = 0; i < told.block_ids.size(); ++i) {
    const std::int32_t number = told.block_ids[i];
    if (!is_block(number)) continue;
    Block& known = block(number);
    if (known.group_index != group_indices_[static_cast<std::size_t>(told.group)]) continue;
    if (!hashes.temporal.empty()) {
      const std::uint64_t seen = hashes.temporal[i];
      if (known.temporal != kUnknownHash && known.temporal != seen)
        report(told, StateKind::temporal, number, known.temporal, seen, moment);
      known.temporal = known.held = seen;
      known.contents[kind_index(StateKind::temporal)].copied_from = kNotCopied;
    }
    if (!hashes.conv.empty())
      compare_conv(told, std::span(hashes.conv).subspan(i * positions, positions), number, moment);
  }
}

void StateHashCheck::compare_conv(const ToldGroup& told, std::span<const std::uint64_t> seen,
                                  std::int32_t number, Moment moment) {
  const std::span<std::uint64_t> known = conv(number).first(seen.size());
  bool reported = false;
  for (std::size_t p = 0; p < seen.size(); ++p) {
    if (!reported && known[p] != kUnknownHash && known[p] != seen[p]) {
      report(told, StateKind::conv, number, known[p], seen[p], moment);
      reported = true;
    }
    known[p] = seen[p];
  }
  block(number).contents[kind_index(StateKind::conv)].copied_from = kNotCopied;
}

// The block stands for what it stood for when it was written last, and its bytes were still there
// before the forward pass: a request that is computed again leaves the same ones.
bool StateHashCheck::is_what_it_held(const ToldGroup& told, std::size_t i) const {
  const std::int32_t number = told.block_ids[i];
  const Block& written = blocks_[static_cast<std::size_t>(number)];
  if (written.holds != content_now(number)) return false;
  return written.held == kUnknownHash || told.before_forward.temporal.empty() ||
         told.before_forward.temporal[i] == written.held;
}

// A block that the forward pass wrote has the bytes that it had before, although they should stand
// for other tokens.
void StateHashCheck::find_missing_writes(const ToldGroup& told) {
  const StateKind kind =
      told.after_forward.temporal.empty() ? StateKind::conv : StateKind::temporal;
  const std::int32_t group_index = group_indices_[static_cast<std::size_t>(told.group)];
  for (std::size_t i = 0; i < told.block_ids.size(); ++i) {
    const std::int32_t number = told.block_ids[i];
    if (!is_block(number)) continue;
    Block& written = block(number);
    bool& by_forward = written.contents[kind_index(kind)].written_by_forward;
    if (!by_forward || written.group_index != group_index || written.is_copied_after_forward ||
        is_what_it_held(told, i) || !is_same_state(told, i))
      continue;
    const bool has_moved = written.contents[kind_index(StateKind::conv)].written_by_forward &&
                           !is_same_window(told, i);
    Finding finding = finding_of(told, kind, number);
    finding.rule = has_moved ? Rule::write_missing : Rule::state_unchanged;
    findings_.push_back(finding);
    by_forward = false;  // once, if it is told twice
  }
}

Finding StateHashCheck::finding_of(const ToldGroup& told, StateKind kind,
                                   std::int32_t number) const {
  const SymbolicState& state = checker_->state().state;
  const BlockTableMirror& tables = checker_->state().tables;
  Finding finding{.step = step_,
                  .group = told.group,
                  .content = kind == StateKind::conv ? ContentKind::conv : ContentKind::temporal,
                  .block = number};
  const WriteEvent& written = event_of(state, kind, number);
  finding.request =
      (written.kind == WriteKind::never ? event_of(state, other(kind), number) : written).request;
  const auto ids = tables.block_ids(finding.request, told.group);
  const auto found = std::ranges::find(ids, number);
  if (found != ids.end()) finding.column = static_cast<std::int32_t>(found - ids.begin());
  return finding;
}

void StateHashCheck::report(const ToldGroup& told, StateKind kind, std::int32_t number,
                            std::uint64_t expected, std::uint64_t seen, Moment moment) {
  const SymbolicState& state = checker_->state().state;
  const Content& content = blocks_[static_cast<std::size_t>(number)].contents[kind_index(kind)];
  Finding finding = finding_of(told, kind, number);
  finding.cause = content.event;
  finding.seen = static_cast<std::int64_t>(seen);
  if (content.copied_from != kNotCopied) {
    finding.rule = Rule::copy_differs;
    finding.expected = content.copied_from;
    const WriteEvent& now = event_of(state, kind, number);
    const bool copied_now = std::ranges::find(touched_, number) != touched_.end();
    if (copied_now)
      finding.cause = is_copy(now.kind) ? now
                                        : WriteEvent{.kind = WriteKind::pre_copy,
                                                     .step = static_cast<std::int32_t>(step_),
                                                     .request = now.request};
  } else {
    finding.rule = Rule::state_changed;
    finding.expected = static_cast<std::int64_t>(expected);
    finding.detail =
        moment == Moment::before_forward ? "before the forward pass" : "during the forward pass";
  }
  findings_.push_back(finding);
}

// What the block's state stands for after the step.
Fingerprint StateHashCheck::content_now(std::int32_t number) const {
  const SymbolicState& state = checker_->state().state;
  Fingerprint content = state.temporal(number).fingerprint;
  for (const Fingerprint token : state.conv(number)) content = mix(content, token);
  return content;
}

void StateHashCheck::end_step() {
  const SymbolicState& state = checker_->state().state;
  for (const std::int32_t number : touched_) {
    Block& written = block(number);
    written.holds = content_now(number);
    written.is_copied_after_forward = false;
    for (Content& content : written.contents) content.written_by_forward = false;
    for (const StateKind kind : {StateKind::temporal, StateKind::conv})
      written.contents[kind_index(kind)].event = event_of(state, kind, number);
  }
  touched_.clear();
  checker_ = nullptr;
}

}  // namespace hybridscope
