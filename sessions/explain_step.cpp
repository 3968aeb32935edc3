#include "sessions/explain_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/model/model_layout.h"
#include "sessions/explain_decision.h"
#include "sessions/explain_finding.h"
#include "sessions/explain_sections.h"
#include "sessions/text_page.h"

namespace hybridscope {
namespace {

void add_title(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  using step_sections::counted;
  page.title(fmt::format("Step {} at {} us, {} us long: {} of {}", trace.step, trace.time_us,
                         trace.duration_us, counted(trace.num_scheduled_tokens, "token"),
                         counted(static_cast<std::int64_t>(trace.scheduled.size()), "request")));
  std::string blocks;
  for (const GroupTrace& group : trace.groups)
    blocks += fmt::format("{}B = {} in {}", blocks.empty() ? "" : ", ", group.block_size,
                          step.names.group(group.group));
  page.line(fmt::format("mode {}, K = {} speculative tokens; tokens in a block: {}",
                        mamba_cache_mode_name(step.config.mamba_cache_mode),
                        step.config.num_speculative_tokens, blocks));
}

// Which frame the sections are about.
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

// Mode all: rows without a boundary have no decision; here is why.
void add_rows_without_boundary(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  const bool stores = step.config.policies.all_mode_speculation ==
                      AllModeSpeculation::remembered_column_and_boundary_copies;
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    const bool decided =
        std::ranges::any_of(trace.post_copies.decisions, [&](const CopyDecisionTrace& decision) {
          return decision.row == static_cast<std::int32_t>(r);
        });
    if (decided || row.row_class != RowClass::verify) continue;
    const std::int32_t computed = row.num_computed_tokens;
    page.item(step.names.request(row.request), step_sections::name_width(step),
              stores
                  ? fmt::format("no block boundary lies in c + 1 .. c + a = {} .. {}, nothing to "
                                "copy",
                                computed + 1, computed + row.num_sampled_tokens)
                  : "the policy stores no boundary states after acceptance");
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
  for (const Finding& finding : step.findings) page.line(explain_finding(finding, step.names));
}

}  // namespace

std::string explain_step(const StepToExplain& step) {
  using namespace step_sections;
  TextPage page;
  add_title(step, page);
  add_frames(step.trace, page);
  add_commands(step, page);
  add_schedule(step, page);
  add_blocks(step, page);
  add_tables(step, page);
  add_rows(step, page);
  add_graph(step, page);
  add_launch(step, "Pre-copies", step.trace.pre_copies, page);
  add_metadata(step, page);
  add_attention(step, page);
  add_forward(step, page);
  add_sample(step, page);
  add_post_copies(step, page);
  add_commit(step, page);
  add_findings(step, page);
  return page.take();
}

}  // namespace hybridscope
