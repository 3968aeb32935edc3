#include "sessions/shrink/shrink_scenario.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_writer.h"
#include "sessions/shrink/kept_chain.h"
#include "sessions/shrink/list_reduction.h"
#include "sessions/shrink/probe_run.h"
#include "sessions/shrink/scenario_edits.h"
#include "sessions/shrink/scenario_numbers.h"

namespace hybridscope {
namespace {

ScenarioSize size_of(const Scenario& scenario, const ProbedRun& run) {
  return {
      .whole_profiles =
          scenario.settings.engine.value_or(EngineProfile::safe) == EngineProfile::safe ? 0 : 1,
      .requests = static_cast<std::int64_t>(scenario.requests.size()),
      .draws = static_cast<std::int64_t>(run.draws.size()),
      .script_things = static_cast<std::int64_t>(split_script(scenario.script).size()),
      .settings = static_cast<std::int64_t>(set_settings(scenario.settings).size()),
      .shared_prompts = static_cast<std::int64_t>(sharing_requests(scenario).size()),
      .violation_step = run.violation->finding.step,
      .steps = run.num_steps,
  };
}

// The length of its file without policies: the name of one policy may be longer than a profile's.
std::size_t length_of(Scenario scenario) {
  scenario.settings.engine.reset();
  scenario.settings.policies = {};
  return write_scenario(scenario).size();
}

// The condition on a candidate besides having the finding.
enum class Wanted : std::uint8_t {
  smaller,                  // smaller by ScenarioSize
  smaller_with_same_words,  // smaller, and the finding's text is unchanged
  not_larger,               // not larger by ScenarioSize; the caller lowers something else
};

class Shrinker {
 public:
  Shrinker(const ShrinkOptions& options, Scenario scenario)
      : options_(options),
        chain_(options,
               options.go_on
                   ? [this] { return options_.go_on({.num_runs = num_runs_, .size = size_}); }
                   : std::function<bool()>()),
        best_(std::move(scenario)) {}

  // Error: there is nothing to shrink.
  Status begin();
  void run();
  ShrunkScenario result() const;

 private:
  bool more() const { return end_ == ShrinkEnd::smallest && !chain_.was_stopped(); }
  bool try_keep(const Scenario& candidate, Wanted wanted);
  void keep(Scenario candidate, ProbedRun run);

  // In order of how much they usually remove; each returns whether anything was removed.
  bool drop_what_is_behind();
  template <class Without>
  bool drop_parts(std::size_t count, const Without& without);
  bool drop_settings();
  bool name_the_policy();
  bool script_the_draws();
  bool lower_numbers();
  bool lower(const ScenarioNumber& number);

  const ShrinkOptions& options_;
  KeptChain chain_;
  Scenario best_;
  ProbedRun best_run_;
  ScenarioSize size_;
  ScenarioSize first_size_;
  std::size_t first_length_ = 0;
  std::int64_t num_runs_ = 0;
  ShrinkEnd end_ = ShrinkEnd::smallest;
  // Candidates by their text: the size, or empty if the rule is not broken. Only used for lookups.
  std::unordered_map<std::string, std::optional<ScenarioSize>> known_;
};

Status Shrinker::begin() {
  best_.expect = {};
  best_.teaches.clear();
  best_.twin.reset();
  ++num_runs_;
  auto run = chain_.choose(best_);
  if (!run.ok()) return run.error();
  best_run_ = std::move(run).value();
  size_ = first_size_ = size_of(best_, best_run_);
  first_length_ = length_of(best_);
  return Ok{};
}

void Shrinker::keep(Scenario candidate, ProbedRun run) {
  best_ = std::move(candidate);
  best_run_ = std::move(run);
  size_ = size_of(best_, best_run_);
}

bool Shrinker::try_keep(const Scenario& candidate, Wanted wanted) {
  if (!more() || candidate == best_) return false;
  if (length_of(candidate) > first_length_) return false;
  const std::string text = write_scenario(candidate);
  const auto fits = [&](const ScenarioSize& size) {
    return size.violation_step <= first_size_.violation_step &&
           (wanted == Wanted::not_larger ? size <= size_ : size < size_);
  };
  const auto known = known_.find(text);
  if (known != known_.end() && !(known->second && fits(*known->second))) return false;
  if (num_runs_ >= options_.max_runs) {
    end_ = ShrinkEnd::run_limit;
    return false;
  }
  // The scenario reader decides whether a candidate is valid.
  auto read = parse_scenario({.text = text, .file = "candidate"});
  if (!read.ok()) return false;
  ++num_runs_;
  auto run = chain_.violating_run(read.value());
  if (!more()) return false;
  std::optional<ScenarioSize> size;
  if (run) size = size_of(read.value(), *run);
  if (size && fits(*size) && !chain_.has_same_cause(read.value(), *run)) size.reset();
  known_[text] = size;
  if (!size || !fits(*size)) return false;
  if (wanted == Wanted::smaller_with_same_words &&
      run->violation->text != best_run_.violation->text)
    return false;
  keep(std::move(read).value(), std::move(*run));
  return true;
}

bool Shrinker::drop_what_is_behind() {
  const std::int64_t step = size_.violation_step;
  for (const std::int32_t margin : {0, 1, 1 << 20}) {
    const Scenario cut = cut_behind(best_, step, best_run_.num_output_tokens, margin);
    if (try_keep(cut, Wanted::not_larger)) return true;
  }
  return false;
}

template <class Without>
bool Shrinker::drop_parts(std::size_t count, const Without& without) {
  return reduce_list(
      count,
      [&](std::size_t first, std::size_t part) {
        return try_keep(without(best_, ListPart{first, part}), Wanted::smaller);
      },
      [this] { return more(); });
}

bool Shrinker::drop_settings() {
  return drop_parts(set_settings(best_.settings).size(),
                    [this](const Scenario& scenario, ListPart part) {
                      Scenario smaller = without_settings(scenario, part);
                      if (options_.keep_max_model_len)
                        smaller.settings.max_model_len = scenario.settings.max_model_len;
                      return smaller;
                    });
}

// A release stays as it is: with one policy on profile safe it would be an engine that nobody runs.
bool Shrinker::name_the_policy() {
  if (release_of(best_.settings)) return false;
  const std::vector<Scenario> candidates = with_one_policy(best_);
  for (const Wanted wanted : {Wanted::smaller_with_same_words, Wanted::smaller})
    for (const Scenario& candidate : candidates)
      if (try_keep(candidate, wanted)) return true;
  return false;
}

// Scripts all draws, or only those that a fixed acceptance rate does not give.
bool Shrinker::script_the_draws() {
  if (best_run_.draws.empty()) return false;
  const std::array<std::optional<int>, 3> rates = {0, 1, std::nullopt};
  for (const std::optional<int> rate : rates)
    if (try_keep(with_scripted_draws(best_, best_run_.draws, rate), Wanted::smaller)) return true;
  return false;
}

// Tries the least value, then bisects down to a value that holds while one less does not.
bool Shrinker::lower(const ScenarioNumber& number) {
  const Scenario start = best_;
  const auto lowered = [&](std::int64_t value) {
    return try_keep(number.set(start, value), Wanted::not_larger);
  };
  if (lowered(number.least)) return true;
  std::int64_t fails = number.least;
  std::int64_t holds = number.value;
  while (more() && holds - fails > 1) {
    const std::int64_t middle = fails + (holds - fails) / 2;
    (lowered(middle) ? holds : fails) = middle;
  }
  return holds != number.value;
}

bool Shrinker::lower_numbers() {
  bool lowered = false;
  for (std::size_t i = 0; more(); ++i) {
    const std::vector<ScenarioNumber> numbers = scenario_numbers(best_);
    if (i >= numbers.size()) break;
    lowered = lower(numbers[i]) || lowered;
  }
  return lowered;
}

void Shrinker::run() {
  for (bool smaller = true; smaller && more();) {
    smaller = drop_what_is_behind();
    smaller = name_the_policy() || smaller;
    smaller = drop_parts(best_.requests.size(), without_requests) || smaller;
    smaller = drop_parts(split_script(best_.script).size(), without_script) || smaller;
    smaller = drop_parts(sharing_requests(best_).size(), without_sharing) || smaller;
    smaller = drop_settings() || smaller;
    smaller = script_the_draws() || smaller;
    smaller = lower_numbers() || smaller;
  }
}

ShrunkScenario Shrinker::result() const {
  ShrunkScenario shrunk;
  shrunk.scenario = best_;
  shrunk.scenario.expect.findings = best_run_.found;
  shrunk.rule = chain_.rule();
  shrunk.violation_step = size_.violation_step;
  shrunk.text = best_run_.violation->text;
  shrunk.cause = chain_.cause();
  shrunk.size_before = first_size_;
  shrunk.size_after = size_;
  shrunk.num_runs = num_runs_;
  shrunk.end = chain_.was_stopped() ? ShrinkEnd::interrupted : end_;
  return shrunk;
}

}  // namespace

ScenarioTokens count_tokens(const Scenario& scenario) {
  ScenarioTokens tokens;
  for (const ScenarioRequest& request : scenario.requests) {
    tokens.prompt += request.prompt.tokens;
    tokens.output += request.max_tokens;
  }
  return tokens;
}

Result<ShrunkScenario> shrink_scenario(const Scenario& scenario, const ShrinkOptions& options) {
  Shrinker shrinker(options, scenario);
  if (Status begun = shrinker.begin(); !begun.ok()) return begun.error();
  shrinker.run();
  return shrinker.result();
}

}  // namespace hybridscope
