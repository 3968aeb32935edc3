#include "gui/model/shown_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "gui/model/finding_chains.h"
#include "sessions/cache_report/changed_plan.h"
#include "sessions/explain/explain_step.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_requests.h"

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

Result<bool> ShownRun::forward() {
  const auto next = std::ranges::upper_bound(marks_, step(), {}, &StepMark::step);
  if (next == marks_.end()) return end_ ? Result<bool>(false) : make_next();
  if (Status moved = show(next->step); !moved.ok()) return moved.error();
  return true;
}

Result<bool> ShownRun::back() {
  const auto here = std::ranges::lower_bound(marks_, step(), {}, &StepMark::step);
  if (here == marks_.begin()) return false;
  if (Status moved = show(std::prev(here)->step); !moved.ok()) return moved.error();
  return true;
}

Status ShownRun::go_to(std::int64_t step) {
  while (last_known_step() < step && !end_) {
    if (this->step() < last_known_step())
      if (Status moved = show(last_known_step()); !moved.ok()) return moved;
    const Result<bool> made = make_next();
    if (!made.ok()) return made.error();
    if (!made.value()) break;
  }
  const auto behind = std::ranges::upper_bound(marks_, step, {}, &StepMark::step);
  if (behind == marks_.begin())
    return Error{ErrorKind::not_found, fmt::format("there is no step {} or before", step)};
  const std::int64_t known = std::prev(behind)->step;
  return known == this->step() ? Status(Ok{}) : show(known);
}

std::optional<std::vector<std::int32_t>> ShownRun::free_queue() const {
  const CheckedRun* run = level_ == RecordLevel::counts ? nullptr : made_here();
  if (run == nullptr) return std::nullopt;
  return run->engine().kv_cache().pool().free_queue();
}

std::vector<std::int32_t> ShownRun::conv_tokens(std::int32_t block) const {
  const CheckedRun* run = level_ == RecordLevel::full ? made_here() : nullptr;
  if (run == nullptr) return {};
  const SymbolicState& state = run->state().state;
  const WriteEvent& event = state.conv_event(block);
  // The engine has released the tokens of finished requests.
  if (event.kind == WriteKind::never || !std::ranges::binary_search(unfinished(), event.request))
    return {};
  Fingerprint prefix = seed_fingerprint(run->engine().cache_salt(event.request));
  const std::span<const Fingerprint> positions = state.conv(block);
  std::vector<std::int32_t> tokens;
  for (const Fingerprint position : positions)
    tokens.push_back(position == kBeforeFirstToken ? kConvBeforeFirst
                     : position == kPoison         ? kConvNotWritten
                                                   : kConvOtherToken);
  for (std::int32_t token = 1; token <= event.num_tokens; ++token) {
    prefix = extend_fingerprint(prefix, run->engine().token(event.request, token - 1));
    for (std::size_t i = 0; i < positions.size(); ++i)
      if (positions[i] == prefix) tokens[i] = token;
  }
  return tokens;
}

std::vector<RequestId> ShownRun::unfinished() const {
  const RequestLog* log = requests();
  return log == nullptr ? std::vector<RequestId>() : log->unfinished(step());
}

std::int32_t ShownRun::num_hit_tokens(RequestId request) const {
  const RequestLog* log = requests();
  const auto* admitted = log == nullptr ? nullptr : log->admitted(request, step());
  return admitted == nullptr ? -1 : admitted->num_hit_tokens;
}

std::optional<CachedPrompt> ShownRun::cached_prompt(RequestId request) const {
  const RequestLog* log = requests();
  const auto* admitted = log == nullptr ? nullptr : log->admitted(request, step());
  return admitted == nullptr ? std::nullopt : std::optional(admitted->prompt);
}

// A request that no step has scheduled yet has the numbers of the plan.
RequestCounts ShownRun::request_counts(RequestId request) {
  const RequestLog* log = requests();
  if (const auto* admitted = log == nullptr ? nullptr : log->admitted(request, step()))
    return counts_since(request, admitted->step);
  const std::ptrdiff_t index =
      log == nullptr || !plan_ ? -1 : find_planned(*plan_, names_.request(request));
  if (index < 0) return {};
  const auto& planned = plan_->requests[static_cast<std::size_t>(index)].request;
  return {.num_prompt_tokens = static_cast<std::int32_t>(num_prompt_tokens(planned)),
          .num_computed_tokens = 0,
          .num_generated = 0,
          .num_preemptions = 0};
}

void ShownRun::note_findings(std::span<const Finding> found) {
  for (const Finding& finding : found) {
    block_faults_.take(finding);
    finding_log_.take(finding, names_);
  }
}

void ShownRun::note_decision(std::size_t index, const StepTrace& trace,
                             const std::optional<OwnCount>& own) {
  finding_log_.set_decision(
      index, decision_behind(findings()[index].finding,
                             {.trace = trace, .names = names_, .own = own}, findings()));
}

RunEnd ShownRun::end() const {
  return end_.value_or(RunEnd{SessionStatus::stopped, "saved from the workbench before its end"});
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

ComingStep ShownRun::coming_step() {
  const std::span<const StepMark> known = marks();
  const auto next = std::ranges::upper_bound(known, step(), {}, &StepMark::step);
  if (next == known.end())
    return end_ ? ComingStep{.known = true, .ends = true, .names = {}} : look_ahead();
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

std::string not_kept(const ShownRun& run, std::string_view what) {
  if (run.level() != RecordLevel::counts) return {};
  return fmt::format("The session keeps no {}: it was recorded at level {}.", what,
                     record_level_name(run.level()));
}

std::string contents_not_kept(const ShownRun& run) {
  if (run.level() != RecordLevel::blocks) return {};
  return fmt::format(
      "The session does not keep what blocks hold: it was recorded at level {}. Cells with a dash "
      "are not known to be written, and running and speculative blocks look like held ones.",
      record_level_name(run.level()));
}

}  // namespace hybridscope
