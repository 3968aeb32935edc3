#include "core/check/check_blocks.h"

#include <algorithm>

namespace hybridscope {
namespace {

void register_block(CheckContext& context, const CacheEvent& event, std::size_t& mamba_events) {
  const CheckConfig& config = context.config();
  BlockLabel label{.registered = true,
                   .group = event.group,
                   .num_tokens = event.num_tokens,
                   .block_hash = event.block_hash,
                   .history = {}};
  if (config.kv_cache_config.groups[static_cast<std::size_t>(event.group)].is_mamba()) {
    const auto length = static_cast<std::size_t>(config.conv_kernel - 1);
    const std::vector<Fingerprint>& histories = context.trace().label_history;
    if ((mamba_events + 1) * length <= histories.size())
      std::copy_n(histories.begin() + static_cast<std::ptrdiff_t>(mamba_events * length), length,
                  label.history.begin());
    ++mamba_events;
  }
  context.shared().labels[static_cast<std::size_t>(event.block)] = label;
}

void check_reference_count(CheckContext& context, const CacheEvent& event) {
  const std::int32_t claimed = context.shared().claimed_refs[static_cast<std::size_t>(event.block)];
  const std::int32_t holders = context.tables().holders(event.block);
  if (claimed == holders) return;
  Finding finding;
  finding.rule = Rule::reference_count;
  finding.request = event.request;
  finding.group = event.group;
  finding.block = event.block;
  finding.expected = holders;
  finding.seen = claimed;
  finding.detail = "expected as many as columns hold it";
  context.report(finding);
}

void check_label(CheckContext& context, std::int32_t block) {
  const BlockLabel& label = context.shared().labels[static_cast<std::size_t>(block)];
  if (!label.registered) return;
  const KVCacheGroup& group =
      context.config().kv_cache_config.groups[static_cast<std::size_t>(label.group)];
  Finding finding;
  finding.rule = Rule::label_mismatch;
  finding.group = label.group;
  finding.block = block;
  finding.expected = label.num_tokens;
  if (!group.is_mamba()) {
    const AttentionSlots& slots = context.state().attention(block);
    if (slots.filled == group.block_size() && slots.last == label.block_hash) return;
    finding.content = ContentKind::attention;
    finding.cause = slots.event;
    finding.seen = slots.event.num_tokens;
    finding.detail = slots.filled == group.block_size() ? "" : "not filled to its end";
    finding.request = slots.event.request;
    context.report(finding);
    return;
  }
  const TemporalSlot& temporal = context.state().temporal(block);
  if (temporal.fingerprint != label.block_hash) {
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
  finding.seen = finding.cause.num_tokens;
  finding.request = finding.cause.request;
  context.report(finding);
}

}  // namespace

void follow_cache_events(CheckContext& context, std::span<const CacheEvent> events) {
  std::size_t mamba_events = 0;
  for (const CacheEvent& event : events) {
    const auto block = static_cast<std::size_t>(event.block);
    switch (event.kind) {
      case CacheEventKind::allocated:
        context.state().poison(event.block);
        context.shared().claimed_refs[block] = event.ref_cnt;
        break;
      case CacheEventKind::touched:
      case CacheEventKind::freed:
        context.shared().claimed_refs[block] = event.ref_cnt;
        break;
      case CacheEventKind::evicted:
      case CacheEventKind::withdrawn:
        context.shared().labels[block] = {};
        break;
      case CacheEventKind::registered:
        register_block(context, event, mamba_events);
        break;
      case CacheEventKind::column_set:
      case CacheEventKind::table_dropped:
        context.tables().apply(event);
        break;
    }
  }
  for (const CacheEvent& event : events)
    if (event.kind == CacheEventKind::allocated || event.kind == CacheEventKind::touched ||
        event.kind == CacheEventKind::freed)
      check_reference_count(context, event);
}

void check_labels_of_step(CheckContext& context) {
  for (const CacheEvent& event : context.trace().cache_events)
    if (event.kind == CacheEventKind::registered) check_label(context, event.block);
  for (const std::int32_t block : context.touched_registered_blocks()) check_label(context, block);
}

void check_all_labels(CheckContext& context) {
  for (std::int32_t block = 1; block < context.state().num_blocks(); ++block)
    check_label(context, block);
}

void check_nothing_held(CheckContext& context) {
  if (context.tables().num_held_blocks() == 0) return;
  Finding finding;
  finding.rule = Rule::reference_count;
  finding.expected = 0;
  finding.seen = context.tables().num_held_blocks();
  finding.detail = "blocks held although no request is left";
  context.report(finding);
}

}  // namespace hybridscope
