#include "sessions/judge/step_parts.h"

#include <fmt/format.h>

namespace hybridscope {

std::optional<RequestId> live_request(const LineValue& value, StepContext& context) {
  const std::string_view name = string_of(value, context.errors);
  if (context.errors.failed()) return std::nullopt;
  return live_request(value, name, context);
}

std::optional<RequestId> live_request(const LineValue& place, std::string_view name,
                                      StepContext& context) {
  const std::optional<RequestId> request = context.requests.find(name);
  if (!request)
    fail(place, fmt::format("request {} was never introduced or is finished", quoted_text(name)),
         context.errors);
  return request;
}

std::optional<RequestId> scheduled_request(const LineValue& place, std::string_view name,
                                           StepContext& context) {
  const std::optional<RequestId> request = live_request(place, name, context);
  if (!request || context.requests.in_step(*request).row >= 0) return request;
  fail(place, fmt::format("request {} is not in num_scheduled_tokens", quoted_text(name)),
       context.errors);
  return std::nullopt;
}

void expect_first_in_list(const LineValue& place, RequestId request, StepContext& context) {
  if (context.requests.first_in_list(request)) return;
  fail(place,
       fmt::format("request {} stands here twice", quoted_text(context.requests.name_of(request))),
       context.errors);
}

BlockLists read_block_lists(const LineValue& value, StepContext& context) {
  ForeignStep& step = context.step;
  const BlockLists result{.first = static_cast<std::uint32_t>(step.lists.size())};
  const IntegerRange ids{0, context.limits.num_blocks - 1};
  const auto num_groups = static_cast<std::size_t>(context.limits.num_groups());
  std::size_t group = 0;
  for_each_element(value, context.errors, [&](const LineValue& list) {
    if (group < num_groups) {
      const std::size_t first = step.ids.size();
      append_integers(list, ids, step.ids, context.errors);
      const std::size_t count = step.ids.size() - first;
      const auto most = static_cast<std::size_t>(context.limits.max_columns[group]);
      if (count > most)
        fail(list,
             fmt::format("{} columns, expected at most {}: max_model_len {} in blocks of {}, and "
                         "1 + K",
                         count, most, context.config.max_model_len,
                         context.config.kv_cache_config.groups[group].block_size()),
             context.errors);
      step.lists.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)});
    }
    ++group;
  });
  if (!context.errors.failed() && group != num_groups)
    fail(value, fmt::format("length {}, expected {} (a list a KV-cache group)", group, num_groups),
         context.errors);
  return result;
}

BlockLists read_optional_block_lists(const LineValue& value, StepContext& context) {
  return value.element.is_null() ? BlockLists{} : read_block_lists(value, context);
}

IdRange read_token_ids(const LineValue& value, std::int32_t min, StepContext& context) {
  std::vector<std::int32_t>& ids = context.step.ids;
  const std::size_t first = ids.size();
  append_integers(value, {min, INT32_MAX}, ids, context.errors);
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(ids.size() - first)};
}

std::int32_t read_token_count(const LineValue& value, StepContext& context) {
  return int32_of(value, {0, context.limits.max_tokens}, context.errors);
}

void fail_length(const LineValue& list, std::size_t found, std::size_t expected,
                 StepContext& context) {
  fail(list, fmt::format("length {}, expected {} (as req_ids)", found, expected), context.errors);
}

}  // namespace hybridscope
