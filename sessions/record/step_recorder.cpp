#include "sessions/record/step_recorder.h"

#include <utility>

#include "sessions/explain/explain_decision.h"
#include "sessions/record/step_fields.h"

namespace hybridscope {
namespace {

// Removes decisions that change nothing and should not have, and renumbers the copies' references.
void keep_changing_decisions(CopyLaunch& launch) {
  std::vector<std::int32_t> place(launch.decisions.size(), -1);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < launch.decisions.size(); ++i) {
    const StateCopyDecision& decision = launch.decisions[i].decision;
    if (!decision.copies() && !decision.resets_accepted_count && !is_missing_copy(decision))
      continue;
    place[i] = static_cast<std::int32_t>(kept);
    launch.decisions[kept++] = launch.decisions[i];
  }
  launch.decisions.resize(kept);
  for (StateCopyTrace& copy : launch.copies)
    copy.decision = place[static_cast<std::size_t>(copy.decision)];
}

// Removes what only level full keeps.
void reduce_to_blocks(StepTrace& trace) {
  keep_changing_decisions(trace.pre_copies);
  keep_changing_decisions(trace.post_copies);
  for (GroupTrace& group : trace.groups) group.attention_writes.clear();
}

}  // namespace

StepRecorder::StepRecorder(const EngineConfig& config, RecordLevel level,
                           std::function<std::string(RequestId)> name)
    : level_(level), digester_(std::move(name)), sizes_(config), tables_(config) {}

void StepRecorder::count(const StepTrace& trace, std::span<const Finding> findings,
                         StepCounts& counts) {
  counts = {};
  counts.num_reqs = static_cast<std::int32_t>(trace.scheduled.size());
  counts.num_preempted = static_cast<std::int32_t>(trace.preempted.size());
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    counts.num_draft_tokens += scheduled.num_draft_tokens;
    counts.num_hit_tokens += scheduled.num_hit_tokens;
    if (scheduled.admission == Admission::new_request)
      counts.num_prompt_tokens += scheduled.num_prompt_tokens;
  }
  for (const RowTrace& row : trace.rows)
    counts.num_prefills += row.row_class == RowClass::prefill ? 1 : 0;
  for (const CommitTrace& commit : trace.committed) {
    counts.num_output_tokens += commit.num_appended_tokens;
    counts.num_finished += commit.finished ? 1 : 0;
  }
  for (const CacheEvent& event : trace.cache_events)
    counts.num_evicted += event.kind == CacheEventKind::evicted ? 1 : 0;
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies})
    for (const StateCopyTrace& copy : launch->copies) {
      ++counts.num_state_copies;
      counts.state_copy_bytes += sizes_.copy_bytes(copy.group, copy.accept_token_bias);
    }
  for (const Finding& finding : findings)
    ++(rule_info(finding.rule).severity == Severity::error ? counts.num_errors
                                                           : counts.num_warnings);
}

void StepRecorder::record(const StepTrace& trace, std::span<const Finding> findings,
                          std::span<const StateWrite> writes, StepRecord& record) {
  record.worker_changes.clear();
  record.arrays.clear();
  record.writes.clear();
  record.speech = {};
  record.digests = digester_.digest(trace, findings);
  count(trace, findings, record.counts);
  record.findings.assign(findings.begin(), findings.end());
  if (level_ == RecordLevel::counts) {
    copy_counts(trace, record.trace);
    return;
  }
  copy_decisions(trace, record.trace);
  tables_.take(trace, level_ == RecordLevel::full ? TableReach::whole_row : TableReach::scheduler,
               record.worker_changes);
  if (level_ == RecordLevel::blocks) {
    reduce_to_blocks(record.trace);
    return;
  }
  append_arrays(trace, record.arrays);
  record.writes.assign(writes.begin(), writes.end());
}

Result<std::unique_ptr<LiveSource>> LiveSource::create(RunPlan plan, RecordLevel level,
                                                       std::string title, CheckScope scope) {
  CheckedRunOptions options;
  options.check = scope;
  return create(std::move(plan), level, std::move(title), std::move(options));
}

Result<std::unique_ptr<LiveSource>> LiveSource::create(RunPlan plan, RecordLevel level,
                                                       std::string title,
                                                       CheckedRunOptions options) {
  auto run = CheckedRun::create(std::move(plan), std::move(options));
  if (!run.ok()) return run.error();
  return std::unique_ptr<LiveSource>(
      new LiveSource(std::move(run).value(), level, std::move(title)));
}

LiveSource::LiveSource(CheckedRun run, RecordLevel level, std::string title)
    : title_(std::move(title)),
      run_(std::move(run)),
      recorder_(run_.engine().config(), level,
                [this](RequestId request) { return request_name(request); }) {
  if (level == RecordLevel::full) run_.log_writes();
}

std::string LiveSource::request_name(RequestId request) const {
  return run_.engine().name_of(request);
}

Result<const StepStamp*> LiveSource::next() {
  const auto stepped = run_.next();
  if (!stepped.ok()) return stepped.error();
  if (!stepped.value()) return nullptr;
  const CheckedStep& step = *stepped.value();
  recorder_.record(step.trace, step.findings, step.writes, record_);
  if (step.speech != nullptr) record_.speech = *step.speech;
  stamp_ = {.step = step.trace.step, .digests = record_.digests, .counts = record_.counts};
  return &stamp_;
}

namespace {

// Appends the arrays it visits.
struct Appender {
  std::vector<ArrayRecord>& arrays;

  template <class T>
  void operator()(std::int32_t group, std::string_view name, const TensorView<T>& view,
                  ArrayDtype dtype) {
    ArrayRecord array{
        .group = group, .name = name, .present = view.present, .dtype = dtype, .values = {}};
    array.rows = view.present ? view.rows : 0;
    array.cols = view.present ? view.cols : 1;
    array.dims = view.dims;
    if (view.present) array.values.assign(view.data, view.data + view.size());
    arrays.push_back(std::move(array));
  }
  void operator()(std::int32_t group, std::string_view name, std::int32_t value, ArrayDtype dtype) {
    arrays.push_back({.group = group, .name = name, .dtype = dtype, .dims = 0, .values = {value}});
  }
};

}  // namespace

void append_arrays(const StepTrace& trace, std::vector<ArrayRecord>& arrays) {
  for_each_array(trace, Appender{arrays});
}

}  // namespace hybridscope
