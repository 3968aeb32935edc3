#include "gui/model/shown_run.h"

#include <fmt/core.h>

#include <algorithm>

#include "gui/model/level_notes.h"
#include "sessions/explain/explain_step.h"

namespace hybridscope {

void note_prefix_end(BlockFacts& facts, std::int32_t group, std::int32_t num_tokens,
                     const KVCacheConfig& config) {
  if (group < 0 || static_cast<std::size_t>(group) >= config.groups.size()) return;
  if (num_tokens % config.groups[static_cast<std::size_t>(group)].block_size() != 0)
    facts.partial_num_tokens = std::max(facts.partial_num_tokens, num_tokens);
}

BlockTableMirror tables_after(const StepView& view) {
  BlockTableMirror tables = view.scheduler_tables;
  for (const CacheEvent& event : view.trace.commit_events) tables.apply(event);
  return tables;
}

std::string step_in_words(const ShownRun& run, std::size_t columns) {
  const StepView view = run.view();
  const std::string text =
      explain_step({.trace = view.trace,
                    .config = view.config,
                    .names = view.names,
                    .scheduler_tables = view.scheduler_tables,
                    .findings = view.findings,
                    .own_count = [&run](RequestId request) { return run.own_count(request); },
                    .columns = columns});
  const std::string lacks = not_kept(run, "requests, lookups, block events, rows and copies");
  return lacks.empty() ? text : text + "\n" + lacks + "\n";
}

std::string finding_message(const ShownFinding& shown, const Names& names) {
  const Finding& finding = shown.finding;
  std::string head = fmt::format("{}: step {}", rule_info(finding.rule).slug, finding.step);
  if (finding.request.value >= 0) head += " " + names.request(finding.request);
  if (!shown.text.starts_with(head)) return shown.text;
  const std::size_t from = shown.text.find_first_not_of(": ", head.size());
  return from == std::string::npos ? shown.text : shown.text.substr(from);
}

RequestId ShownRun::find_request(std::string_view name) const {
  if (name.empty()) return {};
  RequestId found{};
  for (std::int32_t request = 0; request < num_requests(); ++request) {
    if (names().request({request}) != name) continue;
    if (found.value < 0 || first_step({request}) <= step()) found = {request};
  }
  return found;
}

std::string mark_words(const StepMark& mark) {
  std::string words;
  const auto add = [&](bool happened, std::string_view what) {
    if (happened) words += fmt::format("{}{}", words.empty() ? ": " : ", ", what);
  };
  add(mark.errs || mark.warns, "findings");
  add(mark.preempts, "preemptions");
  add(mark.evicts, "evictions");
  add(mark.copies, "copies");
  return fmt::format("step {}{}", mark.step, words);
}

RunEnd ShownRun::end() const {
  if (is_whole()) return {};
  return {SessionStatus::stopped, "saved from the workbench before its end"};
}

std::ptrdiff_t mark_index(std::span<const StepMark> marks, std::int64_t step) {
  const auto found = std::lower_bound(
      marks.begin(), marks.end(), step,
      [](const StepMark& mark, std::int64_t wanted) { return mark.step < wanted; });
  return found != marks.end() && found->step == step ? found - marks.begin() : -1;
}

std::vector<ShownBookmark> bookmarks_of_known_steps(const ShownRun& run) {
  std::vector<ShownBookmark> known;
  for (const ShownBookmark& bookmark : run.bookmarks())
    if (mark_index(run.marks(), bookmark.step) >= 0) known.push_back(bookmark);
  return known;
}

bool take_counts(RequestCounts& counts, const StepTrace& trace, RequestId request) {
  bool has_part = false;
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    if (scheduled.request != request) continue;
    has_part = true;
    counts = {.num_prompt_tokens = scheduled.num_prompt_tokens,
              .num_computed_tokens = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens,
              .num_generated = std::max(scheduled.num_tokens - scheduled.num_prompt_tokens, 0),
              .num_preemptions = scheduled.run};
  }
  for (const CommitTrace& commit : trace.committed) {
    if (commit.request != request || commit.outcome == CommitOutcome::left_the_engine) continue;
    has_part = true;
    counts.num_computed_tokens = commit.num_computed_tokens;
    if (counts.num_prompt_tokens >= 0)
      counts.num_generated = std::max(commit.num_tokens - counts.num_prompt_tokens, 0);
  }
  for (const RequestId preempted : trace.preempted) {
    if (preempted != request) continue;
    has_part = true;
    counts.num_computed_tokens = 0;
    if (counts.num_preemptions >= 0) ++counts.num_preemptions;
  }
  return has_part;
}

ComingStep ShownRun::coming_step() {
  const std::span<const StepMark> known = marks();
  const auto next = std::ranges::upper_bound(known, step(), {}, &StepMark::step);
  if (next == known.end()) return {.known = is_whole(), .ends = is_whole(), .names = {}};
  const auto index = static_cast<std::size_t>(next - known.begin());
  ComingStep coming{.activity = activities(index, 1).front(), .names = {}};
  coming.known = coming.activity.known;
  for (const RequestActivity& activity : coming.activity.requests)
    coming.names.push_back(names().request(activity.request));
  return coming;
}

std::string known_steps_words(const ShownRun& run) {
  const std::size_t count = run.marks().size();
  return fmt::format("{} step{}{}", count, count == 1 ? "" : "s",
                     run.is_whole() ? "" : " so far, more can come");
}

}  // namespace hybridscope
