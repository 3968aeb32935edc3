#include "sessions/export/exported_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/engine/scheduler_policies.h"
#include "core/engine/scheduler_setup.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/live/write_log.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/finding_list.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// The copy made for the request. Its temporal state comes from the column accept_token_bias past
// the decision's source (semantics: collect-mamba-copy-meta).
StateMove move_of(const CopyLaunch& launch, RequestId request) {
  for (const StateCopyTrace& copy : launch.copies) {
    const CopyDecisionTrace& decision = launch.decisions[static_cast<std::size_t>(copy.decision)];
    if (decision.request != request) continue;
    return {.source = decision.decision.src_col + decision.decision.accept_token_bias,
            .target = decision.decision.dst_col};
  }
  return {};
}

// The tokens that the request would get without the split of mode align (semantics:
// schedule-running, schedule-waiting).
std::int32_t wanted_tokens(const EngineConfig& config, const StepTrace& trace,
                           const ScheduledTrace& scheduled, std::int32_t budget) {
  if (scheduled.placeholder_drafts) return scheduled.num_scheduled_tokens;
  std::int32_t wanted = scheduled.num_tokens + scheduled.num_output_placeholders +
                        scheduled.num_drafts_offered - scheduled.num_computed_tokens;
  const bool cuts =
      config.policies.is(LongPrefillThreshold::always) || trace.num_running + trace.num_waiting > 1;
  if (cuts && config.long_prefill_token_threshold > 0)
    wanted = std::min(wanted, config.long_prefill_token_threshold);
  wanted = std::min(wanted, budget);
  if (scheduled.admission == Admission::running)
    wanted = std::min(wanted, config.max_model_len - scheduled.num_computed_tokens - 1);
  return wanted;
}

std::string write_words(const StateWrite& write, const Names& names) {
  const WriteEvent& event = write.event;
  std::string kind(finding_words::write_kind_name(event.kind));
  std::ranges::replace(kind, '_', '-');
  return fmt::format("step {}: {} of {} left the {} state of {} in {} column {}, block {}",
                     event.step, kind, names.request(event.request),
                     finding_words::content_name(write.content), counted(event.num_tokens, "token"),
                     names.group(write.group), write.column, write.block);
}

class Exporter {
 public:
  explicit Exporter(CheckedRun run)
      : run_(std::move(run)),
        names_(make_names(run_.engine())),
        tables_(static_cast<std::int32_t>(num_groups()), config().kv_cache_config.num_blocks),
        writes_({.num_blocks = config().kv_cache_config.num_blocks,
                 .mamba_cache_mode = config().mamba_cache_mode}),
        runner_log_(config().mamba_cache_mode) {}
  Exporter(const Exporter&) = delete;  // the names refer to the engine of this object
  Exporter& operator=(const Exporter&) = delete;

  Status run(ExportedRun& run);

 private:
  const EngineConfig& config() const { return run_.engine().config(); }
  std::size_t num_groups() const { return config().kv_cache_config.groups.size(); }
  void take(const CheckedStep& step, ExportedRun& run);
  void apply(const std::vector<CacheEvent>& events);
  void add_commands(const StepTrace& trace, ExportedStep& step) const;
  void add_preempted(const StepTrace& trace, ExportedStep& step) const;
  ExportedRow row_of(const StepTrace& trace, const ScheduledTrace& scheduled,
                     std::int32_t budget) const;
  void end_row(const CommitTrace& commit, ExportedRow& row) const;
  void add_request(const ScheduledTrace& scheduled, ExportedRun& run);
  void add_tokens(RequestId id, std::int32_t end, ExportedRequest& request);
  std::vector<StateWrite> writes_behind(const Finding& finding) const;
  void count_finding(const Finding& finding, ExportedStep& step) const;
  void add_findings(const CheckedStep& checked, ExportedStep& step, ExportedRun& run);

  CheckedRun run_;
  Names names_;
  BlockTableMirror tables_;
  // [block] tokens of the prefixes that its hashes cover, the first registered first.
  std::map<std::int32_t, std::vector<std::int32_t>> keys_;
  WriteLog writes_;
  FindingList chains_;
  RunnerLog runner_log_;
  std::map<std::int32_t, std::size_t> index_;  // of a request in ExportedRun::requests
  std::unordered_map<TokenContent, std::int32_t> token_ids_;  // numbered in order of first use
};

void Exporter::apply(const std::vector<CacheEvent>& events) {
  for (const CacheEvent& event : events) {
    tables_.apply(event);
    if (event.kind == CacheEventKind::registered) keys_[event.block].push_back(event.num_tokens);
    if (event.kind == CacheEventKind::withdrawn && event.num_tokens > 0)
      std::erase(keys_[event.block], event.num_tokens);
    else if (event.kind == CacheEventKind::evicted || event.kind == CacheEventKind::withdrawn)
      keys_.erase(event.block);
  }
}

void Exporter::add_commands(const StepTrace& trace, ExportedStep& step) const {
  for (const CommandTrace& command : trace.commands) {
    if (command.outcome != CommandOutcome::done) continue;
    if (command.command == CommandKind::abort)
      step.aborted.push_back(names_.request(command.request));
    if (command.command == CommandKind::preempt)
      step.preempted.push_back(names_.request(command.request));
    if (command.command != CommandKind::reset_prefix_cache) continue;
    step.reset_prefix_cache = true;
    step.reset_running_requests = command.value != 0;
  }
}

// A reset preempts all running requests before anything is scheduled. Otherwise the blocks were
// freed for the next row that gets blocks.
void Exporter::add_preempted(const StepTrace& trace, ExportedStep& step) const {
  const auto place_of = [&](RequestId request, CacheEventKind kind) {
    return std::ranges::find_if(trace.cache_events, [&](const CacheEvent& event) {
      return event.kind == kind && event.request == request;
    });
  };
  for (const RequestId request : trace.preempted) {
    const std::string name = names_.request(request);
    if (std::ranges::find(step.preempted, name) != step.preempted.end()) continue;
    if (step.reset_running_requests) {
      step.preempted.push_back(name);
      continue;
    }
    const auto freed = place_of(request, CacheEventKind::table_dropped);
    const auto row = std::ranges::find_if(trace.scheduled, [&](const ScheduledTrace& scheduled) {
      const auto given = place_of(scheduled.request, CacheEventKind::allocated);
      return freed < given && given != trace.cache_events.end();
    });
    if (row == trace.scheduled.end())
      step.preempted_last.push_back(name);
    else
      step.rows[static_cast<std::size_t>(row - trace.scheduled.begin())].preempts.push_back(name);
  }
}

void Exporter::add_tokens(RequestId id, std::int32_t end, ExportedRequest& request) {
  for (auto position = static_cast<std::int32_t>(request.tokens.size()); position < end;
       ++position) {
    const TokenContent token = run_.engine().token(id, position);
    const auto number = static_cast<std::int32_t>(token_ids_.size()) + 1;
    request.tokens.push_back(token_ids_.emplace(token, number).first->second);
  }
}

void Exporter::add_request(const ScheduledTrace& scheduled, ExportedRun& run) {
  if (index_.contains(scheduled.request.value)) return;
  index_[scheduled.request.value] = run.requests.size();
  ExportedRequest& request = run.requests.emplace_back();
  request.id = names_.request(scheduled.request);
  request.num_prompt_tokens = scheduled.num_prompt_tokens;
  request.max_tokens = run_.engine().max_tokens(scheduled.request);
  add_tokens(scheduled.request, scheduled.num_prompt_tokens, request);
}

ExportedRow Exporter::row_of(const StepTrace& trace, const ScheduledTrace& scheduled,
                             std::int32_t budget) const {
  ExportedRow exported;
  exported.request = names_.request(scheduled.request);
  exported.admission = scheduled.admission;
  exported.num_hit_tokens = scheduled.num_hit_tokens;
  for (const AdmissionLookup& lookup : trace.lookups)
    if (lookup.request == scheduled.request && lookup.admitted)
      exported.num_uncached_common_prefix_tokens =
          lookup.explanation.longest_hit_length - lookup.num_hit_tokens;
  exported.num_computed_tokens = scheduled.num_computed_tokens;
  exported.num_wanted_tokens = wanted_tokens(config(), trace, scheduled, budget);
  exported.num_scheduled_tokens = scheduled.num_scheduled_tokens;
  exported.num_draft_tokens = scheduled.num_draft_tokens;
  exported.placeholder_drafts = scheduled.placeholder_drafts;
  for (const RowTrace& row : trace.rows) {
    if (row.request != scheduled.request) continue;
    exported.row_class = row.row_class;
    exported.num_computed_tokens = row.num_computed_tokens;
    exported.num_sampled_tokens = row.num_sampled_tokens;
  }
  for (std::size_t group = 0; group < num_groups(); ++group) {
    const auto ids = tables_.block_ids(scheduled.request, static_cast<std::int32_t>(group));
    exported.blocks.emplace_back(ids.begin(), ids.end());
    std::vector<std::int32_t>& keys = exported.keys.emplace_back();
    for (const std::int32_t block : ids) {
      const auto found = keys_.find(block);
      keys.push_back(found == keys_.end() || found->second.empty() ? 0 : found->second.front());
    }
  }
  exported.pre_copy = move_of(trace.pre_copies, scheduled.request);
  exported.post_copy = move_of(trace.post_copies, scheduled.request);
  return exported;
}

// Ends a row of a synchronous run, where nothing is in flight when the step returns.
void Exporter::end_row(const CommitTrace& commit, ExportedRow& row) const {
  row.finished = row.finished || commit.finished;
  if (config().policies.is(CommitRegistration::asynchronous_or_drafts) &&
      config().num_speculative_tokens > 0 && commit.outcome == CommitOutcome::taken)
    row.num_registered_tokens = std::min(commit.num_computed_tokens, commit.num_tokens);
}

// The chain of writes that led to the content that the finding saw; empty when it names no write.
std::vector<StateWrite> Exporter::writes_behind(const Finding& finding) const {
  if (finding.block < 0 || finding.cause.kind == WriteKind::never) return {};
  const ContentKind content =
      finding.content == ContentKind::none ? ContentKind::temporal : finding.content;
  std::vector<StateWrite> writes = writes_.chain(finding.block, content, finding.cause.step).writes;
  const auto guilty = std::ranges::find_if(
      writes, [&](const StateWrite& write) { return write.event == finding.cause; });
  writes.erase(writes.begin(), guilty);
  return writes;
}

void Exporter::count_finding(const Finding& finding, ExportedStep& step) const {
  const auto row = std::ranges::find_if(step.rows, [&](const ExportedRow& one) {
    return finding.request.value >= 0 && one.request == names_.request(finding.request);
  });
  ++(row == step.rows.end() ? step.num_other_findings : row->num_findings);
}

void Exporter::add_findings(const CheckedStep& checked, ExportedStep& step, ExportedRun& run) {
  writes_.take(checked.trace, checked.writes);
  chains_.add(checked.trace, checked.findings, {}, names_);
  for (const Finding& finding : checked.findings) {
    step.findings.push_back(explain_finding(finding, names_));
    count_finding(finding, step);
    if (run.error || rule_info(finding.rule).severity != Severity::error) continue;
    ExportedError& error = run.error.emplace();
    error.finding = finding;
    error.text = step.findings.back();
    error.decision = chains_.root_words()[0].decision;
    for (const StateWrite& write : writes_behind(finding))
      error.chain.push_back(write_words(write, names_));
  }
}

void Exporter::take(const CheckedStep& checked, ExportedRun& run) {
  const StepTrace& trace = checked.trace;
  ExportedStep step;
  step.step = trace.step;
  add_commands(trace, step);
  apply(trace.cache_events);
  step.block_copies = block_copies_of(trace.cache_events);
  const std::int32_t slots_a_row =
      config().policies.is(DraftSlots::counted) ? scheduler_config(config()).num_draft_slots : 0;
  std::int32_t budget = trace.token_budget - slots_a_row;
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    add_request(scheduled, run);
    step.rows.push_back(row_of(trace, scheduled, budget));
    budget -= scheduled.num_scheduled_tokens + slots_a_row;
  }
  add_preempted(trace, step);
  add_findings(checked, step, run);
  run.runner_steps.push_back(runner_log_.step_of(trace, checked.findings, tables_, names_));
  apply(trace.commit_events);
  for (const CommitTrace& commit : trace.committed) {
    const auto found = index_.find(commit.request.value);
    if (found == index_.end()) continue;
    add_tokens(commit.request, commit.num_tokens, run.requests[found->second]);
    for (ExportedRow& row : step.rows)
      if (row.request == run.requests[found->second].id) end_row(commit, row);
  }
  if (!step.rows.empty() || !step.preempted.empty() || !step.preempted_last.empty() ||
      !step.aborted.empty() || step.reset_prefix_cache || !step.findings.empty())
    run.steps.push_back(std::move(step));
}

Status Exporter::run(ExportedRun& run) {
  SinkOf taking([&](const CheckedStep& step) { take(step, run); }, true);
  StepSink* const sinks[] = {&taking};
  const auto driven = drive(run_, sinks);
  if (!driven.ok()) return driven.error();
  if (run.error) run.error->following = following_words(chains_.roots()[0]);
  return Ok{};
}

}  // namespace

std::vector<std::int32_t> held_columns(const ExportedRow& row, std::size_t group) {
  std::vector<std::int32_t> held;
  for (const std::int32_t block : row.blocks[group]) held.push_back(block == kNullBlock ? 0 : 1);
  return held;
}

Result<ExportedRun> make_exported_run(const Scenario& scenario, const std::string& file,
                                      CheckScope scope) {
  auto plan = plan_scenario(scenario, file);
  if (!plan.ok()) return plan.error();
  ExportedRun run;
  run.scenario = scenario;
  run.setup = plan.value().setup;
  auto checked = CheckedRun::create(std::move(plan).value(), {.check = scope});
  if (!checked.ok()) return checked.error();
  Exporter exporter(std::move(checked).value());
  if (Status done = exporter.run(run); !done.ok()) return done.error();
  const bool has_findings = std::ranges::any_of(
      run.steps, [](const ExportedStep& step) { return !step.findings.empty(); });
  if (!has_findings) return run;
  auto faults = faults_of(scenario, file, scope);
  if (!faults.ok()) return faults.error();
  run.faults = std::move(faults).value();
  return run;
}

std::optional<std::size_t> first_mamba_group(const ExportedRun& run) {
  const auto& groups = run.setup.config.kv_cache_config.groups;
  for (std::size_t group = 0; group < groups.size(); ++group)
    if (groups[group].is_mamba()) return group;
  return std::nullopt;
}

}  // namespace hybridscope
