#include <fmt/core.h>
#include <algorithm>

#include "sessions/judge/step_parts.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {

// Reads SchedulerOutput: which requests ended, were admitted, or continue.

namespace {

using Membership = LiveRequests::Membership;

// An unknown name is a request that ended while it waited.
void read_finished(const JsonValue& value, StepContext& context) {
  context.requests.begin_list();
  value.each_element([&](const JsonValue& element) {
    const std::optional<RequestId> request = context.requests.find(element.text());
    if (!request) return;
    context.requests.finish(*request);
    context.step.finished_req_ids.push_back(*request);
  });
}

void read_request_list(const JsonValue& value, StepContext& context, auto visit) {
  context.requests.begin_list();
  value.each_element([&](const JsonValue& element) {
    const RequestId request = live_request(element, context);
    expect_first_in_list(element, request, context);
    visit(element, request);
  });
}

// A live name is a resumed request (V2); its prompt may be left out.
RequestId introduce(const JsonValue& place, std::string_view name, StepContext& context) {
  if (name.size() > kMaxRequestNameBytes)
    place.fail(fmt::format("a request id of {} bytes, expected at most {}", name.size(),
                           kMaxRequestNameBytes));
  const std::optional<RequestId> live = context.requests.find(name);
  const RequestId request = live ? *live : context.requests.add(name);
  LiveRequests::InStep& in_step = context.requests.in_step(request);
  if (in_step.membership != Membership::none)
    place.fail(fmt::format("request {} is listed twice", quoted_text(name)));
  in_step.membership = Membership::scheduled_new_reqs;
  in_step.needs_block_ids = true;
  return request;
}

void read_prompt(const JsonValue& value, bool required, ForeignNewRequest& request,
                 StepContext& context) {
  const std::optional<JsonValue> prompt = value.find("prompt_token_ids");
  if (!prompt && required) value.require("prompt_token_ids");
  if (!prompt) return;
  request.prompt_token_ids = read_token_ids(*prompt, 0, context);
  if (request.prompt_token_ids.count == 0)
    prompt->fail("expected at least one token, found an empty array");
}

void read_new_request(const JsonValue& value, StepContext& context) {
  const JsonValue req_id = value.require("req_id");
  const std::string_view name = req_id.text();
  const bool is_live = context.requests.find(name).has_value();
  ForeignNewRequest request{.request = introduce(req_id, name, context)};
  read_prompt(value, !is_live, request, context);
  request.block_ids = read_block_lists(value.require("block_ids"), context);
  request.num_computed_tokens = read_token_count(value.require("num_computed_tokens"), context);
  request.max_tokens = value.int32_at("max_tokens", {0, INT32_MAX}).value_or(request.max_tokens);
  request.priority = value.int32_at("priority", kAnyInt32).value_or(request.priority);
  if (const auto salt = value.find("cache_salt")) request.cache_salt = text_content(salt->text());
  context.step.scheduled_new_reqs.push_back(request);
}

void read_resumed(const JsonValue& cached, StepContext& context) {
  const std::optional<JsonValue> resumed = cached.find("resumed_req_ids");
  if (!resumed) {  // V2 lists resumed requests among the new ones
    if (context.config.runner == ModelRunner::v1 && !context.step.scheduled_cached_reqs.empty())
      context.step.untold.push_back("scheduler_output/scheduled_cached_reqs/resumed_req_ids");
    return;
  }
  read_request_list(*resumed, context, [&](const JsonValue& element, RequestId request) {
    LiveRequests::InStep& in_step = context.requests.in_step(request);
    if (in_step.membership != Membership::scheduled_cached_reqs)
      element.fail(fmt::format("request {} is not in req_ids",
                               quoted_text(context.requests.name_of(request))));
    in_step.needs_block_ids = true;
  });
}

void read_cached_req_ids(const JsonValue& req_ids, StepContext& context) {
  read_request_list(req_ids, context, [&](const JsonValue& element, RequestId request) {
    LiveRequests::InStep& in_step = context.requests.in_step(request);
    if (in_step.membership == Membership::scheduled_new_reqs)
      element.fail(fmt::format("request {} is in scheduled_new_reqs too",
                               quoted_text(context.requests.name_of(request))));
    in_step.membership = Membership::scheduled_cached_reqs;
    context.step.scheduled_cached_reqs.push_back({.request = request});
  });
}

void read_new_block_ids(const JsonValue& element, ForeignCachedRequest& request,
                        StepContext& context) {
  request.resumed = context.requests.in_step(request.request).needs_block_ids;
  request.new_block_ids = read_optional_block_lists(element, context);
  if (request.resumed && !request.new_block_ids.present())
    element.fail(fmt::format("expected all block ids of the resumed request {}, found null",
                             quoted_text(context.requests.name_of(request.request))));
}

void read_cached_requests(const JsonValue& value, StepContext& context) {
  for (const std::string_view key : {"req_ids", "new_block_ids", "num_computed_tokens"})
    value.require(key);
  std::vector<ForeignCachedRequest>& requests = context.step.scheduled_cached_reqs;
  read_cached_req_ids(value.require("req_ids"), context);
  read_resumed(value, context);
  const std::size_t count = requests.size();
  for_each_parallel(value, "new_block_ids", count, [&](std::size_t i, const JsonValue& e) {
    read_new_block_ids(e, requests[i], context);
  });
  for_each_parallel(value, "num_computed_tokens", count, [&](std::size_t i, const JsonValue& e) {
    requests[i].num_computed_tokens = read_token_count(e, context);
  });
  for_each_parallel(value, "num_output_tokens", count, [&](std::size_t i, const JsonValue& e) {
    requests[i].num_output_tokens = read_token_count(e, context);
  });
}

}  // namespace

void read_preempted_by_command(const JsonValue& value, StepContext& context) {
  read_request_list(value, context, [&](const JsonValue&, RequestId request) {
    context.step.preempted_by_command.push_back(request);
  });
}

void read_scheduler_output(const JsonValue& value, StepContext& context) {
  const JsonValue num_scheduled_tokens = value.require("num_scheduled_tokens");
  const auto needed = [&](std::string_view key, std::string_view path) {
    const auto member = value.find(key);
    if (!member) context.step.untold.push_back(path);
    return member;
  };
  if (const auto finished = needed("finished_req_ids", "scheduler_output/finished_req_ids"))
    read_finished(*finished, context);
  if (const auto admitted = value.find("scheduled_new_reqs"))
    admitted->each_element([&](const JsonValue& element) { read_new_request(element, context); });
  if (const auto cached = value.find("scheduled_cached_reqs"))
    read_cached_requests(*cached, context);
  read_num_scheduled_tokens(num_scheduled_tokens, context);
  if (const auto drafts = value.find("scheduled_spec_decode_tokens"))
    read_drafts(*drafts, context);
  else if (context.limits.num_speculative_tokens > 0)
    context.step.untold.push_back("scheduler_output/scheduled_spec_decode_tokens");
  const auto zeroed = value.find("new_block_ids_to_zero");
  if (zeroed && !zeroed->is_null())
    zeroed->append_int32s({0, context.limits.num_blocks - 1}, context.step.new_block_ids_to_zero);
  if (const auto copies = value.find("kv_cache_block_copies")) read_block_copies(*copies, context);
  if (const auto preempted = needed("preempted_req_ids", "scheduler_output/preempted_req_ids"))
    read_request_list(*preempted, context, [&](const JsonValue&, RequestId request) {
      context.step.preempted_req_ids.push_back(request);
    });
}

// Reads SchedulerOutput: how many tokens each request runs, and which of them are drafts.

namespace {

// A map of live requests. T: {request, what `read` returns}.
template <class T>
void read_map_of_requests(const JsonValue& value, std::vector<T>& out, StepContext& context,
                          auto read) {
  context.requests.begin_list();
  value.each_member([&](std::string_view name, const JsonValue& member) {
    const RequestId request = live_request(member, name, context);
    expect_first_in_list(member, request, context);
    out.push_back({request, read(member, context)});
  });
}

std::int32_t read_draft_count(const JsonValue& value, StepContext& context) {
  return value.int32({0, context.limits.num_speculative_tokens});
}

void expect_has_block_ids(const JsonValue& value, RequestId request, StepContext& context) {
  const LiveRequests::InStep& in_step = context.requests.in_step(request);
  if (!in_step.needs_block_ids) return;
  value.fail(fmt::format(
      "request {} is missing, which this step {}", quoted_text(context.requests.name_of(request)),
      in_step.membership == LiveRequests::Membership::scheduled_new_reqs ? "admits" : "resumes"));
}

using Membership = LiveRequests::Membership;

std::string_view text_of(Membership membership) {
  return membership == Membership::scheduled_new_reqs ? "scheduled_new_reqs"
                                                      : "scheduled_cached_reqs";
}

void read_num_scheduled(std::string_view name, const JsonValue& member, StepContext& context) {
  std::vector<ForeignCount>& counts = context.step.num_scheduled_tokens;
  const RequestId request = live_request(member, name, context);
  expect_first_in_list(member, request, context);
  LiveRequests::InStep& in_step = context.requests.in_step(request);
  if (in_step.membership == Membership::none)
    member.fail(fmt::format("request {} is in neither scheduled_new_reqs nor scheduled_cached_reqs",
                            quoted_text(name)));
  in_step.row = static_cast<std::int32_t>(counts.size());
  counts.push_back({request, member.int32({1, context.limits.max_tokens})});
}

void expect_has_tokens(const JsonValue& value, RequestId request, StepContext& context) {
  const LiveRequests::InStep& in_step = context.requests.in_step(request);
  if (in_step.row >= 0) return;
  value.fail(fmt::format("request {} of {} is missing",
                         quoted_text(context.requests.name_of(request)),
                         text_of(in_step.membership)));
}

void check_batch_size(const JsonValue& value, StepContext& context) {
  const std::vector<ForeignCount>& counts = context.step.num_scheduled_tokens;
  std::int64_t tokens = 0;
  for (const ForeignCount& count : counts) tokens += count.count;
  if (counts.size() > static_cast<std::size_t>(context.limits.max_num_seqs))
    value.fail(fmt::format("{} requests, expected at most {} (max_num_seqs)", counts.size(),
                           context.limits.max_num_seqs));
  if (tokens > context.limits.max_num_batched_tokens)
    value.fail(fmt::format("{} tokens, expected at most {} (max_num_batched_tokens)", tokens,
                           context.limits.max_num_batched_tokens));
}

void check_draft_count(const JsonValue& member, ForeignCount drafts, StepContext& context) {
  const auto row = static_cast<std::size_t>(context.requests.in_step(drafts.request).row);
  const std::int32_t scheduled = context.step.num_scheduled_tokens[row].count;
  if (drafts.count >= scheduled && drafts.count > 0)
    member.fail(fmt::format("length {}, expected at most {} drafts in {} scheduled tokens",
                            drafts.count, scheduled - 1, scheduled));
  if (drafts.count > context.limits.num_speculative_tokens)
    member.fail(fmt::format("length {}, expected at most {} (num_speculative_tokens)", drafts.count,
                            context.limits.num_speculative_tokens));
}

bool admitted(RequestId request, StepContext& context) {
  const LiveRequests::InStep& in_step = context.requests.in_step(request);
  return in_step.membership == Membership::scheduled_new_reqs || in_step.needs_block_ids;
}

// Drafts that are all -1 are the padding of a one-token prompt. For a running request they are -1
// when the scheduler never learns them (asynchronous scheduling, runner V2).
void read_drafts_of(std::string_view name, const JsonValue& member, StepContext& context) {
  const RequestId request = scheduled_request(member, name, context);
  expect_first_in_list(member, request, context);
  const IdRange ids = read_token_ids(member, -1, context);
  const ForeignCount drafts{request, static_cast<std::int32_t>(ids.count)};
  check_draft_count(member, drafts, context);
  context.step.scheduled_spec_decode_tokens.push_back(drafts);
  const auto tokens = context.step.at(ids);
  const bool all_placeholders =
      std::ranges::all_of(tokens, [](std::int32_t id) { return id == -1; });
  if (!tokens.empty() && all_placeholders && admitted(request, context))
    context.step.placeholder_drafts.push_back(request);
}

}  // namespace

void read_scheduler_block_ids(const JsonValue& value, StepContext& context) {
  read_map_of_requests(value, context.step.scheduler_block_ids, context, read_block_lists);
  for (const ForeignBlockIds& traced : context.step.scheduler_block_ids)
    context.requests.in_step(traced.request).needs_block_ids = false;
  for (const ForeignNewRequest& request : context.step.scheduled_new_reqs)
    expect_has_block_ids(value, request.request, context);
  for (const ForeignCachedRequest& request : context.step.scheduled_cached_reqs)
    expect_has_block_ids(value, request.request, context);
}

void read_num_cached_block(const JsonValue& value, StepContext& context) {
  read_map_of_requests(value, context.step.num_cached_block, context, read_cached_block_counts);
}

void read_num_tokens_after_output(const JsonValue& value, StepContext& context) {
  read_map_of_requests(value, context.step.num_tokens_after_output, context, read_token_count);
}

void read_num_scheduled_tokens(const JsonValue& value, StepContext& context) {
  context.requests.begin_list();
  value.each_member([&](std::string_view name, const JsonValue& member) {
    read_num_scheduled(name, member, context);
  });
  for (const ForeignNewRequest& request : context.step.scheduled_new_reqs)
    expect_has_tokens(value, request.request, context);
  for (const ForeignCachedRequest& request : context.step.scheduled_cached_reqs)
    expect_has_tokens(value, request.request, context);
  check_batch_size(value, context);
}

void read_drafts_offered(const JsonValue& value, StepContext& context) {
  context.requests.begin_list();
  value.each_member([&](std::string_view name, const JsonValue& member) {
    const RequestId request = scheduled_request(member, name, context);
    expect_first_in_list(member, request, context);
    context.step.num_drafts_offered.push_back({request, read_draft_count(member, context)});
  });
}

void read_drafts_proposed(const JsonValue& value, StepContext& context) {
  read_map_of_requests(value, context.step.num_drafts_proposed, context, read_draft_count);
}

void read_drafts(const JsonValue& value, StepContext& context) {
  context.requests.begin_list();
  value.each_member([&](std::string_view name, const JsonValue& member) {
    read_drafts_of(name, member, context);
  });
}

}  // namespace hybridscope
