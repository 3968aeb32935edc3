// Reads SchedulerOutput: how many tokens each request runs, and which of them are drafts.
#include <fmt/core.h>

#include <algorithm>

#include "sessions/judge/step_parts.h"

namespace hybridscope {

namespace {

// A map of live requests. T: {request, what `read` returns}.
template <class T>
void read_map_of_requests(const LineValue& value, std::vector<T>& out, StepContext& context,
                          auto read) {
  context.requests.begin_list();
  for_each_member(value, context.errors, [&](const LineValue& member) {
    const std::optional<RequestId> request = live_request(member, member.key, context);
    if (!request) return;
    expect_first_in_list(member, *request, context);
    out.push_back({*request, read(member, context)});
  });
}

void expect_has_block_ids(const LineValue& value, RequestId request, StepContext& context) {
  const LiveRequests::InStep& in_step = context.requests.in_step(request);
  if (!in_step.needs_block_ids) return;
  fail(value,
       fmt::format("request {} is missing, which this step {}",
                   quoted_text(context.requests.name_of(request)),
                   in_step.membership == LiveRequests::Membership::scheduled_new_reqs ? "admits"
                                                                                      : "resumes"),
       context.errors);
}

// One count per group, each as a list of one.
BlockLists read_cached_block_counts(const LineValue& value, StepContext& context) {
  ForeignStep& step = context.step;
  const BlockLists result{.first = static_cast<std::uint32_t>(step.lists.size())};
  std::size_t group = 0;
  const auto num_groups = static_cast<std::size_t>(context.limits.num_groups());
  for_each_element(value, context.errors, [&](const LineValue& element) {
    if (group < num_groups) {
      step.lists.push_back({static_cast<std::uint32_t>(step.ids.size()), 1});
      step.ids.push_back(int32_of(element, {0, context.limits.max_columns[group]}, context.errors));
    }
    ++group;
  });
  if (!context.errors.failed() && group != num_groups)
    fail(value, fmt::format("length {}, expected {} (a count a KV-cache group)", group, num_groups),
         context.errors);
  return result;
}

using Membership = LiveRequests::Membership;

std::string_view text_of(Membership membership) {
  return membership == Membership::scheduled_new_reqs ? "scheduled_new_reqs"
                                                      : "scheduled_cached_reqs";
}

void read_num_scheduled(const LineValue& member, StepContext& context) {
  std::vector<ForeignCount>& counts = context.step.num_scheduled_tokens;
  const std::optional<RequestId> request = live_request(member, member.key, context);
  if (!request) return;
  expect_first_in_list(member, *request, context);
  LiveRequests::InStep& in_step = context.requests.in_step(*request);
  if (in_step.membership == Membership::none)
    fail(member,
         fmt::format("request {} is in neither scheduled_new_reqs nor scheduled_cached_reqs",
                     quoted_text(member.key)),
         context.errors);
  in_step.row = static_cast<std::int32_t>(counts.size());
  counts.push_back({*request, int32_of(member, {1, context.limits.max_tokens}, context.errors)});
}

void expect_has_tokens(const LineValue& value, RequestId request, StepContext& context) {
  const LiveRequests::InStep& in_step = context.requests.in_step(request);
  if (in_step.row >= 0) return;
  fail(value,
       fmt::format("request {} of {} is missing", quoted_text(context.requests.name_of(request)),
                   text_of(in_step.membership)),
       context.errors);
}

void check_batch_size(const LineValue& value, StepContext& context) {
  const std::vector<ForeignCount>& counts = context.step.num_scheduled_tokens;
  std::int64_t tokens = 0;
  for (const ForeignCount& count : counts) tokens += count.count;
  if (counts.size() > static_cast<std::size_t>(context.limits.max_num_seqs))
    fail(value,
         fmt::format("{} requests, expected at most {} (max_num_seqs)", counts.size(),
                     context.limits.max_num_seqs),
         context.errors);
  if (tokens > context.limits.max_num_batched_tokens)
    fail(value,
         fmt::format("{} tokens, expected at most {} (max_num_batched_tokens)", tokens,
                     context.limits.max_num_batched_tokens),
         context.errors);
}

void check_draft_count(const LineValue& member, ForeignCount drafts, StepContext& context) {
  const auto row = static_cast<std::size_t>(context.requests.in_step(drafts.request).row);
  const std::int32_t scheduled = context.step.num_scheduled_tokens[row].count;
  if (drafts.count >= scheduled && drafts.count > 0)
    fail(member,
         fmt::format("length {}, expected at most {} drafts in {} scheduled tokens", drafts.count,
                     scheduled - 1, scheduled),
         context.errors);
  if (drafts.count > context.limits.num_speculative_tokens)
    fail(member,
         fmt::format("length {}, expected at most {} (num_speculative_tokens)", drafts.count,
                     context.limits.num_speculative_tokens),
         context.errors);
}

bool admitted(RequestId request, StepContext& context) {
  const LiveRequests::InStep& in_step = context.requests.in_step(request);
  return in_step.membership == Membership::scheduled_new_reqs || in_step.needs_block_ids;
}

// Drafts that are all -1 are the padding of a one-token prompt. For a running request they are -1
// when the scheduler never learns them (asynchronous scheduling, runner V2).
void read_drafts_of(const LineValue& member, StepContext& context) {
  const std::optional<RequestId> request = scheduled_request(member, member.key, context);
  if (!request) return;
  expect_first_in_list(member, *request, context);
  const IdRange ids = read_token_ids(member, -1, context);
  if (context.errors.failed()) return;
  const ForeignCount drafts{*request, static_cast<std::int32_t>(ids.count)};
  check_draft_count(member, drafts, context);
  context.step.scheduled_spec_decode_tokens.push_back(drafts);
  const auto tokens = context.step.at(ids);
  const bool all_placeholders =
      std::ranges::all_of(tokens, [](std::int32_t id) { return id == -1; });
  if (!tokens.empty() && all_placeholders && admitted(*request, context))
    context.step.placeholder_drafts.push_back(*request);
}

}  // namespace

void read_scheduler_block_ids(const LineValue& value, StepContext& context) {
  read_map_of_requests(value, context.step.scheduler_block_ids, context, read_block_lists);
  if (context.errors.failed()) return;
  for (const ForeignBlockIds& traced : context.step.scheduler_block_ids)
    context.requests.in_step(traced.request).needs_block_ids = false;
  for (const ForeignNewRequest& request : context.step.scheduled_new_reqs)
    expect_has_block_ids(value, request.request, context);
  for (const ForeignCachedRequest& request : context.step.scheduled_cached_reqs)
    expect_has_block_ids(value, request.request, context);
}

void read_num_cached_block(const LineValue& value, StepContext& context) {
  read_map_of_requests(value, context.step.num_cached_block, context, read_cached_block_counts);
}

void read_num_tokens_after_output(const LineValue& value, StepContext& context) {
  read_map_of_requests(value, context.step.num_tokens_after_output, context, read_token_count);
}

void read_num_scheduled_tokens(const LineValue& value, StepContext& context) {
  context.requests.begin_list();
  for_each_member(value, context.errors,
                  [&](const LineValue& member) { read_num_scheduled(member, context); });
  if (context.errors.failed()) return;
  for (const ForeignNewRequest& request : context.step.scheduled_new_reqs)
    expect_has_tokens(value, request.request, context);
  for (const ForeignCachedRequest& request : context.step.scheduled_cached_reqs)
    expect_has_tokens(value, request.request, context);
  check_batch_size(value, context);
}

void read_drafts_offered(const LineValue& value, StepContext& context) {
  context.requests.begin_list();
  for_each_member(value, context.errors, [&](const LineValue& member) {
    const std::optional<RequestId> request = scheduled_request(member, member.key, context);
    if (!request) return;
    expect_first_in_list(member, *request, context);
    context.step.num_drafts_offered.push_back(
        {*request, int32_of(member, {0, context.limits.num_speculative_tokens}, context.errors)});
  });
}

void read_drafts_proposed(const LineValue& value, StepContext& context) {
  context.requests.begin_list();
  for_each_member(value, context.errors, [&](const LineValue& member) {
    const std::optional<RequestId> request = live_request(member, member.key, context);
    if (!request) return;
    expect_first_in_list(member, *request, context);
    context.step.num_drafts_proposed.push_back(
        {*request, int32_of(member, {0, context.limits.num_speculative_tokens}, context.errors)});
  });
}

void read_drafts(const LineValue& value, StepContext& context) {
  context.requests.begin_list();
  for_each_member(value, context.errors,
                  [&](const LineValue& member) { read_drafts_of(member, context); });
}

}  // namespace hybridscope
