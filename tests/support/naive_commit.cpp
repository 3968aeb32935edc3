// The part of the naive scheduler that handles a returned frame.
#include "tests/support/naive_scheduler.h"

namespace hybridscope::test {

void NaiveScheduler::append(NaiveRequest& request, std::uint64_t token) {
  request.tokens.push_back(token);
  request.history.push_back(tree_.child(request.history.back(), token));
}

// A preempted request's c stays 0.
void NaiveScheduler::roll_back(NaiveRequest& request, int num_rejected) {
  if (request.num_computed_tokens > 0) request.num_computed_tokens -= num_rejected;
  if (request.num_output_placeholders > 0) request.num_output_placeholders -= num_rejected;
}

// True when the request must stop; tokens after the stop are dropped.
bool NaiveScheduler::append_outputs(NaiveRequest& request, int count, NaiveCommitted& result) {
  for (int i = 0; i < count; ++i) {
    append(request, config_.output_token(request.id, request.num_tokens()));
    ++result.num_appended_tokens;
    const int num_outputs = request.num_tokens() - request.num_prompt_tokens();
    if (request.num_tokens() >= config_.max_model_len || num_outputs >= request.spec.max_tokens)
      return true;
  }
  return false;
}

NaiveCommitted NaiveScheduler::commit(const NaiveReturnedRow& row) {
  NaiveRequest& request = get(row.request);
  const bool was_running = request.status == NaiveStatus::running;
  NaiveCommitted result{.request = row.request};
  if (request.status == NaiveStatus::finished) {
    result.result = NaiveReturn::left;
  } else if (request.run != row.run) {
    result.result = NaiveReturn::stale;
    if (!config_.rules.stale_frame_changes_nothing && !row.discarded)
      roll_back(request, row.d - (row.num_accepted_tokens - 1));
  } else if (row.discarded) {
    result.result = NaiveReturn::discarded;
  } else {
    result.num_rejected_tokens = row.d - (row.num_accepted_tokens - 1);
    roll_back(request, result.num_rejected_tokens);
    result.finished = append_outputs(request, row.num_accepted_tokens, result);
    if (config_.async_scheduling) {
      request.num_output_placeholders -= result.num_appended_tokens;
      if (was_running)
        cache_.cache_blocks(request.id, request.history,
                            request.num_computed_tokens - request.num_output_placeholders);
    } else if (config_.num_speculative_tokens > 0) {
      request.num_draft_tokens = config_.num_drafts(request.id, request.num_tokens());
    }
  }
  result.num_computed_tokens = request.num_computed_tokens;
  result.num_tokens = request.num_tokens();
  result.num_output_placeholders = request.num_output_placeholders;
  if (result.finished) finish(request.id);
  return result;
}

}  // namespace hybridscope::test
