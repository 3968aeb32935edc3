#include "tests/support/naive_engine.h"

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "tests/support/naive_scheduler.h"
#include "tests/support/naive_worker.h"

namespace hybridscope::test {

struct NaiveEngine::Impl {
  NaiveConfig config;
  NaivePrefixTree tree;
  std::deque<NaiveRequest> requests;
  NaiveCache cache;
  NaiveScheduler scheduler;
  NaiveWorker worker;
  int next_step = 0;
  std::uint64_t num_rejected_drafts = 0;

  explicit Impl(NaiveConfig settings)
      : config(std::move(settings)),
        cache(config),
        scheduler(config, cache, requests),
        worker(config, tree) {}

  NaiveRequest& get(int request) { return requests.at(static_cast<std::size_t>(request)); }
  void append(NaiveRequest& request, std::uint64_t token);
  void forget_lost_blocks();
  void check_hit(const NaiveScheduledRow& row, NaiveStep& step);
  bool is_decode(const NaiveScheduledRow& row);
  NaiveRow make_row(const NaiveScheduledRow& scheduled);
  NaiveScheduled entry(const NaiveScheduledRow& scheduled, const NaiveRow& row) const;
  void update(const NaiveRow& row, NaiveStep& step);
};

void NaiveEngine::Impl::append(NaiveRequest& request, std::uint64_t token) {
  request.tokens.push_back(token);
  request.history.push_back(tree.child(request.history.back(), token));
}

void NaiveEngine::Impl::forget_lost_blocks() {
  worker.forget(cache.pool.content_lost);
  cache.pool.content_lost.clear();
}

// The agreed hit must not be longer than what each group found: attention needs every block of it,
// a mamba group the last one.
void NaiveEngine::Impl::check_hit(const NaiveScheduledRow& row, NaiveStep& step) {
  if (row.hit.num_tokens == 0) return;
  const auto count = static_cast<std::size_t>(row.hit.num_tokens / config.block_size);
  for (std::size_t group = 0; group < row.hit.block_ids.size(); ++group) {
    const std::vector<int>& list = row.hit.block_ids[group];
    if (list.size() == count && list.back() != 0) continue;
    step.violations.push_back(
        {step.step, "hit_coverage", row.request,
         "hit of " + std::to_string(row.hit.num_tokens) + ", group " + std::to_string(group) +
             " covers " + std::to_string(static_cast<int>(list.size()) * config.block_size)});
  }
}

bool NaiveEngine::Impl::is_decode(const NaiveScheduledRow& row) {
  const NaiveRequest& request = get(row.request);
  const bool past_prompt = row.c >= request.num_prompt_tokens();
  if (!config.rules.class_by_meaning)
    return past_prompt && row.q <= 1 + config.num_speculative_tokens;
  return past_prompt && row.c == request.num_tokens() - 1;
}

// Known tokens, then the drafts: those that will be accepted are the coming output tokens, each
// other one is a token that occurs nowhere else.
NaiveRow NaiveEngine::Impl::make_row(const NaiveScheduledRow& scheduled) {
  const NaiveRequest& request = get(scheduled.request);
  const int known = request.num_tokens();
  NaiveRow row{.request = request.id,
               .c = scheduled.c,
               .q = scheduled.q,
               .d = scheduled.d,
               .decode = is_decode(scheduled),
               .replaces_table = scheduled.admitted,
               .new_block_ids = scheduled.new_block_ids,
               .owned_blocks = cache.block_ids(request.id),
               .prefix = request.history.at(static_cast<std::size_t>(scheduled.c)),
               .inputs = {}};
  if (scheduled.d > 0)
    row.num_accepted_tokens = config.num_accepted(request.id, scheduled.c, scheduled.d);
  if (row.num_accepted_tokens < 1 || row.num_accepted_tokens > scheduled.d + 1)
    throw std::invalid_argument("naive engine: num_accepted outside 1..d + 1");
  for (int position = row.c; position < row.c + row.q; ++position) {
    if (position < known)
      row.inputs.push_back(request.tokens.at(static_cast<std::size_t>(position)));
    else if (position - known < row.num_accepted_tokens - 1)
      row.inputs.push_back(config.output_token(request.id, position));
    else
      row.inputs.push_back(~num_rejected_drafts++);
  }
  return row;
}

NaiveScheduled NaiveEngine::Impl::entry(const NaiveScheduledRow& scheduled,
                                        const NaiveRow& row) const {
  NaiveScheduled result;
  result.request = scheduled.request;
  result.num_scheduled_tokens = scheduled.q;
  result.num_draft_tokens = scheduled.d;
  result.num_computed_tokens = scheduled.c;
  if (scheduled.admitted) result.num_hit_tokens = scheduled.c;
  result.resumed = scheduled.resumed;
  result.decode = row.decode;
  result.num_accepted_tokens = row.num_accepted_tokens;
  result.state_column = row.state_column;
  result.block_ids = row.owned_blocks;
  result.worker_table = worker.block_table(scheduled.request);
  return result;
}

// SEMANTICS H3.
void NaiveEngine::Impl::update(const NaiveRow& row, NaiveStep& step) {
  NaiveRequest& request = get(row.request);
  if (request.is_prefill_chunk) return;  // its sample is discarded
  request.num_computed_tokens -= row.d - (row.num_accepted_tokens - 1);
  for (int i = 0; i < row.num_accepted_tokens; ++i) {
    append(request, config.output_token(request.id, request.num_tokens()));
    const int num_outputs = request.num_tokens() - request.num_prompt_tokens();
    if (request.num_tokens() >= config.max_model_len || num_outputs >= request.spec.max_tokens) {
      scheduler.finish(request.id);
      step.finished.push_back(request.id);
      return;
    }
  }
  if (config.num_speculative_tokens > 0)
    request.num_draft_tokens = config.num_drafts(request.id, request.num_tokens());
}

NaiveEngine::NaiveEngine(NaiveConfig config) {
  if (config.mode == NaiveCacheMode::align && config.num_speculative_tokens + 1 > config.block_size)
    throw std::invalid_argument("naive engine: align needs K + 1 <= B");
  if (!config.output_token) throw std::invalid_argument("naive engine: no output_token");
  if (config.num_speculative_tokens > 0 && (!config.num_accepted || !config.num_drafts))
    throw std::invalid_argument("naive engine: no num_accepted or num_drafts");
  impl_ = std::make_unique<Impl>(std::move(config));
}

NaiveEngine::~NaiveEngine() = default;
NaiveEngine::NaiveEngine(NaiveEngine&&) noexcept = default;
NaiveEngine& NaiveEngine::operator=(NaiveEngine&&) noexcept = default;

int NaiveEngine::add_request(NaiveRequestSpec spec) {
  const int id = static_cast<int>(impl_->requests.size());
  NaiveRequest& request = impl_->requests.emplace_back();
  request.id = id;
  request.history = {impl_->tree.root(spec.cache_salt)};
  for (const std::uint64_t token : spec.prompt) impl_->append(request, token);
  request.spec = std::move(spec);
  impl_->scheduler.add(id);
  return id;
}

bool NaiveEngine::preempt(int request) {
  if (impl_->get(request).status != NaiveStatus::running) return false;
  impl_->scheduler.preempt(request);
  return true;
}

void NaiveEngine::abort(int request) {
  if (impl_->get(request).status != NaiveStatus::finished) impl_->scheduler.finish(request);
}

bool NaiveEngine::reset_prefix_cache(bool reset_running_requests) {
  return impl_->scheduler.reset_prefix_cache(reset_running_requests);
}

NaiveStep NaiveEngine::step(std::optional<int> budget) {
  Impl& impl = *impl_;
  NaiveStep step;
  step.step = impl.next_step++;
  const NaiveSchedule schedule =
      impl.scheduler.schedule(budget.value_or(impl.config.max_num_batched_tokens));
  step.preempted = schedule.preempted;
  step.free_queue_after_schedule.assign(impl.cache.pool.free_queue.begin(),
                                        impl.cache.pool.free_queue.end());
  for (const NaiveScheduledRow& row : schedule.rows) impl.check_hit(row, step);
  impl.forget_lost_blocks();

  std::vector<NaiveRow> rows;
  for (const NaiveScheduledRow& row : schedule.rows) rows.push_back(impl.make_row(row));
  impl.worker.run(step.step, rows);
  step.copies = impl.worker.copies;
  for (std::size_t i = 0; i < rows.size(); ++i)
    step.scheduled.push_back(impl.entry(schedule.rows[i], rows[i]));

  for (const NaiveRow& row : rows) impl.update(row, step);
  impl.forget_lost_blocks();
  impl.worker.check_labels(step.step, impl.cache.pool);
  step.violations.insert(step.violations.end(), impl.worker.violations.begin(),
                         impl.worker.violations.end());
  impl.worker.violations.clear();
  step.free_queue.assign(impl.cache.pool.free_queue.begin(), impl.cache.pool.free_queue.end());
  for (const auto& [block, key] : impl.cache.pool.key_of) step.hashed.push_back(block);
  step.running = impl.scheduler.running;
  step.waiting = impl.scheduler.waiting;
  return step;
}

int NaiveEngine::num_requests() const { return static_cast<int>(impl_->requests.size()); }

bool NaiveEngine::finished() const {
  return impl_->scheduler.running.empty() && impl_->scheduler.waiting.empty();
}

int NaiveEngine::num_computed_tokens(int request) const {
  return impl_->get(request).num_computed_tokens;
}

const std::vector<std::uint64_t>& NaiveEngine::tokens(int request) const {
  return impl_->get(request).tokens;
}

}  // namespace hybridscope::test
