#include "sessions/run/twin.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <utility>

#include "core/base/math.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/twin_compare.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

bool is_scripted(const RunPlan& plan, std::int64_t step, const std::string& request) {
  return std::ranges::any_of(plan.script, [&](const ScriptStep& script) {
    return script.step == step &&
           std::ranges::any_of(script.accept,
                               [&](const RequestCount& count) { return count.request == request; });
  });
}

// Records one step after the other.
class TwinRecorder {
 public:
  TwinRecorder(const RunPlan& plan, const Engine& engine)
      : plan_(plan),
        engine_(engine),
        num_groups_(engine.config().kv_cache_config.groups.size()),
        tables_(static_cast<std::int32_t>(num_groups_),
                engine.config().kv_cache_config.num_blocks) {
    run_.async_scheduling = engine.config().async_scheduling;
    run_.runner = engine.config().runner;
  }

  void take(const CheckedStep& step) {
    const StepTrace& trace = step.trace;
    apply(trace.cache_events, trace.step, false);
    TwinFrame frame{.step = trace.step, .rows = {}, .preempted = {}, .finished = {}};
    for (std::size_t s = 0; s < trace.scheduled.size(); ++s)
      frame.rows.push_back(row_of(trace, static_cast<std::int32_t>(s)));
    for (const RequestId id : trace.preempted) frame.preempted.push_back(engine_.name_of(id));
    apply(trace.commit_events, trace.step, true);
    for (const CommitTrace& commit : trace.committed) take_commit(commit, frame);
    run_.frames.push_back(std::move(frame));
    for (const Finding& finding : step.findings)
      run_.num_findings += rule_info(finding.rule).severity == Severity::error ? 1 : 0;
  }

  TwinRun finish() { return std::move(run_); }

 private:
  void apply(std::span<const CacheEvent> events, std::int64_t step, bool at_commit) {
    for (const CacheEvent& event : events) {
      tables_.apply(event);
      if (event.kind == CacheEventKind::freed && event.ref_cnt == 0)
        run_.freed.push_back({event.block, step, at_commit});
    }
  }

  TwinRow row_of(const StepTrace& trace, std::int32_t index) {
    const ScheduledTrace& scheduled = trace.scheduled[static_cast<std::size_t>(index)];
    TwinRow twin{.request = engine_.name_of(scheduled.request),
                 .reported_num_computed_tokens = scheduled.num_computed_tokens,
                 .num_computed_tokens = scheduled.num_computed_tokens,
                 .num_scheduled_tokens = scheduled.num_scheduled_tokens,
                 .num_draft_tokens = scheduled.num_draft_tokens,
                 .new_block_ids = new_block_ids(scheduled)};
    for (std::size_t r = 0; r < trace.rows.size(); ++r) {
      const RowTrace& row = trace.rows[r];
      if (row.scheduled != index) continue;
      twin.num_computed_tokens = row.num_computed_tokens;
      twin.num_sampled_tokens = row.num_sampled_tokens;
      twin.row = static_cast<std::int32_t>(r);
      twin.slot = row.slot;
      count_accepted(trace.step, scheduled, row, twin.request);
    }
    twin.running_column = running_column(twin);
    return twin;
  }

  // ceil((c + q) / B) - 1; in mode none, 0.
  std::int32_t running_column(const TwinRow& row) const {
    const EngineConfig& config = engine_.config();
    for (const KVCacheGroup& group : config.kv_cache_config.groups)
      if (group.is_mamba())
        return config.mamba_cache_mode == MambaCacheMode::none
                   ? 0
                   : cdiv(row.num_computed_tokens + row.num_scheduled_tokens, group.block_size()) -
                         1;
    return -1;
  }

  std::vector<std::vector<std::int32_t>> new_block_ids(const ScheduledTrace& scheduled) {
    const auto first = static_cast<std::size_t>(scheduled.request.value) * num_groups_;
    if (num_known_columns_.size() < first + num_groups_)
      num_known_columns_.resize(first + num_groups_, 0);
    std::vector<std::vector<std::int32_t>> added;
    for (std::size_t g = 0; g < num_groups_; ++g) {
      const auto ids = tables_.block_ids(scheduled.request, static_cast<std::int32_t>(g));
      std::size_t& known = num_known_columns_[first + g];
      if (scheduled.admission != Admission::running) known = 0;
      const auto from = ids.subspan(std::min(known, ids.size()));
      added.emplace_back(from.begin(), from.end());
      known = ids.size();
    }
    return added;
  }

  void count_accepted(std::int64_t step, const ScheduledTrace& scheduled, const RowTrace& row,
                      const std::string& request) {
    if (row.num_sampled_tokens == 0 || scheduled.num_draft_tokens == 0) return;
    const std::int32_t position =
        row.num_computed_tokens + scheduled.num_scheduled_tokens - scheduled.num_draft_tokens;
    run_.accepted[{request, position}] = {.step = step,
                                          .num_draft_tokens = scheduled.num_draft_tokens,
                                          .num_accepted_tokens = row.num_sampled_tokens,
                                          .scripted = is_scripted(plan_, step, request)};
  }

  void take_commit(const CommitTrace& commit, TwinFrame& frame) {
    if (commit.num_appended_tokens == 0 && !commit.finished) return;
    const std::string& name = engine_.name_of(commit.request);
    if (commit.finished) frame.finished.push_back(name);
    std::vector<TokenContent>& output = run_.outputs[name];
    for (std::int32_t i = commit.num_tokens - commit.num_appended_tokens; i < commit.num_tokens;
         ++i)
      output.push_back(engine_.token(commit.request, i));
  }

  const RunPlan& plan_;
  const Engine& engine_;
  std::size_t num_groups_;
  BlockTableMirror tables_;
  std::vector<std::size_t> num_known_columns_;  // [requests * groups]
  TwinRun run_;
};

}  // namespace

Result<TwinRun> record_twin_run(const RunPlan& plan, const LanguageModel& language) {
  CheckedRunOptions options;
  options.max_steps = kMaxTwinSteps;
  options.language = language;
  auto created = CheckedRun::create(plan, std::move(options));
  if (!created.ok()) return created.error();
  CheckedRun& run = created.value();
  TwinRecorder recorder(plan, run.engine());
  const auto driven = drive(run, [&](const CheckedStep& step) { recorder.take(step); });
  if (!driven.ok()) return driven.error();
  if (run.end() != EndReason::finished)
    return invalid_input(
        fmt::format("a run of the twins does not end within {} steps", kMaxTwinSteps));
  TwinRun recorded = recorder.finish();
  if (run.has_language())
    recorded.texts = spoken_words(run.texts(), run.vocab_size(), make_names(run.engine()));
  return recorded;
}

namespace {

TwinNames names_of(const TwinRun& base, const TwinRun& twin) {
  const bool async_differs = base.async_scheduling != twin.async_scheduling;
  const bool runner_differs = base.runner != twin.runner;
  if (!async_differs && !runner_differs) return {"as written", "twin"};
  const auto name = [&](const TwinRun& run) {
    std::string text;
    if (async_differs) text = run.async_scheduling ? "async" : "sync";
    if (runner_differs)
      text +=
          fmt::format("{}{}", text.empty() ? "" : " ", run.runner == ModelRunner::v1 ? "V1" : "V2");
    return text;
  };
  return {name(base), name(twin)};
}

Result<TwinRun> run_of(Scenario scenario, const EngineSettings& settings, const std::string& file,
                       const LanguageModel& language) {
  scenario.settings = settings;
  if (const auto conflict = find_setting_conflict(settings))
    return invalid_input(
        fmt::format("{}: /twin/{}: {}", file, conflict->setting, conflict->message));
  const auto plan = plan_scenario(scenario, file);
  if (!plan.ok()) return plan.error();
  return record_twin_run(plan.value(), language);
}

}  // namespace

std::string_view twin_reason_name(TwinReason reason) {
  switch (reason) {
    case TwinReason::never_differ: return "never_differ";
    case TwinReason::order_only: return "order_only";
    case TwinReason::preemption_timing: return "preemption_timing";
    case TwinReason::drafts_in_flight: return "drafts_in_flight";
    case TwinReason::ended_a_frame_later: return "ended_a_frame_later";
    case TwinReason::freed_in_other_order: return "freed_in_other_order";
  }
  return {};
}

std::string Twins::name_of(const TwinRun& run) const {
  const TwinNames names = names_of(base, twin);
  return &run == &base ? names.base : names.twin;
}

EngineSettings twin_settings(const Scenario& scenario) {
  if (scenario.twin) return *scenario.twin;
  EngineSettings change;
  change.async_scheduling = !resolved_async_scheduling(scenario.settings).async_scheduling;
  return change;
}

EngineSettings changed_settings(const EngineSettings& base, const EngineSettings& change) {
  EngineSettings settings = base;
  for (const Setting& setting : settings_table())
    if (const auto value = setting.load(change, setting)) setting.store(settings, setting, *value);
  return settings;
}

Result<Twins> run_twins(const Scenario& scenario, const std::string& file,
                        const LanguageModel& language) {
  const EngineSettings changed = twin_settings(scenario);
  auto base = run_of(scenario, scenario.settings, file, language);
  if (!base.ok()) return base.error();
  auto twin = run_of(scenario, changed_settings(scenario.settings, changed), file, language);
  if (!twin.ok()) return twin.error();
  Twins twins{.base = std::move(base).value(),
              .twin = std::move(twin).value(),
              .changed = changed,
              .comparison = {},
              .differing_texts = {}};
  twins.comparison = compare_twins(twins.base, twins.twin, names_of(twins.base, twins.twin));
  if (twins.base.texts && twins.twin.texts)
    twins.differing_texts = differing_texts(*twins.base.texts, *twins.twin.texts);
  return twins;
}

const TwinRow* find_row(const TwinFrame* frame, const std::string& request) {
  if (frame == nullptr) return nullptr;
  const auto found = std::ranges::find(frame->rows, request, &TwinRow::request);
  return found == frame->rows.end() ? nullptr : &*found;
}

const TwinFrame* find_frame(const TwinRun& run, std::int64_t step) {
  const auto found = std::ranges::lower_bound(run.frames, step, {}, &TwinFrame::step);
  return found == run.frames.end() || found->step != step ? nullptr : &*found;
}

bool block_ids_differ(const TwinRow* base, const TwinRow* twin) {
  const auto has_blocks = [](const TwinRow* row) {
    return row != nullptr &&
           std::ranges::any_of(row->new_block_ids, [](const auto& ids) { return !ids.empty(); });
  };
  if (base == nullptr || twin == nullptr) return has_blocks(base) || has_blocks(twin);
  return base->new_block_ids != twin->new_block_ids;
}

std::string block_ids_words(const std::vector<std::vector<std::int32_t>>& ids) {
  std::string text;
  for (const auto& group : ids) text += fmt::format("[{}]", fmt::join(group, " "));
  return text;
}

}  // namespace hybridscope
