#include "sessions/cache_report/changed_plan.h"

#include <fmt/core.h>
#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

// Tokens that no other request has.
PromptSegment own_tokens(const std::string& request, std::int32_t first, std::int32_t length) {
  return {.content = text_content("explain-cache, own tokens of " + request),
          .first = first,
          .length = length};
}

Error no_such_request(const std::string& name) {
  return invalid_input(fmt::format("there is no request \"{}\"", name));
}

Result<RunPlan> checked(RunPlan plan, std::size_t index) {
  const AddRequest& request = plan.requests[index].request;
  const std::int64_t length = num_prompt_tokens(request) + request.max_tokens;
  if (length > plan.setup.config.max_model_len)
    return invalid_input(fmt::format("{} tokens are more than max_model_len {}", length,
                                     plan.setup.config.max_model_len));
  if (Status fits = check_request_fits(plan.setup, request); !fits.ok()) return fits.error();
  return plan;
}

}  // namespace

Result<RunPlan> with_shared_tokens(const RunPlan& plan, const std::string& request,
                                   const std::string& other, std::int32_t num_tokens) {
  const std::ptrdiff_t index = find_planned(plan, request);
  const std::ptrdiff_t source = find_planned(plan, other);
  if (index < 0) return no_such_request(request);
  if (source < 0 || source == index) return no_such_request(other);
  RunPlan changed = plan;
  const AddRequest& shared = changed.requests[static_cast<std::size_t>(source)].request;
  const std::int64_t shared_length = num_prompt_tokens(shared) + shared.max_tokens;
  if (num_tokens > shared_length)
    return invalid_input(fmt::format("the sequence of \"{}\" has {} tokens, not {}", other,
                                     shared_length, num_tokens));
  AddRequest& one = changed.requests[static_cast<std::size_t>(index)].request;
  const auto length = static_cast<std::int32_t>(num_prompt_tokens(one));
  one.prompt = part_of_prompt(sequence_of(shared), 0, num_tokens);
  // Not the rest of the request's own prompt: it might continue like the other sequence.
  one.prompt.push_back(own_tokens(request, num_tokens, std::max(length - num_tokens, 1)));
  return checked(std::move(changed), static_cast<std::size_t>(index));
}

Result<RunPlan> with_longer_prompt(const RunPlan& plan, const std::string& request,
                                   std::int32_t num_more_tokens) {
  const std::ptrdiff_t index = find_planned(plan, request);
  if (index < 0) return no_such_request(request);
  RunPlan changed = plan;
  AddRequest& longer = changed.requests[static_cast<std::size_t>(index)].request;
  longer.prompt.push_back(
      own_tokens(request, static_cast<std::int32_t>(num_prompt_tokens(longer)), num_more_tokens));
  return checked(std::move(changed), static_cast<std::size_t>(index));
}

Result<RunPlan> with_later_request(const RunPlan& plan, const std::string& request,
                                   std::int64_t at_step) {
  const std::ptrdiff_t index = find_planned(plan, request);
  if (index < 0) return no_such_request(request);
  if (at_step > kMaxStep) return invalid_input("a step that no request can join at");
  RunPlan changed = plan;
  changed.requests[static_cast<std::size_t>(index)].at_step = static_cast<std::int32_t>(at_step);
  std::stable_sort(changed.requests.begin(), changed.requests.end(),
                   [](const ArrivingRequest& a, const ArrivingRequest& b) {
                     return std::tie(a.at_step, a.arrival_us) < std::tie(b.at_step, b.arrival_us);
                   });
  return changed;
}

Result<RunPlan> without_drafts(const RunPlan& plan) {
  auto changed = with_settings(plan, [](EngineSettings& settings) {
    settings.num_speculative_tokens = 0;
    settings.speculative_method = SpeculativeMethod::none;
  });
  if (changed.ok()) {
    for (ScriptStep& step : changed.value().script) {
      step.accept.clear();
      step.drafts.clear();
    }
  }
  return changed;
}

CacheReport::RequestOf planned_requests(const RunPlan& plan,
                                        std::function<std::string(RequestId)> name_of) {
  std::unordered_map<std::string, const AddRequest*> by_name;
  for (const ArrivingRequest& arriving : plan.requests)
    by_name.emplace(arriving.request.name, &arriving.request);
  return [by_name = std::move(by_name),
          name_of = std::move(name_of)](RequestId id) -> const AddRequest& {
    const auto found = by_name.find(name_of(id));
    HS_EXPECT(found != by_name.end());
    return *found->second;
  };
}

std::ptrdiff_t find_planned(const RunPlan& plan, const std::string& name) {
  const auto found =
      std::find_if(plan.requests.begin(), plan.requests.end(),
                   [&](const ArrivingRequest& arriving) { return arriving.request.name == name; });
  return found == plan.requests.end() ? -1 : found - plan.requests.begin();
}

}  // namespace hybridscope
