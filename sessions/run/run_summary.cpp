#include "sessions/run/run_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/math.h"
#include "core/engine/engine.h"
#include "core/engine/scheduler_setup.h"
#include "core/model/state_shape.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

ExpectationCheck::ExpectationCheck(const Expectation& expectation) : expectation_(expectation) {
  if (expectation_.findings) seen_.assign(expectation_.findings->size(), 0);
}

bool ExpectationCheck::expects(const Finding& finding, const Names& names) {
  if (!expectation_.findings) return false;
  bool expected = false;
  for (std::size_t i = 0; i < expectation_.findings->size(); ++i) {
    const ExpectedFinding& candidate = (*expectation_.findings)[i];
    if (candidate.rule != rule_info(finding.rule).slug) continue;
    if (candidate.step && *candidate.step != finding.step) continue;
    if (candidate.request &&
        (finding.request.value < 0 || *candidate.request != names.request(finding.request)))
      continue;
    ++seen_[i];
    expected = true;
  }
  // A fault that is expected makes a language model say something else.
  const bool follows = rule_info(finding.rule).evidence == Evidence::numbers;
  return expected || (follows && !expectation_.findings->empty());
}

std::vector<std::string> ExpectationCheck::unmet(const RunSummary& summary) const {
  std::vector<std::string> unmet;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i] > 0) continue;
    const ExpectedFinding& missing = (*expectation_.findings)[i];
    unmet.push_back(
        fmt::format("finding {}{}{} did not occur", missing.rule,
                    missing.step ? fmt::format(" at step {}", *missing.step) : "",
                    missing.request ? fmt::format(" of request {}", *missing.request) : ""));
  }
  if (expectation_.steps && *expectation_.steps != summary.steps)
    unmet.push_back(
        fmt::format("expected {} steps, the run took {}", *expectation_.steps, summary.steps));
  if (expectation_.finished && *expectation_.finished != summary.requests_finished)
    unmet.push_back(fmt::format("expected {} finished requests, got {}", *expectation_.finished,
                                summary.requests_finished));
  return unmet;
}

SummaryBuilder::SummaryBuilder(const EngineConfig& config)
    : conv_state_len_(config.conv_kernel - 1 + config.num_speculative_tokens) {
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    GroupBytes bytes;
    if (group.is_mamba()) {
      const auto layers = static_cast<std::int64_t>(group.layers.size());
      for (const StateTensorSpec& state : std::get<MambaSpec>(group.spec).states) {
        std::int64_t size = dtype_size_bytes(state.dtype) * layers;
        for (const std::int64_t dimension : state.shape) size *= dimension;
        if (state.kind == StateKind::conv)
          bytes.conv_position += size / conv_state_len_;
        else
          bytes.temporal += size;
      }
    }
    bytes_.push_back(bytes);
  }
}

std::int64_t SummaryBuilder::copy_bytes(std::int32_t group, std::int32_t accept_token_bias) const {
  const GroupBytes& bytes = bytes_[static_cast<std::size_t>(group)];
  return bytes.temporal + bytes.conv_position * (conv_state_len_ - accept_token_bias);
}

void SummaryBuilder::add(const StepTrace& trace) {
  ++summary_.steps;
  summary_.request_steps += static_cast<std::int64_t>(trace.scheduled.size());
  summary_.preemptions += static_cast<std::int64_t>(trace.preempted.size());
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    if (scheduled.admission == Admission::new_request)
      summary_.prompt_tokens += scheduled.num_prompt_tokens;
    summary_.prefix_hit_tokens += scheduled.num_hit_tokens;
  }
  for (const CommitTrace& commit : trace.committed) {
    summary_.output_tokens += commit.num_appended_tokens;
    summary_.requests_finished += commit.finished ? 1 : 0;
  }
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies}) {
    for (const StateCopyTrace& copy : launch->copies) {
      ++summary_.state_copies;
      summary_.state_copy_bytes += copy_bytes(copy.group, copy.accept_token_bias);
    }
  }
  if (trace.graph.runtime_mode != CUDAGraphMode::none)
    summary_.graph_padded_tokens += trace.graph.num_tokens_padded - trace.num_scheduled_tokens;
}

namespace {

constexpr int kMostTries = 8;

// Who starves in the plan's run; empty: the run is refused or too long.
std::optional<std::vector<StarvedRequest>> starved_in(RunPlan plan, std::int64_t& rows_left) {
  auto run = CheckedRun::create(std::move(plan), {.check = std::nullopt});
  if (!run.ok()) return std::nullopt;
  StarvationWatch watch(run.value().engine().config());
  const auto driven = drive(run.value(), [&](const CheckedStep& step) {
    watch.add(step.trace);
    rows_left -= static_cast<std::int64_t>(step.trace.scheduled.size()) + 1;
    return rows_left > 0 ? Going::on : Going::stop;
  });
  if (!driven.ok() || rows_left <= 0 || run.value().end() != EndReason::finished)
    return std::nullopt;
  return watch.starved();
}

std::int32_t most_missing(const std::vector<StarvedRequest>& starved) {
  std::int32_t most = 1;
  for (const StarvedRequest& one : starved) most = std::max(most, one.num_missing);
  return most;
}

std::optional<std::int32_t> budget_without(const RunPlan& plan, std::vector<StarvedRequest> starved,
                                           std::int64_t max_rows) {
  std::int64_t rows_left = max_rows;
  std::int32_t budget = plan.setup.config.max_num_batched_tokens;
  for (int tries = 0; tries < kMostTries; ++tries) {
    budget += most_missing(starved);
    auto changed = with_settings(
        plan, [budget](EngineSettings& settings) { settings.max_num_batched_tokens = budget; });
    if (!changed.ok() || changed.value().setup.config.max_num_batched_tokens != budget)
      return std::nullopt;
    auto found = starved_in(std::move(changed).value(), rows_left);
    if (!found) return std::nullopt;
    if (found->empty()) return budget;
    starved = std::move(*found);
  }
  return std::nullopt;
}

}  // namespace

StarvationWatch::StarvationWatch(const EngineConfig& config)
    : block_size_(config.block_size), splits_(scheduler_config(config).block_aligned_split) {}

void StarvationWatch::take(std::unordered_map<std::int32_t, StarvedRequest>::iterator waiting) {
  StarvedRequest& longest = longest_[waiting->first];
  if (waiting->second.num_steps > longest.num_steps) longest = waiting->second;
}

void StarvationWatch::add(const StepTrace& trace) {
  if (!splits_) return;
  for (const ScheduledTrace& scheduled : trace.scheduled) waiting_.erase(scheduled.request.value);
  // A budget that a script sets for one step is not the engine's.
  if (trace.budget_overridden) return;
  for (const SkippedRequest& skipped : trace.skipped) {
    const TokenTerms* terms = trace.token_terms_of(skipped.request);
    if (skipped.reason != SkipReason::split_to_zero || terms == nullptr ||
        terms->num_new_tokens < terms->budget_left)
      continue;
    const auto [place, is_new] = waiting_.try_emplace(skipped.request.value);
    StarvedRequest& waiting = place->second;
    if (is_new) {
      waiting.request = skipped.request;
      waiting.first_step = trace.step;
    }
    const std::int32_t start = terms->num_computed_tokens;
    const std::int32_t missing =
        round_down(start, block_size_) + block_size_ - start - terms->num_new_tokens;
    waiting.last_step = trace.step;
    ++waiting.num_steps;
    waiting.most_tokens_left = std::max(waiting.most_tokens_left, terms->budget_left);
    waiting.num_missing = is_new ? missing : std::min(waiting.num_missing, missing);
    take(place);
  }
}

std::vector<StarvedRequest> StarvationWatch::starved() const {
  std::vector<StarvedRequest> all;
  for (const auto& [request, longest] : longest_)
    if (longest.num_steps >= kFewestSteps) all.push_back(longest);
  std::ranges::sort(all, [](const StarvedRequest& a, const StarvedRequest& b) {
    return a.num_steps != b.num_steps ? a.num_steps > b.num_steps : a.request < b.request;
  });
  return all;
}

std::string Starvation::words(const EngineConfig& config) const {
  const StarvedRequest& worst = requests.front().waited;
  std::string text = fmt::format(
      "{} got no token in {} ({} to {}){}: what was left of max_num_batched_tokens {}, at most {}, "
      "reached no end of a block of {}",
      requests.front().name, counted(worst.num_steps, "step"), worst.first_step, worst.last_step,
      requests.size() > 1
          ? fmt::format(", and {} waited so too",
                        counted(static_cast<std::int64_t>(requests.size()) - 1, "other request"))
          : "",
      config.max_num_batched_tokens, counted(worst.most_tokens_left, "token"), config.block_size);
  if (max_num_batched_tokens)
    text += fmt::format("; with max_num_batched_tokens {} no request waits so",
                        *max_num_batched_tokens);
  return text;
}

std::optional<Starvation> find_starvation(const RunPlan& plan, const StarvationWatch& watch,
                                          const Names& names, std::int64_t max_rows) {
  const std::vector<StarvedRequest> starved = watch.starved();
  if (starved.empty()) return std::nullopt;
  Starvation found;
  for (const StarvedRequest& one : starved)
    found.requests.push_back({one, names.request(one.request)});
  if (max_rows > 0) found.max_num_batched_tokens = budget_without(plan, starved, max_rows);
  return found;
}

}  // namespace hybridscope
