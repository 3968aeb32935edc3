#include "core/check/check_rules.h"

#include <algorithm>
#include <vector>

namespace hybridscope {
namespace {

bool has_table(const CheckContext& context, const CacheEvent& event) {
  return event.request.value >= 0 && event.group >= 0 &&
         static_cast<std::size_t>(event.group) < context.config().kv_cache_config.groups.size();
}

Finding finding_about(const CacheEvent& event, Rule rule) {
  return {.rule = rule, .request = event.request, .group = event.group, .block = event.block};
}

// An event that names a block, group or request that does not exist is reported, not applied.
bool can_be_followed(CheckContext& context, const CacheEvent& event) {
  const bool names_table = event.kind == CacheEventKind::registered ||
                           event.kind == CacheEventKind::column_set ||
                           event.kind == CacheEventKind::table_dropped;
  if (event.block >= 0 && event.block < context.state().num_blocks() &&
      (!names_table || has_table(context, event)) &&
      (event.kind != CacheEventKind::column_set || event.column >= 0))
    return true;
  Finding finding = finding_about(event, Rule::metadata_inconsistent);
  finding.column = event.column;
  finding.detail = "a cache event names a block or table that does not exist";
  context.report(finding);
  return false;
}

// The chunk stores the state after so many tokens in the column, before its end.
bool is_checkpoint(const CheckContext& context, const CacheEvent& event) {
  return std::ranges::any_of(context.trace().scheduled, [&event](const ScheduledTrace& scheduled) {
    return scheduled.request == event.request && scheduled.checkpoint_position > 0 &&
           scheduled.checkpoint_position == event.num_tokens;
  });
}

// Was the block registered in this step for a state that a chunk had to store on its way, and has
// the step not written it?
bool is_unwritten_checkpoint(const CheckContext& context, std::int32_t block,
                             const BlockLabel& label, const WriteEvent& last) {
  const StepTrace& trace = context.trace();
  return (last.kind == WriteKind::never || last.step != trace.step) &&
         std::ranges::any_of(trace.cache_events, [&](const CacheEvent& event) {
           return event.kind == CacheEventKind::registered && event.block == block &&
                  event.group == label.group && event.num_tokens == label.num_tokens &&
                  is_checkpoint(context, event);
         });
}

// The label has to be that of the column in which the request holds the block; where prompts end
// inside blocks it may end at a hash block inside the column.
void check_registration(CheckContext& context, const CacheEvent& event) {
  const CheckConfig& config = context.config();
  const KVCacheGroup& group = config.kv_cache_config.groups[static_cast<std::size_t>(event.group)];
  const std::int32_t block_size = group.block_size();
  Finding finding = finding_about(event, Rule::label_mismatch);
  finding.column = event.column;
  const bool inside = group.is_mamba() ? config.hits_inside_blocks : config.keys_inside_blocks;
  const bool fits = inside ? event.num_tokens % config.hash_block_size == 0 &&
                                 (event.num_tokens - 1) / block_size == event.column
                           : event.num_tokens == (event.column + 1) * block_size;
  if (!fits && !is_checkpoint(context, event)) {
    finding.expected = (event.column + 1) * block_size;
    finding.seen = event.num_tokens;
    finding.detail = "registered for other tokens than its column ends with";
    context.report(finding);
  }
  const std::int32_t held = context.tables().block_at(event.request, event.group, event.column);
  if (held == event.block) return;
  finding.expected = held;
  finding.seen = event.block;
  finding.detail = "registered for a column that holds another block";
  context.report(finding);
}

// Without a column only the copy of a block can be registered.
void check_moved_key(CheckContext& context, const CacheEvent& event) {
  for (const BlockCopy& copy : block_copies_of(context.trace().cache_events))
    if (copy.block == event.block && copy.group == event.group) return;
  Finding finding = finding_about(event, Rule::label_mismatch);
  finding.expected = event.num_tokens;
  finding.detail = "registered in no column, and nothing is copied to it";
  context.report(finding);
}

// Only a registered block has a hash to lose.
void check_unlabelling(CheckContext& context, const CacheEvent& event) {
  if (context.shared().labels[static_cast<std::size_t>(event.block)].registered) return;
  Finding finding = finding_about(event, Rule::label_mismatch);
  finding.detail = "a block loses a hash that it was not registered under";
  context.report(finding);
}

void register_block(CheckContext& context, const CacheEvent& event,
                    std::span<const Fingerprint> histories, std::size_t& mamba_events) {
  if (event.column >= 0)
    check_registration(context, event);
  else
    check_moved_key(context, event);
  const CheckConfig& config = context.config();
  BlockLabel label{.registered = true,
                   .group = event.group,
                   .num_tokens = event.num_tokens,
                   .block_hash = event.block_hash,
                   .history = {}};
  if (config.kv_cache_config.groups[static_cast<std::size_t>(event.group)].is_mamba()) {
    const auto length = static_cast<std::size_t>(config.conv_kernel - 1);
    if ((mamba_events + 1) * length <= histories.size())
      std::copy_n(histories.begin() + static_cast<std::ptrdiff_t>(mamba_events * length), length,
                  label.history.begin());
    ++mamba_events;
  }
  BlockLabel& first = context.shared().labels[static_cast<std::size_t>(event.block)];
  if (first.registered)
    context.shared().more_labels.push_back({event.block, label});
  else
    first = label;
}

// Drops all labels of the block, or, if num_tokens is given, that of the prefix alone.
void drop_labels(CheckContext& context, const CacheEvent& event) {
  CheckState& shared = context.shared();
  const bool one = event.kind == CacheEventKind::withdrawn && event.num_tokens > 0;
  BlockLabel& first = shared.labels[static_cast<std::size_t>(event.block)];
  std::erase_if(shared.more_labels, [&](const auto& more) {
    return more.first == event.block && (!one || more.second.num_tokens == event.num_tokens);
  });
  if (one && first.num_tokens != event.num_tokens) return;
  first = {};
  const auto next = std::ranges::find(shared.more_labels, event.block,
                                      [](const auto& more) { return more.first; });
  if (next == shared.more_labels.end()) return;
  first = next->second;
  shared.more_labels.erase(next);
}

// Notes the blocks whose holders change with a table: those that leave it, and the one that enters.
void note_table_change(const CheckContext& context, const CacheEvent& event,
                       std::vector<ChangedBlock>& changed) {
  const BlockTableMirror& tables = context.shared().tables;
  if (event.kind == CacheEventKind::table_dropped) {
    for (const std::int32_t block : tables.block_ids(event.request, event.group))
      changed.push_back({block, event.request, event.group});
    return;
  }
  changed.push_back(
      {tables.block_at(event.request, event.group, event.column), event.request, event.group});
  changed.push_back({event.block, event.request, event.group});
}

void check_attention_label(CheckContext& context, std::int32_t block, const BlockLabel& label,
                           std::int32_t block_size, Finding finding) {
  const std::int32_t num_slots =
      label.num_tokens - (label.num_tokens - 1) / block_size * block_size;
  if (context.state().attention_holds(block, num_slots, label.block_hash)) return;
  const AttentionSlots& slots = context.state().attention(block);
  finding.content = ContentKind::attention;
  finding.cause = slots.event;
  finding.seen = slots.event.num_tokens;
  finding.detail = slots.filled >= num_slots ? "" : "not filled to its end";
  finding.request = slots.event.request;
  context.report(finding);
}

void check_label(CheckContext& context, std::int32_t block, const BlockLabel& label) {
  if (!label.registered) return;
  const KVCacheGroup& group =
      context.config().kv_cache_config.groups[static_cast<std::size_t>(label.group)];
  Finding finding{.rule = Rule::label_mismatch,
                  .group = label.group,
                  .block = block,
                  .expected = label.num_tokens};
  if (!group.is_mamba())
    return check_attention_label(context, block, label, group.block_size(), finding);
  const TemporalSlot& temporal = context.state().temporal(block);
  const auto rule = [&](const WriteEvent& last) {
    return is_unwritten_checkpoint(context, block, label, last) ? Rule::published_not_written
                                                                : Rule::label_mismatch;
  };
  if (temporal.fingerprint != label.block_hash) {
    finding.rule = rule(temporal.event);
    finding.content = ContentKind::temporal;
    finding.cause = temporal.event;
    finding.seen = temporal.event.num_tokens;
    finding.request = temporal.event.request;
    context.report(finding);
  }
  const std::span<const Fingerprint> conv = context.state().conv(block);
  const auto length = static_cast<std::size_t>(context.config().conv_kernel - 1);
  if (std::equal(conv.begin(), conv.begin() + static_cast<std::ptrdiff_t>(length),
                 label.history.begin()))
    return;
  finding.content = ContentKind::conv;
  finding.cause = context.state().conv_event(block);
  finding.rule = rule(finding.cause);
  finding.seen = finding.cause.num_tokens;
  for (std::size_t i = 0; i < length; ++i)  // the number of the last token, if it is near
    if (label.history[i] != 0 && label.history[i] == conv[length - 1])
      finding.seen = label.num_tokens - static_cast<std::int64_t>(length - 1 - i);
  finding.request = finding.cause.request;
  context.report(finding);
}

void check_labels(CheckContext& context, std::int32_t block) {
  const CheckState& shared = context.shared();
  check_label(context, block, shared.labels[static_cast<std::size_t>(block)]);
  for (const auto& [labelled, label] : shared.more_labels)
    if (labelled == block) check_label(context, block, label);
}

}  // namespace

void follow_cache_events(CheckContext& context, std::span<const CacheEvent> events,
                         std::span<const Fingerprint> label_history) {
  std::size_t mamba_events = 0;
  std::vector<ChangedBlock> changed;
  changed.reserve(2 * events.size());
  for (const CacheEvent& event : events) {
    if (!can_be_followed(context, event)) continue;
    const auto block = static_cast<std::size_t>(event.block);
    switch (event.kind) {
      case CacheEventKind::allocated:
        context.state().poison(event.block);
        if (StateOps* ops = context.ops()) ops->add_poison(event.block);
        [[fallthrough]];
      case CacheEventKind::touched:
      case CacheEventKind::freed:
        check_reference_change(context, event);
        context.shared().claimed_refs[block] = event.ref_cnt;
        changed.push_back({event.block, event.request, event.group});
        break;
      case CacheEventKind::evicted:
      case CacheEventKind::withdrawn:
        check_unlabelling(context, event);
        drop_labels(context, event);
        break;
      case CacheEventKind::registered:
        register_block(context, event, label_history, mamba_events);
        break;
      case CacheEventKind::column_set:
      case CacheEventKind::table_dropped:
        note_table_change(context, event, changed);
        context.tables().apply(event);
        break;
      case CacheEventKind::free_deferred:
      case CacheEventKind::free_due:
        changed.push_back({event.block, event.request, event.group});
        context.tables().apply(event);
        break;
      case CacheEventKind::copied_from:
      case CacheEventKind::copied_to: break;  // execute_block_copies
    }
  }
  check_reference_counts(context, changed);
}

void check_labels_of_step(CheckContext& context) {
  check_registered_labels(context, context.trace().cache_events,
                          context.touched_registered_blocks());
}

void check_registered_labels(CheckContext& context, std::span<const CacheEvent> events,
                             std::span<const std::int32_t> touched) {
  std::vector<std::int32_t> blocks(touched.begin(), touched.end());
  for (const CacheEvent& event : events)
    if (event.kind == CacheEventKind::registered && event.block > kNullBlock &&
        event.block < context.state().num_blocks())
      blocks.push_back(event.block);
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (const std::int32_t block : blocks) check_labels(context, block);
}

void check_all_labels(CheckContext& context) {
  for (std::int32_t block = 1; block < context.state().num_blocks(); ++block)
    check_labels(context, block);
}

void check_finished_requests(CheckContext& context) {
  for (const CommitTrace& commit : context.trace().committed)
    for (std::size_t g = 0; g < context.config().kv_cache_config.groups.size(); ++g) {
      const auto group = static_cast<std::int32_t>(g);
      const auto held = context.tables().block_ids(commit.request, group);
      // From the last column on: live blocks are at the end.
      if (commit.outcome != CommitOutcome::taken && commit.outcome != CommitOutcome::chunk)
        continue;
      const bool holds_any =
          std::any_of(held.rbegin(), held.rend(), [](auto block) { return block != kNullBlock; });
      if (holds_any != commit.finished) continue;
      context.report(
          {.rule = Rule::reference_count,
           .request = commit.request,
           .group = group,
           .expected = commit.finished ? 0 : 1,
           .seen = std::ranges::count_if(held, [](auto block) { return block != kNullBlock; }),
           .detail = commit.finished ? "blocks held by a finished request"
                                     : "a request that goes on holds no block"});
    }
}

void check_nothing_held(CheckContext& context) {
  const auto expect_none = [&](std::int32_t count, std::string_view detail) {
    if (count != 0) report(context, Rule::reference_count, {0, count, detail});
  };
  expect_none(context.tables().num_held_blocks(), "blocks held although no request is left");
  // A step that scheduled nothing leaves nothing in flight for which a free could wait.
  if (context.trace().scheduled.empty())
    expect_none(context.tables().num_deferred(), "deferred frees that never came");
}

}  // namespace hybridscope
