#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/caching/block_pool_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/scheduler_setup.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_schedule.h"
#include "sessions/explain/explain_sections.h"
#include "sessions/text/shown_text.h"

namespace hybridscope::step_sections {

namespace {

// The events of one kind in one group, in order.
struct BlockChange {
  RequestId request{};
  CacheEventKind kind = CacheEventKind::allocated;
  std::int32_t group = -1;
  std::vector<CacheEvent> events;
};

std::string_view change_name(CacheEventKind kind) {
  switch (kind) {
    case CacheEventKind::allocated: return "given out";
    case CacheEventKind::touched: return "hit";
    case CacheEventKind::freed: return "freed";
    case CacheEventKind::evicted: return "evicted";
    case CacheEventKind::registered: return "registered";
    case CacheEventKind::withdrawn: return "withdrawn";
    case CacheEventKind::free_deferred: return "free deferred";
    default: return {};
  }
}

// Merges neighbouring events of the same kind.
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

// "7 6 5 (keys and values up to 24 .. 40 tokens)": neighbouring prefixes are merged.
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
  if (change.kind == CacheEventKind::evicted) text += " (no longer registered)";
  if (change.kind == CacheEventKind::withdrawn) text += " (never written, no longer registered)";
  if (change.kind == CacheEventKind::free_deferred) text += " (until frames in flight return)";
  if (!kept.empty()) text += fmt::format(" (still held by others: {})", id_list(kept));
  return text;
}

// From when on the step's registrations serve others.
std::string_view registration_words(BlockRegistration registration) {
  switch (registration) {
    case BlockRegistration::planned_then_published:
      return "Registered blocks can be hit from the next step on, when they are written";
    case BlockRegistration::at_allocation:
      return "Registered blocks can be hit at once, but a request whose hit ends with a state that "
             "was registered in this step waits until it is written";
    case BlockRegistration::at_allocation_hit_at_once:
      return "Registered blocks can be hit at once, before they are written";
  }
  return {};
}

constexpr std::string_view kSchedule = "vLLM v1/core/sched/scheduler.py schedule";
bool splits(const EngineConfig& config) {
  return config.mamba_cache_mode == MambaCacheMode::align &&
         std::ranges::any_of(config.kv_cache_config.groups,
                             [](const KVCacheGroup& group) { return group.is_mamba(); });
}

struct TokenCount {
  std::int32_t value = 0;
  std::string words;

  void limit(std::int32_t most, std::string_view why) {
    if (most >= value) return;
    value = most;
    words += fmt::format("; at most {} ({})", most, why);
  }
};

// The tokens that the request lacks.
TokenCount lacking_tokens(const StepToExplain& step, const ScheduledTrace& s) {
  if (s.admission == Admission::running) {
    const std::int32_t lacking =
        s.num_tokens + s.num_output_placeholders + s.num_drafts_offered - s.num_computed_tokens;
    const std::string in_flight = s.num_output_placeholders != 0
                                      ? fmt::format(" + in flight {}", s.num_output_placeholders)
                                      : std::string();
    return {lacking, fmt::format("known {}{} + drafts {} - c {} = {}", s.num_tokens, in_flight,
                                 s.num_drafts_offered, s.num_computed_tokens, lacking)};
  }
  const std::int32_t lacking = s.num_tokens - s.num_hit_tokens;
  const std::string words =
      fmt::format("known {} - hit {} = {}", s.num_tokens, s.num_hit_tokens, lacking);
  if (!s.placeholder_drafts) return {lacking, words};
  const std::int32_t padded = 1 + step.config.num_speculative_tokens;
  return {padded, words + fmt::format(", padded to 1 + K = {} by placeholders", padded)};
}

// The limits that reduce it, in the order in which the scheduler applies them.
void limit_tokens(const StepToExplain& step, const ScheduledTrace& s, const TokenTerms& terms,
                  TokenCount& count) {
  const EngineConfig& config = step.config;
  const bool running = s.admission == Admission::running;
  if (terms.prefill_threshold > 0)
    count.limit(terms.prefill_threshold, "long_prefill_token_threshold");
  count.limit(terms.budget_left, "left of the budget");
  if (running)
    count.limit(config.max_model_len - 1 - s.num_computed_tokens, "max_model_len - 1 - c");
  if (!splits(config) || count.value <= 0) return;
  const AlignedSplitInputs inputs{.num_computed_tokens = running ? s.num_computed_tokens : 0,
                                  .num_prompt_tokens = s.num_prompt_tokens,
                                  .num_tokens = s.num_tokens,
                                  .num_new_tokens = count.value,
                                  .num_new_local_computed_tokens = s.num_hit_tokens,
                                  .shared_prefix_boundary = terms.shared_prefix_boundary};
  const AlignedSplit rule = config.policies.get<AlignedSplit>();
  const AlignedSplitSettings settings = aligned_split_settings(config);
  count.words += "; aligned split: " + explain_aligned_split(rule, settings, inputs);
  count.value = mamba_block_aligned_split(rule, settings, inputs);
}

// How q came about.
std::string token_count_words(const StepToExplain& step, const ScheduledTrace& s) {
  TokenCount count = lacking_tokens(step, s);
  if (const TokenTerms* terms = step.trace.token_terms_of(s.request); terms != nullptr) {
    limit_tokens(step, s, *terms, count);
    if (count.value != s.num_scheduled_tokens)
      count.words += fmt::format("; by these terms {}", count.value);
  } else if (count.value != s.num_scheduled_tokens) {
    count.words += "; the trace does not say what limited it";
  }
  count.words += fmt::format("; q = {}", s.num_scheduled_tokens);
  if (s.num_draft_tokens < s.num_drafts_offered)
    count.words += fmt::format("; {} of its {} drafts are left out",
                               s.num_drafts_offered - s.num_draft_tokens, s.num_drafts_offered);
  return count.words;
}

// What a preemption did to the request.
std::string preemption_words(const StepToExplain& step, RequestId request) {
  const StepTrace& trace = step.trace;
  const bool deferred = std::ranges::any_of(trace.cache_events, [&](const CacheEvent& event) {
    return event.kind == CacheEventKind::free_deferred && event.request == request;
  });
  const bool by_priority = step.config.scheduling_policy == SchedulingPolicy::priority;
  return fmt::format("preempted: its blocks are freed{}, c := 0, it goes back to the {}",
                     deferred ? " when the frames in flight have returned" : "",
                     by_priority ? "queue, to its place by priority" : "front of the queue");
}

bool is_asynchronous(const StepTrace& trace) { return trace.committed_step != trace.step; }

// The exact c of the request's row; the scheduler's count when it has no row.
std::int32_t exact_num_computed_tokens(const StepTrace& trace, std::size_t scheduled) {
  for (const RowTrace& row : trace.rows)
    if (row.scheduled == static_cast<std::int32_t>(scheduled)) return row.num_computed_tokens;
  return trace.scheduled[scheduled].num_computed_tokens;
}

void add_scheduled_table(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  const bool asynchronous = is_asynchronous(trace);
  std::vector<TableColumn> columns = {{"request", false}, {"how", false}, {"c", true},
                                      {"q", true},        {"d", true},    {"known", true},
                                      {"prompt", true},   {"hit", true},  {"preemptions", true}};
  if (asynchronous) {
    columns.push_back({"in flight", true});
    columns.push_back({"exact c", true});
  }
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < trace.scheduled.size(); ++i) {
    const ScheduledTrace& s = trace.scheduled[i];
    rows.push_back({step.names.request(s.request), std::string(admission_name(s.admission)),
                    std::to_string(s.num_computed_tokens), std::to_string(s.num_scheduled_tokens),
                    std::to_string(s.num_draft_tokens), std::to_string(s.num_tokens),
                    std::to_string(s.num_prompt_tokens), std::to_string(s.num_hit_tokens),
                    std::to_string(s.run)});
    if (!asynchronous) continue;
    rows.back().push_back(std::to_string(s.num_output_placeholders));
    rows.back().push_back(std::to_string(exact_num_computed_tokens(trace, i)));
  }
  page.table(columns, rows);
  page.line(
      "c: computed before the step; q: tokens it runs, d of them drafts; known: prompt and output");
  if (asynchronous)
    page.line(
        "in flight: output tokens that frames before may bring; c is what the scheduler reports, "
        "with every draft in flight accepted; exact c is what the worker knows: positions, slots, "
        "state columns and copies follow it, blocks and hashes follow c");
}

void add_scheduled(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  if (lacks_requests(trace) || !step.tells_tokens) return;
  if (trace.scheduled.empty()) {
    page.line("No request got a token: an empty step.");
    return;
  }
  add_scheduled_table(step, page);
  for (const ScheduledTrace& s : trace.scheduled)
    page.item(step.names.request(s.request), name_width(step), token_count_words(step, s));
}

void add_lookup(const StepToExplain& step, const AdmissionLookup& lookup, TextPage& page) {
  const auto lines = split_words(explain_lookup(lookup, step.config, step.names), '\n');
  page.line(lines.front());
  for (std::size_t i = 1; i < lines.size(); ++i) page.item("", 0, lines[i]);
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
  const bool registers = std::ranges::any_of(trace.cache_events, [](const CacheEvent& event) {
    return event.kind == CacheEventKind::registered;
  });
  if (registers) page.line(registration_words(step.config.policies.get<BlockRegistration>()));
  if (lacks_queues(trace)) return;
  page.line(fmt::format("{} of {} blocks are free after scheduling", trace.num_free_blocks,
                        step.config.kv_cache_config.num_blocks - 1));
}

void add_commands(const StepToExplain& step, TextPage& page) {
  if (step.trace.commands.empty()) return;
  page.heading("Commands");
  for (const CommandTrace& command : step.trace.commands) {
    std::string words = command.request.value >= 0 ? step.names.request(command.request) : "";
    if (command.value != 0) words += fmt::format("{}{}", words.empty() ? "" : " ", command.value);
    if (command.outcome == CommandOutcome::ignored)
      words += fmt::format("{}ignored: {}", words.empty() ? "" : ", ",
                           ignored_reason_words(command.reason));
    page.item(command_name(command.command), 19, words);
  }
}

void add_schedule(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  page.heading("Schedule", kSchedule);
  page.item("budget", name_width(step),
            fmt::format("{} tokens ({}), {} used", trace.token_budget,
                        trace.budget_overridden ? "set for this step" : "max_num_batched_tokens",
                        trace.num_scheduled_tokens));
  page.item("queues", name_width(step),
            lacks_queues(trace) ? "the trace does not say"
                                : fmt::format("{} running, {} waiting after scheduling",
                                              trace.num_running, trace.num_waiting));
  add_scheduled(step, page);
  for (const RequestId request : trace.preempted)
    page.item(step.names.request(request), name_width(step), preemption_words(step, request));
  for (const SkippedRequest& skipped : trace.skipped)
    page.item(
        step.names.request(skipped.request), name_width(step),
        "no tokens: " + explain_skip(skipped, trace.token_terms_of(skipped.request), step.config));
  if (trace.lookups.empty()) return;
  page.heading("Prefix cache lookups",
               "vLLM v1/core/kv_cache_coordinator.py find_longest_cache_hit");
  for (const AdmissionLookup& lookup : trace.lookups) add_lookup(step, lookup, page);
}

}  // namespace hybridscope::step_sections
