#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sessions/explain/explain_sections.h"

namespace hybridscope::step_sections {
namespace {

// What happened to blocks of one kind in one group, in order.
struct BlockChange {
  RequestId request{};
  CacheEventKind kind = CacheEventKind::allocated;
  std::int32_t group = -1;
  std::vector<CacheEvent> events;
};

std::string_view change_name(CacheEventKind kind) {
  switch (kind) {
    case CacheEventKind::allocated:
      return "given out";
    case CacheEventKind::touched:
      return "hit";
    case CacheEventKind::freed:
      return "freed";
    case CacheEventKind::evicted:
      return "evicted";
    case CacheEventKind::registered:
      return "registered";
    case CacheEventKind::withdrawn:
      return "withdrawn";
    case CacheEventKind::free_deferred:
      return "free deferred";
    default:
      return {};
  }
}

// Changes of neighbouring events that tell one story are put together.
std::vector<BlockChange> changes_of(std::span<const CacheEvent> events) {
  std::vector<BlockChange> changes;
  for (const CacheEvent& event : events) {
    if (change_name(event.kind).empty()) continue;
    const auto same = std::ranges::find_if(changes, [&](const BlockChange& change) {
      return change.request == event.request && change.kind == event.kind &&
             change.group == event.group;
    });
    if (same != changes.end())
      same->events.push_back(event);
    else
      changes.push_back({event.request, event.kind, event.group, {event}});
  }
  return changes;
}

// "7 6 5 (keys and values up to 24 .. 40 tokens)": neighbouring prefixes in one piece.
std::string registered_words(const BlockChange& change, const GroupTrace& group) {
  const std::string_view what = group.is_mamba ? "state after" : "keys and values up to";
  const std::vector<CacheEvent>& events = change.events;
  std::string text;
  for (std::size_t i = 0; i < events.size();) {
    std::vector<std::int32_t> blocks = {events[i].block};
    std::size_t end = i + 1;
    for (; end < events.size() &&
           events[end].num_tokens == events[end - 1].num_tokens + group.block_size;
         ++end)
      blocks.push_back(events[end].block);
    const std::string tokens =
        end - i == 1 ? std::to_string(events[i].num_tokens)
                     : fmt::format("{} .. {}", events[i].num_tokens, events[end - 1].num_tokens);
    text +=
        fmt::format("{}{} ({} {} tokens)", text.empty() ? "" : ", ", id_list(blocks), what, tokens);
    i = end;
  }
  return text;
}

std::string change_words(const StepTrace& trace, const BlockChange& change) {
  if (change.kind == CacheEventKind::registered)
    return registered_words(change, trace.groups[static_cast<std::size_t>(change.group)]);
  std::vector<std::int32_t> blocks;
  std::vector<std::int32_t> kept;
  for (const CacheEvent& event : change.events) {
    blocks.push_back(event.block);
    if (change.kind == CacheEventKind::freed && event.ref_cnt > 0) kept.push_back(event.block);
  }
  std::string text = id_list(blocks);
  if (change.kind == CacheEventKind::touched) text += " (shared with the prefix cache)";
  if (change.kind == CacheEventKind::evicted) text += " (their prefix can no longer be hit)";
  if (change.kind == CacheEventKind::withdrawn) text += " (never written, no longer registered)";
  if (change.kind == CacheEventKind::free_deferred) text += " (until frames in flight return)";
  if (!kept.empty()) text += fmt::format(" (still held by others: {})", id_list(kept));
  return text;
}

}  // namespace

void add_blocks(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  page.heading("Blocks", "vLLM v1/core/kv_cache_manager.py allocate_slots, v1/core/block_pool.py");
  const std::size_t width = name_width(step);
  std::string above;
  for (const BlockChange& change : changes_of(trace.cache_events)) {
    const bool known = change.group >= 0;
    const std::string who =
        change.request.value >= 0 ? step.names.request(change.request) : "(pool)";
    const std::string label =
        pad_text(who == above ? "" : who, width) + "  " + std::string(change_name(change.kind));
    page.item(label, width + 12,
              (known ? step.names.group(change.group) + ": " : "") + change_words(trace, change));
    above = who;
  }
  const bool planned =
      step.config.policies.cache.block_registration == BlockRegistration::planned_then_published;
  const bool registers = std::ranges::any_of(trace.cache_events, [](const CacheEvent& event) {
    return event.kind == CacheEventKind::registered;
  });
  if (registers)
    page.line(planned ? "Registered blocks can be hit from the next step on, when they are written"
                      : "Registered blocks can be hit at once, before they are written");
  if (lacks_queues(trace)) return;
  page.line(fmt::format("{} of {} blocks are free after scheduling", trace.num_free_blocks,
                        step.config.kv_cache_config.num_blocks - 1));
}

}  // namespace hybridscope::step_sections
