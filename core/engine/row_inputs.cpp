#include "core/engine/row_inputs.h"

#include <algorithm>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/row_inputs_policies.h"

namespace hybridscope {

RowInputs::RowInputs(const EngineConfig& config)
    : acceptance_{.seed = config.seed, .rate = config.acceptance_rate},
      runner_(config.runner),
      async_scheduling_(config.async_scheduling),
      conv_kernel_(config.conv_kernel) {}

bool RowInputs::has_lost_drafts(const RowTrace& row, const PolicySet& policies) const {
  return policies.is(ReturningDrafts::placeholders) && runner_ == ModelRunner::v1 &&
         async_scheduling_ && row.origin == RowOrigin::returned;
}

void RowInputs::add(StepTrace& trace, RowTrace& row, EngineRequest& request,
                    const PolicySet& policies) {
  row.lost_drafts = has_lost_drafts(row, policies) && trace.scheduled_of(row).num_draft_tokens > 0;
  fill_history(row, request);
  planned_num_accepted_tokens_.push_back(plan_acceptance(trace, row, request));
  append_tokens(trace, row, request, policies);
}

std::int32_t RowInputs::plan_acceptance(StepTrace& trace, const RowTrace& row,
                                        EngineRequest& request) const {
  const ScheduledTrace& scheduled = trace.scheduled_of(row);
  if (!scheduled.samples()) return 0;  // unfinished prefill chunk: sampled and discarded
  const std::int32_t drafts = scheduled.num_draft_tokens;
  const std::int32_t end = row.num_computed_tokens + scheduled.num_scheduled_tokens;
  const bool drafts_count = !scheduled.placeholder_drafts && !row.lost_drafts &&
                            row.num_computed_tokens >= scheduled.num_prompt_tokens;
  std::int32_t accepted =
      drafts_count ? keyed_num_accepted_tokens(acceptance_, request.key, end - drafts, drafts) : 1;
  if (request.scripted_num_accepted_tokens) {
    accepted = std::clamp(*request.scripted_num_accepted_tokens, 1, drafts_count ? 1 + drafts : 1);
    if (accepted != *request.scripted_num_accepted_tokens)
      trace.commands.push_back({.command = CommandKind::set_accepted_tokens,
                                .request = scheduled.request,
                                .value = *request.scripted_num_accepted_tokens,
                                .outcome = CommandOutcome::ignored,
                                .reason = scheduled.placeholder_drafts
                                              ? IgnoredReason::no_drafts_to_accept
                                              : IgnoredReason::count_out_of_range});
    request.scripted_num_accepted_tokens.reset();
  }
  return accepted;
}

void RowInputs::append_tokens(StepTrace& trace, const RowTrace& row, const EngineRequest& request,
                              const PolicySet& policies) const {
  const ScheduledTrace& scheduled = trace.scheduled_of(row);
  const std::int32_t known = scheduled.num_scheduled_tokens - scheduled.num_draft_tokens;
  const std::size_t begin = trace.tokens.size();
  trace.tokens.resize(begin + static_cast<std::size_t>(known));
  request.tokens.copy_tokens(row.num_computed_tokens, known, trace.tokens.data() + begin);
  if (scheduled.placeholder_drafts && runner_ == ModelRunner::v2 &&
      policies.is(PaddedPromptToken::last_sampled) && row.num_computed_tokens > 0)
    trace.tokens[begin] = request.tokens.token(row.num_computed_tokens - 1);
  for (std::int32_t i = 0; i < scheduled.num_draft_tokens; ++i) {
    if (scheduled.placeholder_drafts || row.lost_drafts) {
      trace.tokens.push_back(tagged_token(TokenKind::placeholder, 0));
      continue;
    }
    const std::int32_t position = row.num_computed_tokens + known + i;
    const bool accepted = i + 1 < planned_num_accepted_tokens_.back();
    trace.tokens.push_back(accepted ? request.tokens.token(position)
                                    : rejected_draft_token(acceptance_, request.key, position));
  }
}

void RowInputs::fill_history(RowTrace& row, EngineRequest& request) const {
  const std::int32_t length = conv_kernel_ - 1;
  for (std::int32_t i = 0; i < length; ++i) {
    const std::int32_t position = row.num_computed_tokens - length + 1 + i;
    const bool wanted = position > 0 || i == length - 1;
    row.history[static_cast<std::size_t>(i)] =
        wanted ? request.prefix.at(request.tokens, position) : 0;
  }
}

void RowInputs::sample(StepTrace& trace) const {
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    trace.rows[r].num_sampled_tokens = planned_num_accepted_tokens_[r];
}

RowOrigin row_origin_of(std::int32_t previous_row, std::int32_t row, Admission admission) {
  if (previous_row >= 0) return previous_row == row ? RowOrigin::kept : RowOrigin::moved;
  return admission == Admission::running ? RowOrigin::returned : RowOrigin::added;
}

bool zero_drafts_make_verify_rows(const PolicySet& policies) {
  return policies.is(NoDraftStep::zero_drafts) ||
         (policies.is(NoDraftStep::verify_with_counts) && !policies.is(RowClassing::by_meaning));
}

std::int32_t num_draft_count_of(const ScheduledTrace& scheduled, bool is_prefilling,
                                const EngineConfig& config) {
  const std::int32_t drafts = scheduled.num_draft_tokens;
  const std::int32_t tokens = scheduled.num_scheduled_tokens;
  const bool v2 = config.runner == ModelRunner::v2;
  // V2: the last token of a prompt runs as a decode if its request has a state.
  const bool decodes =
      !is_prefilling || (v2 && tokens - drafts == 1 && scheduled.num_computed_tokens > 0);
  const bool whole = tokens == drafts + 1;
  bool has_count = false;
  switch (config.policies.get<DraftMask>()) {
    case DraftMask::past_the_prompt: has_count = !is_prefilling; break;
    case DraftMask::of_drafts: has_count = whole; break;
    case DraftMask::of_drafts_with_context: has_count = v2 ? decodes : whole; break;
  }
  if (drafts > 0) return has_count ? drafts : -1;
  const bool counts_zero =
      zero_drafts_make_verify_rows(config.policies) && config.num_speculative_tokens > 0;
  const std::int32_t longest = v2 ? 1 + config.num_speculative_tokens : 1;
  return counts_zero && decodes && tokens <= longest ? 0 : -1;
}

std::int32_t num_computed_tokens_after(const RowTrace& row, const ScheduledTrace& scheduled) {
  const std::int32_t all = row.num_computed_tokens + scheduled.num_scheduled_tokens;
  if (row.num_sampled_tokens == 0) return all;
  // Not below 0: after a stale frame has lowered the count too far, drafts may outnumber tokens.
  return std::max(all - (scheduled.num_draft_tokens - (row.num_sampled_tokens - 1)), 0);
}

}  // namespace hybridscope
