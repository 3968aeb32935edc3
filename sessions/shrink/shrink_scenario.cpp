#include "sessions/shrink/shrink_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_writer.h"
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

// Of its file, but for how the policies are called: the name of one may be longer than a profile's.
std::size_t length_of(Scenario scenario) {
  scenario.settings.engine.reset();
  scenario.settings.policies = {};
  return write_scenario(scenario).size();
}

// What a candidate has to be, but for having the finding.
enum class Wanted : std::uint8_t {
  smaller,                  // in what ScenarioSize counts
  smaller_with_same_words,  // and its finding is the same to the letter
  not_larger,               // as it is smaller in what ScenarioSize does not count
};

class Shrinker {
 public:
  Shrinker(const ShrinkOptions& options, Scenario scenario)
      : options_(options), best_(std::move(scenario)) {}

  // Error: there is nothing to shrink.
  Status begin();
  void run();
  ShrunkScenario result() const;

 private:
  bool more() const { return end_ == ShrinkEnd::smallest; }
  bool try_keep(const Scenario& candidate, Wanted wanted);
  Result<ProbedRun> probe(const Scenario& candidate);
  bool has_no_new_error(const ProbedRun& run) const;
  void keep(Scenario candidate, ProbedRun run);

  // What removes most comes first; each answers whether anything went.
  bool drop_what_is_behind();
  template <class Without>
  bool drop_parts(std::size_t count, const Without& without);
  bool drop_settings();
  bool name_the_policy();
  bool script_the_draws();
  bool lower_numbers();
  bool lower(const ScenarioNumber& number);

  const ShrinkOptions& options_;
  Scenario best_;
  ProbedRun best_run_;
  ScenarioSize size_;
  ScenarioSize first_size_;
  std::size_t first_length_ = 0;
  Rule rule_ = Rule::running_state_wrong;
  std::string detail_;
  std::set<std::string> first_errors_;  // of the scenario, before its violation
  std::int64_t num_runs_ = 0;
  ShrinkEnd end_ = ShrinkEnd::smallest;
  // By the text of a candidate: its size, empty if it does not break the rule. Only looked up.
  std::unordered_map<std::string, std::optional<ScenarioSize>> known_;
};

Status Shrinker::begin() {
  best_.expect = {};
  best_.teaches.clear();
  best_.twin.reset();
  ProbeOptions probe{.rule = options_.rule, .detail = options_.detail, .scope = options_.scope};
  if (options_.go_on)
    probe.go_on = [this] { return options_.go_on({.num_runs = num_runs_, .size = size_}); };
  ++num_runs_;
  auto run = probe_run(best_, probe);
  if (!run.ok()) return run.error();
  if (!run.value().violation) {
    const std::string wanted = options_.rule
                                   ? fmt::format("no finding {}", rule_info(*options_.rule).slug)
                                   : std::string("no finding of severity error");
    return Error{ErrorKind::not_found,
                 run.value().stopped ? fmt::format("interrupted: {} until then", wanted) : wanted};
  }
  if (run.value().stopped) end_ = ShrinkEnd::interrupted;
  rule_ = run.value().violation->finding.rule;
  first_errors_ = run.value().errors_before;
  detail_ = run.value().violation->finding.detail;
  best_run_ = std::move(run).value();
  size_ = first_size_ = size_of(best_, best_run_);
  first_length_ = length_of(best_);
  return Ok{};
}

// A candidate's run; it has stopped when the shrinker has to.
Result<ProbedRun> Shrinker::probe(const Scenario& candidate) {
  ++num_runs_;
  ProbeOptions probe{
      .rule = rule_, .detail = detail_, .scope = options_.scope, .max_steps = first_size_.steps};
  if (options_.go_on)
    probe.go_on = [this] { return options_.go_on({.num_runs = num_runs_, .size = size_}); };
  auto run = probe_run(candidate, probe);
  if (run.ok() && run.value().stopped) end_ = ShrinkEnd::interrupted;
  return run;
}

void Shrinker::keep(Scenario candidate, ProbedRun run) {
  best_ = std::move(candidate);
  best_run_ = std::move(run);
  size_ = size_of(best_, best_run_);
}

// Another error that comes first would be another fault, of which the kept one only follows.
bool Shrinker::has_no_new_error(const ProbedRun& run) const {
  return std::includes(first_errors_.begin(), first_errors_.end(), run.errors_before.begin(),
                       run.errors_before.end());
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
  // The reader of files is the judge of what is valid.
  auto read = parse_scenario({.text = text, .file = "candidate"});
  if (!read.ok()) return false;
  auto run = probe(read.value());
  if (end_ == ShrinkEnd::interrupted) return false;
  const bool violates = run.ok() && run.value().violation && has_no_new_error(run.value());
  std::optional<ScenarioSize> size;
  if (violates) size = size_of(read.value(), run.value());
  known_[text] = size;
  if (!size || !fits(*size)) return false;
  if (wanted == Wanted::smaller_with_same_words &&
      run.value().violation->text != best_run_.violation->text)
    return false;
  keep(std::move(read).value(), std::move(run).value());
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

bool Shrinker::name_the_policy() {
  const std::vector<Scenario> candidates = with_one_policy(best_);
  for (const Wanted wanted : {Wanted::smaller_with_same_words, Wanted::smaller})
    for (const Scenario& candidate : candidates)
      if (try_keep(candidate, wanted)) return true;
  return false;
}

// The draws in the script, or as few of them as a certain rate leaves over.
bool Shrinker::script_the_draws() {
  if (best_run_.draws.empty()) return false;
  const std::array<std::optional<int>, 3> rates = {0, 1, std::nullopt};
  for (const std::optional<int> rate : rates)
    if (try_keep(with_scripted_draws(best_, best_run_.draws, rate), Wanted::smaller)) return true;
  return false;
}

// The least value if that does, else by halves: whatever else would do, one less does not.
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
  shrunk.rule = rule_;
  shrunk.violation_step = size_.violation_step;
  shrunk.text = best_run_.violation->text;
  shrunk.size_before = first_size_;
  shrunk.size_after = size_;
  shrunk.num_runs = num_runs_;
  shrunk.end = end_;
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
