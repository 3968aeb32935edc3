#include "tests/support/naive_engine.h"

#include <algorithm>
#include <stdexcept>

namespace hybridscope::test {

NaiveEngine::NaiveEngine(NaiveConfig config) {
  if (config.mode == NaiveCacheMode::align && config.num_speculative_tokens + 1 > config.block_size)
    throw std::invalid_argument("naive engine: align needs K + 1 <= B");
  if (!config.output_token) throw std::invalid_argument("naive engine: no output_token");
  if (config.num_speculative_tokens > 0 &&
      (!config.num_accepted || (!config.num_drafts && !config.async_scheduling)))
    throw std::invalid_argument("naive engine: no num_accepted or num_drafts");
  parts_ = std::make_unique<NaiveEngineParts>(std::move(config));
}

NaiveEngine::~NaiveEngine() = default;
NaiveEngine::NaiveEngine(NaiveEngine&&) noexcept = default;
NaiveEngine& NaiveEngine::operator=(NaiveEngine&&) noexcept = default;

int NaiveEngine::add_request(NaiveRequestSpec spec) {
  const int id = static_cast<int>(parts_->requests.size());
  NaiveRequest& request = parts_->requests.emplace_back();
  request.id = id;
  request.history = {parts_->tree.root(spec.cache_salt)};
  for (const std::uint64_t token : spec.prompt) parts_->scheduler.append(request, token);
  request.spec = std::move(spec);
  parts_->scheduler.add(id);
  return id;
}

bool NaiveEngine::preempt(int request) {
  if (parts_->get(request).status != NaiveStatus::running) return false;
  parts_->scheduler.preempt(request);
  return true;
}

void NaiveEngine::abort(int request) {
  if (parts_->get(request).status != NaiveStatus::finished) parts_->scheduler.finish(request);
}

bool NaiveEngine::reset_prefix_cache(bool reset_running_requests) {
  return parts_->scheduler.reset_prefix_cache(reset_running_requests);
}

NaiveStep NaiveEngine::step(std::optional<int> budget) {
  return parts_->turn(budget.value_or(parts_->config.max_num_batched_tokens));
}

int NaiveEngine::num_requests() const { return static_cast<int>(parts_->requests.size()); }

bool NaiveEngine::finished() const {
  return parts_->scheduler.running.empty() && parts_->scheduler.waiting.empty();
}

int NaiveEngine::num_computed_tokens(int request) const {
  return parts_->get(request).num_computed_tokens;
}

int NaiveEngine::num_output_placeholders(int request) const {
  return parts_->get(request).num_output_placeholders;
}

const std::vector<std::uint64_t>& NaiveEngine::tokens(int request) const {
  return parts_->get(request).tokens;
}

namespace {

std::vector<int> hashed_blocks(const NaiveBlockPool& pool) {
  std::vector<int> result;
  for (const auto& [block, key] : pool.key_of) result.push_back(block);
  return result;
}

std::vector<int> in_queue(const NaiveBlockPool& pool) {
  return {pool.free_queue.begin(), pool.free_queue.end()};
}

}  // namespace

NaiveStep NaiveEngineParts::turn(int budget) {
  NaiveStep step;
  step.step = next_step++;
  const NaiveSchedule schedule = scheduler.schedule(budget);
  decide(step, schedule);
  std::optional<NaiveFrame> returned = run(step, schedule);
  if (config.async_scheduling) std::swap(returned, in_flight);
  if (returned) commit(step, *returned);

  step.violations.insert(step.violations.end(), worker.violations.begin(), worker.violations.end());
  worker.violations.clear();
  step.free_queue = in_queue(cache.pool);
  step.hashed = hashed_blocks(cache.pool);
  step.running = scheduler.running;
  step.waiting = scheduler.waiting;
  return step;
}

void NaiveEngineParts::forget_lost_blocks() {
  worker.forget(cache.pool.content_lost);
  cache.pool.content_lost.clear();
}

// The agreed hit must not be longer than what each group found: attention needs all of its blocks,
// a mamba group only the last one.
void NaiveEngineParts::check_hit(const NaiveScheduledRow& row, NaiveStep& step) {
  if (row.hit.num_tokens == 0) return;
  for (int group = 0; group < config.num_groups(); ++group) {
    const int block_size = config.group_block_size(group);
    const std::vector<int>& list = row.hit.block_ids.at(static_cast<std::size_t>(group));
    if (static_cast<int>(list.size()) * block_size == row.hit.num_tokens && list.back() != 0)
      continue;
    step.violations.push_back({step.step, "hit_coverage", row.request,
                               "hit of " + std::to_string(row.hit.num_tokens) + ", group " +
                                   std::to_string(group) + " covers " +
                                   std::to_string(static_cast<int>(list.size()) * block_size)});
  }
}

// The exact count is the reported one minus what the frame in flight rejected, and nothing else.
void NaiveEngineParts::check_exact_count(const NaiveScheduledRow& scheduled, const NaiveRow& row,
                                         NaiveStep& step) {
  int rejected = 0;
  if (in_flight && !scheduled.admitted)
    for (const NaiveReturnedRow& before : in_flight->rows)
      if (before.request == row.request) rejected += before.d + 1 - before.num_accepted_tokens;
  if (scheduled.c - rejected == row.c) return;
  step.violations.push_back({step.step, "exact_c", row.request,
                             "reported " + std::to_string(scheduled.c) + ", rejected in flight " +
                                 std::to_string(rejected) + ", exact " + std::to_string(row.c)});
}

bool NaiveEngineParts::is_decode(const NaiveScheduledRow& row) {
  const NaiveRequest& request = get(row.request);
  const bool past_prompt = row.c >= request.num_prompt_tokens();
  if (!config.rules.class_by_meaning) {
    const bool v2 = config.runner == NaiveRunner::v2;
    return (v2 ? row.c >= request.num_prefill_tokens : past_prompt) &&
           row.q <= 1 + config.num_speculative_tokens;
  }
  return past_prompt && row.c == row.num_tokens + row.num_output_placeholders - 1;
}

// Positions after the known tokens hold what frames in flight sampled.
std::uint64_t NaiveEngineParts::token_at(const NaiveRequest& request, int position) const {
  return position < request.num_tokens() ? request.tokens.at(static_cast<std::size_t>(position))
                                         : config.output_token(request.id, position);
}

int NaiveEngineParts::history_at(const NaiveRequest& request, int num_tokens) {
  const int known = std::min(num_tokens, request.num_tokens());
  int node = request.history.at(static_cast<std::size_t>(known));
  for (int position = known; position < num_tokens; ++position)
    node = tree.child(node, token_at(request, position));
  return node;
}

NaiveRow NaiveEngineParts::make_row(const NaiveScheduledRow& scheduled) {
  return {.request = scheduled.request,
          .reported_c = scheduled.c,
          .q = scheduled.q,
          .d = scheduled.d,
          .decode = is_decode(scheduled),
          .admitted = scheduled.admitted,
          .resumed = scheduled.resumed,
          .new_block_ids = scheduled.new_block_ids,
          .owned_blocks = cache.block_ids(scheduled.request),
          .slot = {},
          .previous_row = {},
          .inputs = {},
          .source_column = {}};
}

// Sampled tokens, then drafts. A draft that will be accepted equals the coming output token; any
// other is a token that occurs nowhere else.
void NaiveEngineParts::fill_inputs(NaiveRow& row) {
  const NaiveRequest& request = get(row.request);
  row.prefix = history_at(request, row.c);
  if (row.d > 0) row.num_accepted_tokens = config.num_accepted(request.id, row.c, row.d);
  if (row.num_accepted_tokens < 1 || row.num_accepted_tokens > row.d + 1)
    throw std::invalid_argument("naive engine: num_accepted outside 1..d + 1");
  const int num_right = row.q - row.d + row.num_accepted_tokens - 1;
  for (int i = 0; i < row.q; ++i)
    row.inputs.push_back(i < num_right ? token_at(request, row.c + i) : ~num_rejected_drafts++);
}

NaiveScheduled NaiveEngineParts::entry(const NaiveScheduledRow& scheduled,
                                       const NaiveRow& row) const {
  NaiveScheduled result;
  result.request = scheduled.request;
  result.run = scheduled.run;
  result.num_scheduled_tokens = scheduled.q;
  result.num_draft_tokens = scheduled.d;
  result.num_computed_tokens = scheduled.c;
  result.num_tokens = scheduled.num_tokens;
  result.num_output_placeholders = scheduled.num_output_placeholders;
  result.discarded = scheduled.discarded;
  if (scheduled.admitted) result.num_hit_tokens = scheduled.c;
  result.resumed = scheduled.resumed;
  result.decode = row.decode;
  result.num_accepted_tokens = row.num_accepted_tokens;
  result.state_column = row.state_column;
  result.new_block_ids = scheduled.new_block_ids;
  result.block_ids = row.owned_blocks;
  result.worker_table = worker.block_table(row);
  return result;
}

void NaiveEngineParts::report_rows(NaiveStep& step, const std::vector<NaiveRow>& rows) const {
  for (const int index : worker.order) {
    const NaiveRow& row = rows.at(static_cast<std::size_t>(index));
    step.rows.push_back({.request = row.request,
                         .scheduled = index,
                         .slot = row.slot,
                         .previous_row = row.previous_row,
                         .num_computed_tokens = row.c,
                         .num_accepted_before = row.num_accepted_before,
                         .num_accepted_given = row.num_accepted_given,
                         .num_accepted_after = row.num_accepted_after,
                         .source_column = row.source_column,
                         .state_column = row.state_column});
  }
}

void NaiveEngineParts::decide(NaiveStep& step, const NaiveSchedule& schedule) {
  step.preempted = schedule.preempted;
  step.free_queue_after_schedule = in_queue(cache.pool);
  step.hashed_after_schedule = hashed_blocks(cache.pool);
  for (const NaiveScheduledRow& row : schedule.rows) check_hit(row, step);
  forget_lost_blocks();
}

NaiveFrame NaiveEngineParts::run(NaiveStep& step, const NaiveSchedule& schedule) {
  std::vector<NaiveRow> rows;
  for (const NaiveScheduledRow& row : schedule.rows) rows.push_back(make_row(row));
  worker.prepare(schedule, rows);
  for (NaiveRow& row : rows) fill_inputs(row);
  for (std::size_t i = 0; i < rows.size(); ++i) check_exact_count(schedule.rows[i], rows[i], step);
  worker.run(step.step, rows);

  NaiveFrame frame{.step = step.step, .rows = {}};
  step.copies = worker.copies;
  report_rows(step, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NaiveScheduledRow& scheduled = schedule.rows[i];
    step.scheduled.push_back(entry(scheduled, rows[i]));
    frame.rows.push_back({.request = scheduled.request,
                          .run = scheduled.run,
                          .d = scheduled.d,
                          .num_accepted_tokens = rows[i].num_accepted_tokens,
                          .discarded = scheduled.discarded});
  }
  worker.check_labels(step.step, cache.pool);
  return frame;
}

void NaiveEngineParts::commit(NaiveStep& step, const NaiveFrame& frame) {
  step.committed_frame = frame.step;
  for (const NaiveReturnedRow& row : frame.rows) {
    step.committed.push_back(scheduler.commit(row));
    if (step.committed.back().finished) step.finished.push_back(row.request);
  }
  forget_lost_blocks();
  worker.check_labels(step.step, cache.pool);
}

}  // namespace hybridscope::test
