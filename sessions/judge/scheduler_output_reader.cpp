// Reads SchedulerOutput: which requests ended, were admitted, or continue.
#include <fmt/core.h>

#include "sessions/judge/step_parts.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

using Membership = LiveRequests::Membership;

// An unknown name is a request that ended while it waited.
void read_finished(const LineValue& value, StepContext& context) {
  context.requests.begin_list();
  for_each_element(value, context.errors, [&](const LineValue& element) {
    const std::optional<RequestId> request =
        context.requests.find(string_of(element, context.errors));
    if (!request || context.errors.failed()) return;
    context.requests.finish(*request);
    context.step.finished_req_ids.push_back(*request);
  });
}

void read_request_list(const LineValue& value, StepContext& context, auto visit) {
  context.requests.begin_list();
  for_each_element(value, context.errors, [&](const LineValue& element) {
    const std::optional<RequestId> request = live_request(element, context);
    if (!request) return;
    expect_first_in_list(element, *request, context);
    visit(element, *request);
  });
}

// A live name is a resumed request (V2); its prompt may be left out.
RequestId introduce(const LineValue& place, std::string_view name, StepContext& context) {
  if (name.size() > kMaxRequestNameBytes)
    fail(place,
         fmt::format("a request id of {} bytes, expected at most {}", name.size(),
                     kMaxRequestNameBytes),
         context.errors);
  const std::optional<RequestId> live = context.requests.find(name);
  const RequestId request = live ? *live : context.requests.add(name);
  LiveRequests::InStep& in_step = context.requests.in_step(request);
  if (in_step.membership != Membership::none)
    fail(place, fmt::format("request {} is listed twice", quoted_text(name)), context.errors);
  in_step.membership = Membership::scheduled_new_reqs;
  in_step.needs_block_ids = true;
  return request;
}

void read_prompt(const LineValue& value, bool required, ForeignNewRequest& request,
                 StepContext& context) {
  const std::optional<LineValue> prompt =
      required ? require_member(value, "prompt_token_ids", context.errors)
               : find_member(value, "prompt_token_ids");
  if (!prompt) return;
  request.prompt_token_ids = read_token_ids(*prompt, 0, context);
  if (request.prompt_token_ids.count == 0)
    fail(*prompt, "expected at least one token, found an empty array", context.errors);
}

void read_new_request(const LineValue& value, StepContext& context) {
  JsonErrors& errors = context.errors;
  const std::optional<LineValue> req_id = require_member(value, "req_id", errors);
  if (!req_id) return;
  const std::string_view name = string_of(*req_id, errors);
  if (errors.failed()) return;
  const bool is_live = context.requests.find(name).has_value();
  ForeignNewRequest request{.request = introduce(*req_id, name, context)};
  read_prompt(value, !is_live, request, context);
  if (const auto ids = require_member(value, "block_ids", errors))
    request.block_ids = read_block_lists(*ids, context);
  if (const auto computed = require_member(value, "num_computed_tokens", errors))
    request.num_computed_tokens = read_token_count(*computed, context);
  if (const auto max_tokens = find_member(value, "max_tokens"))
    request.max_tokens = int32_of(*max_tokens, {0, INT32_MAX}, errors);
  if (const auto priority = find_member(value, "priority"))
    request.priority = int32_of(*priority, {INT32_MIN, INT32_MAX}, errors);
  if (const auto salt = find_member(value, "cache_salt"))
    request.cache_salt = text_content(string_of(*salt, errors));
  context.step.scheduled_new_reqs.push_back(request);
}

void read_resumed(const LineValue& cached, StepContext& context) {
  const std::optional<LineValue> resumed = find_member(cached, "resumed_req_ids");
  if (!resumed) {  // V2 lists resumed requests among the new ones
    if (context.config.runner == ModelRunner::v1 && !context.step.scheduled_cached_reqs.empty())
      context.step.untold.push_back("scheduler_output/scheduled_cached_reqs/resumed_req_ids");
    return;
  }
  read_request_list(*resumed, context, [&](const LineValue& element, RequestId request) {
    LiveRequests::InStep& in_step = context.requests.in_step(request);
    if (in_step.membership != Membership::scheduled_cached_reqs)
      fail(element,
           fmt::format("request {} is not in req_ids",
                       quoted_text(context.requests.name_of(request))),
           context.errors);
    in_step.needs_block_ids = true;
  });
}

void read_cached_req_ids(const LineValue& req_ids, StepContext& context) {
  read_request_list(req_ids, context, [&](const LineValue& element, RequestId request) {
    LiveRequests::InStep& in_step = context.requests.in_step(request);
    if (in_step.membership == Membership::scheduled_new_reqs)
      fail(element,
           fmt::format("request {} is in scheduled_new_reqs too",
                       quoted_text(context.requests.name_of(request))),
           context.errors);
    in_step.membership = Membership::scheduled_cached_reqs;
    context.step.scheduled_cached_reqs.push_back({.request = request});
  });
}

void read_new_block_ids(const LineValue& element, ForeignCachedRequest& request,
                        StepContext& context) {
  request.resumed = context.requests.in_step(request.request).needs_block_ids;
  request.new_block_ids = read_optional_block_lists(element, context);
  if (request.resumed && !request.new_block_ids.present())
    fail(element,
         fmt::format("expected all block ids of the resumed request {}, found null",
                     quoted_text(context.requests.name_of(request.request))),
         context.errors);
}

void read_cached_requests(const LineValue& value, StepContext& context) {
  JsonErrors& errors = context.errors;
  for (const std::string_view key : {"req_ids", "new_block_ids", "num_computed_tokens"})
    if (!require_member(value, key, errors)) return;
  std::vector<ForeignCachedRequest>& requests = context.step.scheduled_cached_reqs;
  read_cached_req_ids(*find_member(value, "req_ids"), context);
  read_resumed(value, context);
  if (errors.failed()) return;
  const std::size_t count = requests.size();
  for_each_parallel(value, "new_block_ids", count, context, [&](std::size_t i, const LineValue& e) {
    read_new_block_ids(e, requests[i], context);
  });
  for_each_parallel(value, "num_computed_tokens", count, context,
                    [&](std::size_t i, const LineValue& e) {
                      requests[i].num_computed_tokens = read_token_count(e, context);
                    });
  for_each_parallel(value, "num_output_tokens", count, context,
                    [&](std::size_t i, const LineValue& e) {
                      requests[i].num_output_tokens = read_token_count(e, context);
                    });
}

}  // namespace

void read_preempted_by_command(const LineValue& value, StepContext& context) {
  read_request_list(value, context, [&](const LineValue&, RequestId request) {
    context.step.preempted_by_command.push_back(request);
  });
}

void read_scheduler_output(const LineValue& value, StepContext& context) {
  JsonErrors& errors = context.errors;
  const auto num_scheduled_tokens = require_member(value, "num_scheduled_tokens", errors);
  if (!num_scheduled_tokens) return;
  const auto needed = [&](std::string_view key, std::string_view path) {
    const auto member = find_member(value, key);
    if (!member) context.step.untold.push_back(path);
    return member;
  };
  if (const auto finished = needed("finished_req_ids", "scheduler_output/finished_req_ids"))
    read_finished(*finished, context);
  if (const auto admitted = find_member(value, "scheduled_new_reqs"))
    for_each_element(*admitted, errors,
                     [&](const LineValue& element) { read_new_request(element, context); });
  if (const auto cached = find_member(value, "scheduled_cached_reqs"))
    read_cached_requests(*cached, context);
  if (!errors.failed()) read_num_scheduled_tokens(*num_scheduled_tokens, context);
  if (const auto drafts = find_member(value, "scheduled_spec_decode_tokens"))
    read_drafts(*drafts, context);
  else if (context.limits.num_speculative_tokens > 0)
    context.step.untold.push_back("scheduler_output/scheduled_spec_decode_tokens");
  const auto zeroed = find_member(value, "new_block_ids_to_zero");
  if (zeroed && !zeroed->element.is_null())
    append_integers(*zeroed, {0, context.limits.num_blocks - 1}, context.step.new_block_ids_to_zero,
                    context.errors);
  if (const auto copies = find_member(value, "kv_cache_block_copies"))
    read_block_copies(*copies, context);
  if (const auto preempted = needed("preempted_req_ids", "scheduler_output/preempted_req_ids"))
    read_request_list(*preempted, context, [&](const LineValue&, RequestId request) {
      context.step.preempted_req_ids.push_back(request);
    });
}

}  // namespace hybridscope
