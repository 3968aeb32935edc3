// What the scheduler's KVCacheManager held for each request after scheduling.
#include <fmt/format.h>

#include "sessions/judge/step_parts.h"

namespace hybridscope {
namespace {

void read_lists_of_requests(const LineValue& value, std::vector<ForeignBlockIds>& out,
                            StepContext& context, auto read_lists) {
  context.requests.begin_list();
  for_each_member(value, context.errors, [&](const LineValue& member) {
    const std::optional<RequestId> request = live_request(member, member.key, context);
    if (!request) return;
    expect_first_in_list(member, *request, context);
    out.push_back({*request, read_lists(member, context)});
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

// One count a group, each as a list of one.
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

}  // namespace

void read_scheduler_block_ids(const LineValue& value, StepContext& context) {
  read_lists_of_requests(value, context.step.scheduler_block_ids, context, read_block_lists);
  if (context.errors.failed()) return;
  for (const ForeignBlockIds& told : context.step.scheduler_block_ids)
    context.requests.in_step(told.request).needs_block_ids = false;
  for (const ForeignNewRequest& request : context.step.scheduled_new_reqs)
    expect_has_block_ids(value, request.request, context);
  for (const ForeignCachedRequest& request : context.step.scheduled_cached_reqs)
    expect_has_block_ids(value, request.request, context);
}

void read_num_cached_block(const LineValue& value, StepContext& context) {
  read_lists_of_requests(value, context.step.num_cached_block, context, read_cached_block_counts);
}

}  // namespace hybridscope
