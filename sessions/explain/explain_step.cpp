#include "sessions/explain/explain_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

#include "core/engine/scheduler_policies.h"
#include "core/model/model_layout.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/explain/explain_sections.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

void add_title(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  const std::string when = step_sections::lacks_queues(trace)
                               ? std::string()
                               : fmt::format(" at {}, {} long", time_words(trace.time_us),
                                             time_words(trace.duration_us));
  std::string title =
      fmt::format("Step {}{}: {}", trace.step, when, counted(trace.num_scheduled_tokens, "token"));
  if (!step_sections::lacks_requests(trace))
    title += " of " + counted(static_cast<std::int64_t>(trace.scheduled.size()), "request");
  page.title(title);
  std::string blocks;
  const auto& groups = step.config.kv_cache_config.groups;
  for (std::size_t group = 0; group < groups.size(); ++group)
    blocks += fmt::format("{}B = {} in {}", blocks.empty() ? "" : ", ", groups[group].block_size(),
                          step.names.group(static_cast<std::int32_t>(group)));
  page.line(fmt::format("mode {}, K = {} speculative tokens; tokens in a block: {}",
                        mamba_cache_mode_name(step.config.mamba_cache_mode),
                        step.config.num_speculative_tokens, blocks));
}

// Says which frame the sections are about.
void add_frames(const StepTrace& trace, TextPage& page) {
  if (trace.committed_step == trace.step) return;
  page.line(trace.committed_step == 0
                ? fmt::format("Asynchronous scheduling: frame {} is scheduled, run and sampled; no "
                              "frame is in flight, so none returns",
                              trace.step)
                : fmt::format("Asynchronous scheduling: frame {} is scheduled, run and sampled "
                              "while frame {} is in flight; frame {} returns at the end (Commit)",
                              trace.step, trace.committed_step, trace.committed_step));
}

void add_launch(const StepToExplain& step, std::string_view title, const CopyLaunch& launch,
                TextPage& page) {
  if (launch.decisions.empty()) return;
  page.heading(title, decision_source(launch.decisions.front().decision.rule));
  step_sections::add_copies(step, launch, page);
}

void add_rows_without_boundary(const StepToExplain& step, TextPage& page) {
  for (std::size_t r = 0; r < step.trace.rows.size(); ++r) {
    const auto why = explain_no_decision(step.trace, step.config, static_cast<std::int32_t>(r));
    if (!why.empty())
      page.item(step.names.request(step.trace.rows[r].request), step_sections::name_width(step),
                why);
  }
}

void add_post_copies(const StepToExplain& step, TextPage& page) {
  const bool all_mode = step.config.mamba_cache_mode == MambaCacheMode::all &&
                        step.config.num_speculative_tokens > 0 && !step.trace.rows.empty();
  if (!all_mode) {
    add_launch(step, "Post-copies", step.trace.post_copies, page);
    return;
  }
  page.heading("Post-copies", decision_source(StateCopyRule::all_mode_boundary));
  step_sections::add_copies(step, step.trace.post_copies, page);
  add_rows_without_boundary(step, page);
}

void add_findings(const StepToExplain& step, TextPage& page) {
  page.heading("Findings");
  if (step.findings.empty()) page.line("none");
  for (std::size_t i = 0; i < step.findings.size(); ++i) {
    page.line(explain_finding(step.findings[i], step.names));
    if (i < step.chain_words.size() && !step.chain_words[i].empty())
      page.item("", 2, step.chain_words[i]);
  }
}

// Copies of whole blocks come before everything that the sections from here on tell.
void add_block_copies(const StepToExplain& step, TextPage& page) {
  const auto copies = explained_block_copies(step.trace, step.config.kv_cache_config);
  if (copies.empty()) return;
  page.heading("Block copies", kBlockCopySource);
  for (const ExplainedBlockCopy& copy : copies)
    page.line(step.names.group(copy.copy.group) + ", " + block_copy_words(copy, step.names));
  page.line("Made before anything else of the step touches state");
}

void add_pre_copies(const StepToExplain& step, TextPage& page) {
  add_block_copies(step, page);
  add_launch(step, "Pre-copies", step.trace.pre_copies, page);
}

struct Section {
  StepTopic topic = StepTopic::commands;
  void (*add)(const StepToExplain&, TextPage&) = nullptr;
};

// In the order of the text.
constexpr Section kSections[] = {{StepTopic::commands, &step_sections::add_commands},
                                 {StepTopic::schedule, &step_sections::add_schedule},
                                 {StepTopic::blocks, &step_sections::add_blocks},
                                 {StepTopic::tables, &step_sections::add_tables},
                                 {StepTopic::rows, &step_sections::add_rows},
                                 {StepTopic::graph, &step_sections::add_graph},
                                 {StepTopic::pre_copies, &add_pre_copies},
                                 {StepTopic::metadata, &step_sections::add_metadata},
                                 {StepTopic::attention, &step_sections::add_attention},
                                 {StepTopic::forward, &step_sections::add_forward},
                                 {StepTopic::sample, &step_sections::add_sample},
                                 {StepTopic::post_copies, &add_post_copies},
                                 {StepTopic::commit, &step_sections::add_commit},
                                 {StepTopic::findings, &add_findings}};

std::string explain_sections(StepToExplain step, const std::function<bool(StepTopic)>& is_wanted) {
  step.name_width = step_sections::name_width(step);
  TextPage page(step.columns);
  add_title(step, page);
  add_frames(step.trace, page);
  for (const Section& section : kSections)
    if (is_wanted(section.topic)) section.add(step, page);
  return page.take();
}

}  // namespace

std::string time_words(std::int64_t us) {
  constexpr std::int64_t kMostInMicroseconds = 10'000;
  if (us <= kMostInMicroseconds) return grouped_number(us) + " us";
  std::string fraction = fmt::format(".{:03}", us % 1000);
  while (fraction.ends_with('0')) fraction.pop_back();
  return fmt::format("{}{} ms", grouped_number(us / 1000), fraction == "." ? "" : fraction);
}

std::string explain_step(const StepToExplain& step) {
  return explain_sections(step, [](StepTopic) { return true; });
}

std::string explain_topics(const StepToExplain& step, std::span<const StepTopic> topics) {
  return explain_sections(step, [&](StepTopic topic) {
    return std::find(topics.begin(), topics.end(), topic) != topics.end();
  });
}

}  // namespace hybridscope

namespace hybridscope::step_sections {

// What came out of the forward pass, and what the scheduler made of the frame that returned.

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
    case CommitOutcome::left_the_engine: return "has left the engine, what it sampled is dropped";
    case CommitOutcome::stale_run: return "was reset since, what it sampled is dropped";
    case CommitOutcome::chunk: return "a chunk of its prefill, nothing to append; " + counts;
    case CommitOutcome::preempted:
      return appended + ", but its state went with the preemption; " + counts;
    case CommitOutcome::taken: break;
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
