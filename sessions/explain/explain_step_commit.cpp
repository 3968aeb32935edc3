// What came out of the forward pass, and what the scheduler made of the frame that returned.
#include <fmt/core.h>

#include <algorithm>

#include "core/engine/scheduler_policies.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/explain/explain_sections.h"
#include "sessions/text/number_words.h"

namespace hybridscope::step_sections {

void add_sample(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  if (trace.rows.empty()) return;
  page.heading("Sample", "vLLM v1/sample/rejection_sampler.py; drawn here by seed, or scripted");
  for (const RowTrace& row : trace.rows)
    page.item(step.names.request(row.request), name_width(step),
              explain_sample(trace.scheduled_of(row), row));
}

namespace {

std::string finished_words(const StepTrace& trace, RequestId request) {
  const bool deferred = std::ranges::any_of(trace.commit_events, [&](const CacheEvent& event) {
    return event.kind == CacheEventKind::free_deferred && event.request == request;
  });
  return deferred ? "finished, its blocks are freed when the frames in flight have returned"
                  : "finished, its blocks are freed";
}

// How many drafts of the request that the step scheduled were rejected; 0 also where nothing counts
// that it sampled.
std::int32_t num_rejected(const StepTrace& trace, std::size_t scheduled) {
  for (const RowTrace& row : trace.rows)
    if (row.scheduled == static_cast<std::int32_t>(scheduled))
      return row.num_sampled_tokens == 0
                 ? 0
                 : trace.scheduled[scheduled].num_draft_tokens - (row.num_sampled_tokens - 1);
  return 0;
}

// For a frame that returns in the step that ran it.
std::string committed_words(const StepToExplain& step, std::size_t scheduled) {
  const StepTrace& trace = step.trace;
  const ScheduledTrace& s = trace.scheduled[scheduled];
  const CommitTrace& commit = trace.committed[scheduled];
  const std::int32_t rejected = num_rejected(trace, scheduled);
  const std::int32_t computed = s.num_computed_tokens + s.num_scheduled_tokens - rejected;
  const bool cuts = commit.finished && step.config.policies.is(StoppedTokens::taken_back);
  const std::int32_t cut_off = cuts ? computed - commit.num_computed_tokens : 0;
  std::string words =
      fmt::format("c = {} + {} - {} rejected{} = {}; known {} + {} = {}", s.num_computed_tokens,
                  s.num_scheduled_tokens, rejected,
                  cut_off > 0 ? fmt::format(" - {} cut off by its end", cut_off) : "",
                  value_words(computed - cut_off, commit.num_computed_tokens), s.num_tokens,
                  commit.num_appended_tokens,
                  value_words(s.num_tokens + commit.num_appended_tokens, commit.num_tokens));
  return words + (commit.finished ? "; " + finished_words(trace, commit.request)
                                  : fmt::format("; {} for the next step",
                                                counted(commit.num_drafts_next, "draft")));
}

// For a frame that was in flight while the next one was scheduled.
std::string returned_words(const StepTrace& trace, const CommitTrace& commit) {
  const std::string counts =
      fmt::format("c = {}, known {}, {} in flight", commit.num_computed_tokens, commit.num_tokens,
                  counted(commit.num_output_placeholders, "token"));
  const std::string appended = counted(commit.num_appended_tokens, "token") + " appended";
  switch (commit.outcome) {
    case CommitOutcome::left_the_engine:
      return "has left the engine, what it sampled is dropped";
    case CommitOutcome::stale_run:
      return "was reset since, what it sampled is dropped";
    case CommitOutcome::chunk:
      return "a chunk of its prefill, nothing to append; " + counts;
    case CommitOutcome::preempted:
      return appended + ", but its state went with the preemption; " + counts;
    case CommitOutcome::taken:
      break;
  }
  return appended + "; " + (commit.finished ? finished_words(trace, commit.request) : counts);
}

}  // namespace

void add_commit(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  if (trace.committed.empty()) return;
  const bool asynchronous = trace.committed_step != trace.step;
  page.heading(asynchronous ? fmt::format("Commit of frame {}", trace.committed_step) : "Commit",
               asynchronous ? "vLLM v1/core/sched/async_scheduler.py _update_request_with_output"
                            : "vLLM v1/core/sched/scheduler.py update_from_output");
  for (std::size_t i = 0; i < trace.committed.size(); ++i) {
    const CommitTrace& commit = trace.committed[i];
    if (asynchronous) {
      page.item(step.names.request(commit.request), name_width(step),
                returned_words(trace, commit));
      continue;
    }
    page.item(step.names.request(commit.request), name_width(step), committed_words(step, i));
  }
  std::vector<std::int32_t> freed;
  for (const CacheEvent& event : trace.commit_events)
    if (event.kind == CacheEventKind::freed) freed.push_back(event.block);
  if (!freed.empty()) page.item("freed", name_width(step), id_list(freed));
}

}  // namespace hybridscope::step_sections
