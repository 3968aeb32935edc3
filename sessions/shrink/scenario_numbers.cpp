#include "sessions/shrink/scenario_edits.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

using Numbers = std::vector<ScenarioNumber>;

void add(Numbers& numbers, ScenarioNumber number) {
  if (number.value > number.least) numbers.push_back(std::move(number));
}

// Adds a member of request `i`.
template <class T>
void add_of_request(Numbers& numbers, const Scenario& scenario, std::size_t i,
                    T ScenarioRequest::*member, std::int64_t least) {
  add(numbers, {.value = static_cast<std::int64_t>(scenario.requests[i].*member),
                .least = least,
                .set = [i, member](Scenario smaller, std::int64_t value) {
                  smaller.requests[i].*member = static_cast<T>(value);
                  return smaller;
                }});
}

void add_lengths(Numbers& numbers, const Scenario& scenario) {
  for (std::size_t i = 0; i < scenario.requests.size(); ++i) {
    const PromptSpec& prompt = scenario.requests[i].prompt;
    add(numbers,
        {.value = prompt.tokens, .least = 1, .set = [i](Scenario smaller, std::int64_t value) {
           PromptSpec& cut = smaller.requests[i].prompt;
           cut.tokens = static_cast<std::int32_t>(value);
           cut.share_tokens = std::min(cut.share_tokens, cut.tokens);
           return smaller;
         }});
    if (!prompt.share.empty())
      add(numbers, {.value = prompt.share_tokens,
                    .least = 1,
                    .set = [i](Scenario smaller, std::int64_t value) {
                      smaller.requests[i].prompt.share_tokens = static_cast<std::int32_t>(value);
                      return smaller;
                    }});
    add_of_request(numbers, scenario, i, &ScenarioRequest::max_tokens, 1);
  }
}

// Moves every step from `from` on by `value - from`, which is negative.
Scenario with_steps_moved(Scenario smaller, std::int32_t from, std::int64_t value) {
  const auto change = static_cast<std::int32_t>(value - from);
  for (ScenarioRequest& request : smaller.requests)
    if (request.at_step >= from) request.at_step += change;
  for (ScriptStep& step : smaller.script)
    if (step.step >= from) step.step += change;
  return smaller;
}

void add_steps(Numbers& numbers, const Scenario& scenario) {
  std::set<std::int32_t> scripted;
  for (const ScriptStep& step : scenario.script) scripted.insert(step.step);
  std::set<std::int32_t> steps = scripted;
  for (const ScenarioRequest& request : scenario.requests) steps.insert(request.at_step);
  std::int32_t before = 1;
  for (const std::int32_t step : steps) {
    // The script has only one entry per step.
    const bool both_scripted =
        before != step && scripted.contains(before) && scripted.contains(step);
    add(numbers, {.value = step,
                  .least = both_scripted ? before + 1 : before,
                  .set = [step](const Scenario& larger, std::int64_t value) {
                    return with_steps_moved(larger, step, value);
                  }});
    before = step;
  }
  for (std::size_t i = 0; i < scenario.requests.size(); ++i)
    add_of_request(numbers, scenario, i, &ScenarioRequest::at_step, 1);
  for (std::size_t i = 0; i < scenario.script.size(); ++i)
    add(numbers, {.value = scenario.script[i].step,
                  .least = i == 0 ? 1 : scenario.script[i - 1].step + 1,
                  .set = [i](Scenario smaller, std::int64_t value) {
                    smaller.script[i].step = static_cast<std::int32_t>(value);
                    return smaller;
                  }});
}

void add_rest_of_requests(Numbers& numbers, const Scenario& scenario) {
  for (std::size_t i = 0; i < scenario.requests.size(); ++i) {
    add_of_request(numbers, scenario, i, &ScenarioRequest::arrival_us, 0);
    add_of_request(numbers, scenario, i, &ScenarioRequest::cache_salt, 0);
    add_of_request(numbers, scenario, i, &ScenarioRequest::priority, 0);
    // A negative number shrinks towards 0.
    if (const std::int32_t priority = scenario.requests[i].priority; priority < 0)
      add(numbers,
          {.value = -priority, .least = 0, .set = [i](Scenario smaller, std::int64_t value) {
             smaller.requests[i].priority = -static_cast<std::int32_t>(value);
             return smaller;
           }});
  }
}

void add_script(Numbers& numbers, const Scenario& scenario) {
  for (std::size_t i = 0; i < scenario.script.size(); ++i) {
    const ScriptStep& step = scenario.script[i];
    if (step.budget)
      add(numbers,
          {.value = *step.budget, .least = 1, .set = [i](Scenario smaller, std::int64_t value) {
             smaller.script[i].budget = static_cast<std::int32_t>(value);
             return smaller;
           }});
    const auto add_counts = [&](std::vector<RequestCount> ScriptStep::*counts, std::int64_t least) {
      for (std::size_t k = 0; k < (step.*counts).size(); ++k)
        add(numbers, {.value = (step.*counts)[k].count,
                      .least = least,
                      .set = [i, k, counts](Scenario smaller, std::int64_t value) {
                        (smaller.script[i].*counts)[k].count = static_cast<std::int32_t>(value);
                        return smaller;
                      }});
    };
    add_counts(&ScriptStep::accept, 1);
    add_counts(&ScriptStep::drafts, 0);
  }
}

void add_settings(Numbers& numbers, const Scenario& scenario) {
  for (const Setting& row : settings_table()) {
    if (row.kind != SettingKind::integer && row.kind != SettingKind::byte_size) continue;
    if (row.name == "seed") continue;
    const auto value = get_setting(scenario.settings, row);
    const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;  // None is none
    if (number == nullptr) continue;
    const bool is_k = row.name == "num_speculative_tokens";
    add(numbers, {.value = *number,
                  // K = 0 would need another setting to change as well.
                  .least = is_k ? 1 : row.min,
                  .set = [&row, is_k](Scenario smaller, std::int64_t changed) {
                    if (is_k)
                      return with_num_speculative_tokens(smaller,
                                                         static_cast<std::int32_t>(changed));
                    (void)set_setting(smaller.settings, row, setting_value(changed).value()).ok();
                    return smaller;
                  }});
  }
}

}  // namespace

std::vector<ScenarioNumber> scenario_numbers(const Scenario& scenario) {
  Numbers numbers;
  add_lengths(numbers, scenario);
  add_steps(numbers, scenario);
  add_rest_of_requests(numbers, scenario);
  add_script(numbers, scenario);
  add_settings(numbers, scenario);
  return numbers;
}

}  // namespace hybridscope
