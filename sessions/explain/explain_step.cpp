#include "sessions/explain/explain_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

#include "core/model/model_layout.h"
#include "sessions/explain/block_copies.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_sections.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

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
constexpr std::array kSections = {Section{StepTopic::commands, &step_sections::add_commands},
                                  Section{StepTopic::schedule, &step_sections::add_schedule},
                                  Section{StepTopic::blocks, &step_sections::add_blocks},
                                  Section{StepTopic::tables, &step_sections::add_tables},
                                  Section{StepTopic::rows, &step_sections::add_rows},
                                  Section{StepTopic::graph, &step_sections::add_graph},
                                  Section{StepTopic::pre_copies, &add_pre_copies},
                                  Section{StepTopic::metadata, &step_sections::add_metadata},
                                  Section{StepTopic::attention, &step_sections::add_attention},
                                  Section{StepTopic::forward, &step_sections::add_forward},
                                  Section{StepTopic::sample, &step_sections::add_sample},
                                  Section{StepTopic::post_copies, &add_post_copies},
                                  Section{StepTopic::commit, &step_sections::add_commit},
                                  Section{StepTopic::findings, &add_findings}};

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
