#include "tests/support/naive_scheduler.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hybridscope::test {

NaiveScheduler::NaiveScheduler(const NaiveConfig& config, NaiveCache& cache,
                               std::deque<NaiveRequest>& requests, NaivePrefixTree& tree)
    : config_(config), cache_(cache), requests_(requests), tree_(tree) {}

// Is request a more important than b?
bool NaiveScheduler::before(int a, int b) const {
  const auto key = [&](int id) {
    return std::tuple(get(id).spec.priority, get(id).spec.arrival, id);
  };
  return key(a) < key(b);
}

void NaiveScheduler::push_waiting(int request, bool front) {
  if (config_.policy == NaivePolicy::priority) {
    const auto place = std::find_if(waiting.begin(), waiting.end(),
                                    [&](int other) { return before(request, other); });
    waiting.insert(place, request);
  } else {
    waiting.insert(front ? waiting.begin() : waiting.end(), request);
  }
}

void NaiveScheduler::add(int request) { push_waiting(request, false); }

NaiveSchedule NaiveScheduler::schedule(int token_budget) {
  cache_.new_step_starts();
  out_ = {};
  budget_ = token_budget;
  schedule_running();
  if (out_.preempted.empty()) schedule_waiting();
  for (NaiveScheduledRow& row : out_.rows) after_schedule(row);
  out_.finished_req_ids = std::exchange(finished_req_ids_, {});
  out_.preempted_req_ids = std::exchange(preempted_req_ids_, {});
  return out_;
}

// After scheduling, c includes drafts, and the tokens to be sampled have placeholders (semantics:
// output-placeholders).
void NaiveScheduler::after_schedule(NaiveScheduledRow& row) {
  NaiveRequest& request = get(row.request);
  request.num_computed_tokens += row.q;
  row.run = request.run;
  row.num_tokens = request.num_tokens();
  row.num_output_placeholders = request.num_output_placeholders;
  row.discarded = request.num_computed_tokens < row.num_tokens + row.num_output_placeholders;
  if (!config_.async_scheduling || row.discarded) return;
  request.num_output_placeholders += 1 + row.d;
  request.num_draft_tokens = config_.num_speculative_tokens;
}

// Even if every draft in flight is rejected, the frame in flight completes the request (semantics:
// output-placeholders).
bool NaiveScheduler::needs_no_more_steps(const NaiveRequest& request) const {
  const int placeholders = request.num_output_placeholders;
  return placeholders > 0 && request.num_computed_tokens + 2 - placeholders >=
                                 request.num_prompt_tokens() + request.spec.max_tokens;
}

void NaiveScheduler::schedule_running() {
  std::size_t index = 0;
  while (budget_ > 0 && index < running.size()) {
    NaiveRequest& request = get(running[index]);
    if (needs_no_more_steps(request)) {
      ++index;
      continue;
    }
    const int c = request.num_computed_tokens;
    const int certain = request.num_tokens() + request.num_output_placeholders;
    int q = clip_to_threshold(certain + request.num_draft_tokens - c);
    q = std::min({q, budget_, config_.max_model_len - c - 1});
    q = split(request, 0, 0, q);
    if (q <= 0) {
      ++index;
      continue;
    }
    NaiveScheduledRow row{.request = request.id, .c = c, .q = q, .new_block_ids = {}, .hit = {}};
    row.d = std::max(c + q - certain, 0);
    if (!allocate_or_preempt(row, index)) return;
    request.num_draft_tokens = 0;
    budget_ -= q;
    out_.rows.push_back(row);
    ++index;
  }
}

// False when the request itself was preempted. `index` is its place in running.
bool NaiveScheduler::allocate_or_preempt(NaiveScheduledRow& row, std::size_t& index) {
  for (;;) {
    const auto new_block_ids = cache_.allocate_slots({.request = row.request,
                                                      .num_computed_tokens = row.c,
                                                      .num_new_tokens = row.q,
                                                      .history = &get(row.request).history,
                                                      .hit = {}});
    if (new_block_ids) {
      row.new_block_ids = *new_block_ids;
      return true;
    }
    const int gone = victim();
    const auto scheduled =
        std::find_if(out_.rows.begin(), out_.rows.end(),
                     [&](const NaiveScheduledRow& other) { return other.request == gone; });
    if (scheduled != out_.rows.end()) {
      budget_ += scheduled->q;
      out_.rows.erase(scheduled);
      --index;
    }
    cache_.withdraw(gone);
    preempt(gone);
    out_.preempted.push_back(gone);
    if (gone == row.request) return false;
  }
}

int NaiveScheduler::victim() const {
  if (config_.policy == NaivePolicy::fcfs) return running.back();
  return *std::max_element(running.begin(), running.end(), [&](int a, int b) {
    return std::tuple(get(a).spec.priority, get(a).spec.arrival) <
           std::tuple(get(b).spec.priority, get(b).spec.arrival);
  });
}

void NaiveScheduler::schedule_waiting() {
  while (budget_ > 0 && !waiting.empty() &&
         static_cast<int>(running.size()) < config_.max_num_seqs) {
    if (!admit(waiting.front())) return;
  }
}

bool NaiveScheduler::admit(int id) {
  NaiveRequest& request = get(id);
  if (request.num_output_placeholders > 0) return false;  // preempted while its frame is in flight
  const NaiveHit hit = cache_.find_hit(request.history);
  int q = clip_to_threshold(request.num_tokens() - hit.num_tokens);
  if (!config_.enable_chunked_prefill && q > budget_) return false;
  q = std::min(q, budget_);
  q = split(request, hit.num_tokens, hit.num_uncached_common_prefix_tokens, q);
  if (q <= 0) return false;
  const int watermark = static_cast<int>(config_.watermark * config_.num_blocks);
  const auto new_block_ids =
      cache_.allocate_slots({.request = id,
                             .num_computed_tokens = 0,
                             .num_new_tokens = q,
                             .history = &request.history,
                             .hit = hit,
                             .full_sequence_must_fit = config_.full_sequence_must_fit,
                             .watermark_blocks = running.empty() ? 0 : watermark});
  if (!new_block_ids) return false;
  waiting.erase(waiting.begin());
  running.push_back(id);
  out_.rows.push_back({.request = id,
                       .c = hit.num_tokens,
                       .q = q,
                       .d = 0,
                       .admitted = true,
                       .resumed = request.status == NaiveStatus::preempted,
                       .new_block_ids = cache_.block_ids(id),
                       .hit = hit});
  request.status = NaiveStatus::running;
  request.num_computed_tokens = hit.num_tokens;
  request.num_prefill_tokens = request.num_tokens();
  budget_ -= q;
  return true;
}

int NaiveScheduler::clip_to_threshold(int num_new_tokens) const {
  const int threshold = config_.long_prefill_token_threshold;
  return threshold > 0 ? std::min(num_new_tokens, threshold) : num_new_tokens;
}

// The reference's aligned split (semantics: aligned-split). `computed` includes the hit.
int NaiveScheduler::reference_split(const NaiveRequest& request, int computed, int uncached,
                                    int num_new_tokens) const {
  const int block_size = config_.block_size;
  int last = request.num_tokens() / block_size * block_size;
  if (config_.use_eagle) last = std::max(last - block_size, 0);
  const int after = computed + num_new_tokens;
  if (after < last)
    num_new_tokens = num_new_tokens / block_size * block_size;
  else if (computed < last && last < after)
    num_new_tokens = last - computed;
  if (uncached >= block_size && num_new_tokens > uncached)
    num_new_tokens = uncached / block_size * block_size;
  return num_new_tokens;
}

int NaiveScheduler::split(const NaiveRequest& request, int hit, int uncached,
                          int num_new_tokens) const {
  const int computed = request.num_computed_tokens + hit;
  const int known = request.num_tokens();
  if (config_.mode != NaiveCacheMode::align || num_new_tokens <= 0) return num_new_tokens;
  if (computed >= std::max(request.num_prompt_tokens(), known - 1)) return num_new_tokens;
  const int count = reference_split(request, computed, uncached, num_new_tokens);
  if (!config_.rules.chunks_end_on_grid) return count;
  const int block_size = config_.block_size;
  const int next_boundary = (computed / block_size + 1) * block_size;
  int end = computed + count;
  if (computed % block_size != 0) end = std::min(end, next_boundary);
  if (end < known) end = end / block_size * block_size;
  return std::max(end - computed, 0);
}

void NaiveScheduler::finish(int request) {
  std::erase(running, request);
  std::erase(waiting, request);
  get(request).status = NaiveStatus::finished;
  finished_req_ids_.push_back(request);
  cache_.free(request);
}

// Placeholders stay, because the frame in flight still returns.
void NaiveScheduler::preempt(int request) {
  std::erase(running, request);
  cache_.free(request);
  NaiveRequest& gone = get(request);
  gone.status = NaiveStatus::preempted;
  gone.num_computed_tokens = 0;
  gone.num_draft_tokens = 0;
  preempted_req_ids_.push_back(request);
  push_waiting(request, true);
}

// Safe rule: everything in flight for a request that is reset is dropped (semantics:
// reset-in-flight).
bool NaiveScheduler::reset_prefix_cache(bool reset_running_requests) {
  while (reset_running_requests && !running.empty()) {
    NaiveRequest& request = get(running.back());
    preempt(request.id);
    request.num_output_placeholders = 0;
    ++request.run;
  }
  return cache_.pool.reset();
}

// The part of the naive scheduler that handles a returned frame.

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
