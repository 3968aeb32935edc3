#include "tests/core/engine/oracle_agreement.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <tuple>

#include "tests/core/engine/engine_scenario.h"

namespace hybridscope::test {
namespace {

constexpr std::int64_t kStepLimit = 2500;

template <class Container>
std::string list(const Container& values) {
  std::ostringstream out;
  for (const auto& value : values) out << value << ' ';
  return "[" + out.str() + "]";
}

std::vector<int> as_tuple(auto... values) { return {static_cast<int>(values)...}; }

template <class A, class B>
std::string differ(const std::string& what, const A& engine, const B& oracle) {
  std::ostringstream out;
  out << what << ": engine " << engine << ", oracle " << oracle;
  return out.str();
}

std::vector<int> ints(std::span<const std::int32_t> values) {
  return {values.begin(), values.end()};
}

std::vector<int> ids(const std::vector<RequestId>& requests) {
  std::vector<int> result;
  for (const RequestId request : requests) result.push_back(request.value);
  return result;
}

// (post, request, source column, destination column, bias)
using Copy = std::tuple<bool, int, int, int, int>;

void add_copies(const CopyLaunch& launch, bool post, std::vector<Copy>& copies) {
  for (const CopyDecisionTrace& entry : launch.decisions)
    if (entry.decision.copies())
      copies.emplace_back(post, entry.request.value, entry.decision.src_col, entry.decision.dst_col,
                          entry.decision.accept_token_bias);
}

std::string text(const Copy& copy) {
  const auto [post, request, src, dst, bias] = copy;
  std::ostringstream out;
  out << (post ? "post" : "pre") << " request " << request << ' ' << src << "->" << dst << " bias "
      << bias;
  return out.str();
}

}  // namespace

ScenarioRun::ScenarioRun(const EngineScenario& scenario)
    : scenario_(scenario),
      engine_(scenario.config),
      tables_(static_cast<std::int32_t>(scenario.config.kv_cache_config.groups.size()),
              scenario.config.kv_cache_config.num_blocks) {
  const bool defers_frees = scenario.config.async_scheduling && scenario.config.kv_consumer;
  if (scenario.config.mamba_cache_mode != MambaCacheMode::all && !defers_frees)
    oracle_ = std::make_unique<NaiveEngine>(naive_config(scenario));
}

std::string ScenarioRun::run() {
  const int last_step = scenario_.last_step();
  while (step_ <= last_step || engine_.engine().num_unfinished() > 0) {
    if (step_ >= kStepLimit) return "unfinished after " + std::to_string(step_) + " steps";
    if (auto difference = step(); !difference.empty())
      return "step " + std::to_string(step_) + ": " + difference;
    ++step_;
  }
  if (oracle_ && !oracle_->finished()) return "the oracle has not finished";
  return {};
}

// A command for a request that is not there yet is left out.
void ScenarioRun::give_commands() {
  const auto known = [&](RequestId id) { return id.value < engine_.engine().num_requests(); };
  for (; next_command_ < scenario_.commands.size(); ++next_command_) {
    const ScheduledCommand& entry = scenario_.commands[next_command_];
    if (entry.step > step_) return;
    const auto* preempt = std::get_if<PreemptRequest>(&entry.command);
    const auto* abort = std::get_if<AbortRequest>(&entry.command);
    if ((preempt && !known(preempt->request)) || (abort && !known(abort->request))) continue;
    give(entry.command);
  }
}

void ScenarioRun::give(const Command& command) {
  engine_.engine().apply(command).value();
  if (const auto* budget = std::get_if<SetStepBudget>(&command))
    budget_ = budget->max_num_batched_tokens;
  if (!oracle_) return;
  if (const auto* add = std::get_if<AddRequest>(&command))
    oracle_->add_request(naive_request(*add, oracle_->num_requests()));
  if (const auto* preempt = std::get_if<PreemptRequest>(&command))
    if (oracle_->preempt(preempt->request.value))
      commanded_to_preempt_.push_back(preempt->request.value);
  if (const auto* abort = std::get_if<AbortRequest>(&command)) {
    oracle_->abort(abort->request.value);
    std::erase(oracle_running_, abort->request.value);
  }
  if (const auto* reset = std::get_if<ResetPrefixCache>(&command)) {
    const auto gone = [&](int id) {
      return std::ranges::find(commanded_to_preempt_, id) != commanded_to_preempt_.end();
    };
    if (reset->reset_running_requests)
      std::copy_if(oracle_running_.rbegin(), oracle_running_.rend(),
                   std::back_inserter(commanded_to_preempt_), [&](int id) { return !gone(id); });
    oracle_->reset_prefix_cache(reset->reset_running_requests);
  }
}

std::string ScenarioRun::step() {
  commanded_to_preempt_.clear();
  budget_.reset();
  give_commands();
  const StepTrace& trace = engine_.step();
  for (const CacheEvent& event : trace.cache_events) tables_.apply(event);
  for (const ScheduledTrace& scheduled : trace.scheduled) num_hits_ += scheduled.num_hit_tokens > 0;
  num_copies_ += std::ssize(trace.pre_copies.copies) + std::ssize(trace.post_copies.copies);
  num_preempted_ += std::ssize(trace.preempted);
  std::string difference = fault_of_engine();
  if (oracle_ && difference.empty()) {
    const NaiveStep naive = oracle_->step(budget_);
    oracle_running_ = naive.running;
    difference = compare(trace, naive);
  }
  for (const CacheEvent& event : trace.commit_events) tables_.apply(event);
  return difference;
}

std::string ScenarioRun::fault_of_engine() const {
  if (!engine_.findings().empty()) return "finding " + describe(engine_.findings().front());
  return {};
}

std::string ScenarioRun::compare(const StepTrace& trace, const NaiveStep& naive) const {
  if (!naive.violations.empty()) {
    const NaiveViolation& violation = naive.violations.front();
    return "the oracle reports " + violation.rule + " request " +
           std::to_string(violation.request) + ": " + violation.detail;
  }
  for (const auto part :
       {&ScenarioRun::compare_scheduled, &ScenarioRun::compare_rows, &ScenarioRun::compare_copies,
        &ScenarioRun::compare_commits, &ScenarioRun::compare_end})
    if (auto difference = (this->*part)(trace, naive); !difference.empty()) return difference;
  return {};
}

std::string ScenarioRun::compare_scheduled(const StepTrace& trace, const NaiveStep& naive) const {
  std::vector<int> preempted = commanded_to_preempt_;
  preempted.insert(preempted.end(), naive.preempted.begin(), naive.preempted.end());
  if (ids(trace.preempted) != preempted)
    return differ("preempted", list(ids(trace.preempted)), list(preempted));
  if (trace.scheduled.size() != naive.scheduled.size())
    return differ("scheduled requests", trace.scheduled.size(), naive.scheduled.size());
  std::vector<const RowTrace*> row_of(trace.scheduled.size(), nullptr);
  for (const RowTrace& row : trace.rows) row_of[static_cast<std::size_t>(row.scheduled)] = &row;
  for (std::size_t i = 0; i < trace.scheduled.size(); ++i) {
    const ScheduledTrace& s = trace.scheduled[i];
    const NaiveScheduled& n = naive.scheduled[i];
    if (row_of[i] == nullptr) return "scheduled request without a row";
    const auto engine = as_tuple(
        s.request.value, s.num_scheduled_tokens, s.num_draft_tokens, s.num_computed_tokens,
        s.admission == Admission::running ? -1 : s.num_hit_tokens,
        s.admission == Admission::resumed, row_of[i]->row_class != RowClass::prefill,
        std::max(row_of[i]->num_sampled_tokens, 1), s.num_tokens, s.num_output_placeholders);
    const auto oracle =
        as_tuple(n.request, n.num_scheduled_tokens, n.num_draft_tokens, n.num_computed_tokens,
                 n.num_hit_tokens.value_or(-1), n.resumed, n.decode, n.num_accepted_tokens,
                 n.num_tokens, n.num_output_placeholders);
    if (engine != oracle)
      return differ("scheduled (request q d c hit resumed decode a known placeholders)",
                    list(engine), list(oracle));
    if (auto difference = compare_tables(trace, n, *row_of[i]); !difference.empty())
      return difference;
  }
  if (trace.num_free_blocks != static_cast<int>(naive.free_queue_after_schedule.size()))
    return differ("free blocks after schedule", trace.num_free_blocks,
                  naive.free_queue_after_schedule.size());
  return {};
}

// Block lists of the scheduler, and the worker's rows up to their length.
std::string ScenarioRun::compare_tables(const StepTrace& trace, const NaiveScheduled& naive,
                                        const RowTrace& row) const {
  const auto r = static_cast<std::int32_t>(&row - trace.rows.data());
  for (const GroupTrace& group : trace.groups) {
    const auto g = static_cast<std::size_t>(group.group);
    const std::string where =
        " of request " + std::to_string(naive.request) + " group " + std::to_string(group.group);
    const auto scheduler = ints(tables_.block_ids({naive.request}, group.group));
    if (scheduler != naive.block_ids[g])
      return differ("block list" + where, list(scheduler), list(naive.block_ids[g]));
    const std::vector<int>& expected = naive.worker_table[g];
    std::vector<int> worker;
    for (std::int32_t column = 0; column < std::ssize(expected); ++column)
      worker.push_back(group.block_table.at(r, column));
    if (worker != expected) return differ("worker's row" + where, list(worker), list(expected));
  }
  return {};
}

// Rows in order, with what each of them knows of its past.
std::string ScenarioRun::compare_rows(const StepTrace& trace, const NaiveStep& naive) const {
  if (trace.rows.size() != naive.rows.size())
    return differ("rows", trace.rows.size(), naive.rows.size());
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    const NaiveBatchRow& n = naive.rows[r];
    const auto engine =
        as_tuple(row.request.value, row.scheduled, row.slot, row.previous_row,
                 row.num_computed_tokens, row.num_accepted_tokens_before, row.num_accepted_tokens);
    const auto oracle =
        as_tuple(n.request, n.scheduled, n.slot.value_or(-1), n.previous_row.value_or(-1),
                 n.num_computed_tokens, n.num_accepted_before, n.num_accepted_given);
    if (engine != oracle)
      return differ("row " + std::to_string(r) + " (request scheduled slot previous c a a-given)",
                    list(engine), list(oracle));
  }
  return {};
}

std::string ScenarioRun::compare_copies(const StepTrace& trace, const NaiveStep& naive) const {
  std::vector<Copy> engine;
  std::vector<Copy> oracle;
  add_copies(trace.pre_copies, false, engine);
  add_copies(trace.post_copies, true, engine);
  for (const NaiveCopy& copy : naive.copies)
    oracle.emplace_back(copy.kind == NaiveCopyKind::post, copy.request, copy.src_column,
                        copy.dst_column, copy.bias);
  std::ranges::sort(engine);
  std::ranges::sort(oracle);
  for (std::size_t i = 0; i < std::min(engine.size(), oracle.size()); ++i)
    if (engine[i] != oracle[i]) return differ("copy", text(engine[i]), text(oracle[i]));
  if (engine.size() != oracle.size()) return differ("copies", engine.size(), oracle.size());
  if (scenario_.config.mamba_cache_mode != MambaCacheMode::align) return {};
  for (const CopyDecisionTrace& entry : trace.pre_copies.decisions)
    for (const NaiveScheduled& scheduled : naive.scheduled)
      if (scheduled.request == entry.request.value &&
          scheduled.state_column != entry.decision.dst_col)
        return differ("running column", entry.decision.dst_col, scheduled.state_column);
  return {};
}

std::string ScenarioRun::compare_commits(const StepTrace& trace, const NaiveStep& naive) const {
  const int frame = naive.committed_frame ? *naive.committed_frame + 1 : 0;
  if (trace.committed_step != frame)
    return differ("frame that returned", trace.committed_step, frame);
  if (trace.committed.size() != naive.committed.size())
    return differ("committed requests", trace.committed.size(), naive.committed.size());
  std::vector<int> finished;
  for (std::size_t i = 0; i < trace.committed.size(); ++i) {
    const CommitTrace& commit = trace.committed[i];
    const NaiveCommitted& n = naive.committed[i];
    if (commit.finished) finished.push_back(commit.request.value);
    const bool left = commit.outcome == CommitOutcome::left_the_engine;
    const bool stale = commit.outcome == CommitOutcome::stale_run;
    auto engine =
        as_tuple(commit.request.value, left, stale, commit.num_appended_tokens, commit.finished);
    auto oracle = as_tuple(n.request, n.result == NaiveReturn::left, n.result == NaiveReturn::stale,
                           n.num_appended_tokens, n.finished);
    if (!left && !commit.finished) {
      engine.insert(engine.end(), {commit.num_computed_tokens, commit.num_tokens,
                                   commit.num_output_placeholders});
      oracle.insert(oracle.end(), {n.num_computed_tokens, n.num_tokens, n.num_output_placeholders});
    }
    if (engine != oracle)
      return differ("commit (request left stale appended finished c known placeholders)",
                    list(engine), list(oracle));
  }
  if (finished != naive.finished) return differ("finished", list(finished), list(naive.finished));
  return {};
}

std::string ScenarioRun::compare_end(const StepTrace& trace, const NaiveStep& naive) const {
  const BlockPool& pool = engine_.engine().kv_cache().pool();
  const std::vector<int> free_queue = ints(pool.free_queue());
  if (free_queue != naive.free_queue)
    return differ("free queue", list(free_queue), list(naive.free_queue));
  std::vector<int> hashed;
  for (int block = 1; block < pool.num_blocks(); ++block)
    if (pool.key(block).block_hash != 0) hashed.push_back(block);
  if (hashed != naive.hashed) return differ("hashed blocks", list(hashed), list(naive.hashed));
  const auto unfinished = static_cast<int>(naive.running.size() + naive.waiting.size());
  if (trace.num_unfinished != unfinished)
    return differ("unfinished requests", trace.num_unfinished, unfinished);
  return {};
}

}  // namespace hybridscope::test
