#include "sessions/judge/step_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "core/base/check.h"
#include "core/base/math.h"

namespace hybridscope {

std::optional<RequestId> LiveRequests::find(std::string_view name) const {
  const auto found = live_.find(name);
  if (found == live_.end()) return std::nullopt;
  return found->second;
}

RequestId LiveRequests::add(std::string_view name) {
  const RequestId request{count()};
  const bool added = live_.emplace(std::string(name), request).second;
  HS_EXPECT(added);
  names_.emplace_back(name);
  entries_.emplace_back();
  return request;
}

void LiveRequests::finish(RequestId request) {
  const auto found = live_.find(name_of(request));
  HS_EXPECT(found != live_.end() && found->second == request);
  live_.erase(found);
}

const std::string& LiveRequests::name_of(RequestId request) const {
  HS_EXPECT(request.value >= 0 && request.value < count());
  return names_[static_cast<std::size_t>(request.value)];
}

LiveRequests::Entry& LiveRequests::entry(RequestId request) {
  HS_EXPECT(request.value >= 0 && request.value < count());
  return entries_[static_cast<std::size_t>(request.value)];
}

LiveRequests::InStep& LiveRequests::in_step(RequestId request) {
  Entry& of = entry(request);
  if (of.step != step_) {
    of.step = step_;
    of.in_step = {};
  }
  return of.in_step;
}

bool LiveRequests::first_in_list(RequestId request) {
  Entry& of = entry(request);
  if (of.list == list_) return false;
  of.list = list_;
  return true;
}

TraceLimits make_trace_limits(const EngineConfig& config) {
  TraceLimits limits{.num_blocks = config.kv_cache_config.num_blocks,
                     .num_speculative_tokens = config.num_speculative_tokens,
                     .max_num_seqs = config.max_num_seqs,
                     .max_num_batched_tokens = config.max_num_batched_tokens,
                     .max_tokens = config.max_model_len + 1 + config.num_speculative_tokens};
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    std::int32_t spec_blocks = config.num_speculative_tokens;
    if (group.is_mamba())
      spec_blocks = std::max(spec_blocks, std::get<MambaSpec>(group.spec).num_speculative_blocks);
    const std::int32_t columns = cdiv(config.max_model_len, group.block_size()) + 1 + spec_blocks;
    limits.max_columns.push_back(columns);
    limits.is_mamba.push_back(group.is_mamba());
    if (group.is_mamba()) limits.max_mamba_columns = std::max(limits.max_mamba_columns, columns);
  }
  return limits;
}

RequestId live_request(const JsonValue& value, StepContext& context) {
  return live_request(value, value.text(), context);
}

RequestId live_request(const JsonValue& place, std::string_view name, StepContext& context) {
  const std::optional<RequestId> request = context.requests.find(name);
  if (!request)
    place.fail(fmt::format("request {} was never introduced or is finished", quoted_text(name)));
  return *request;
}

RequestId scheduled_request(const JsonValue& place, std::string_view name, StepContext& context) {
  const RequestId request = live_request(place, name, context);
  if (context.requests.in_step(request).row < 0)
    place.fail(fmt::format("request {} is not in num_scheduled_tokens", quoted_text(name)));
  return request;
}

void expect_first_in_list(const JsonValue& place, RequestId request, StepContext& context) {
  if (context.requests.first_in_list(request)) return;
  place.fail(
      fmt::format("request {} is listed twice", quoted_text(context.requests.name_of(request))));
}

BlockLists read_block_lists(const JsonValue& value, StepContext& context) {
  ForeignStep& step = context.step;
  const BlockLists result{.first = static_cast<std::uint32_t>(step.lists.size())};
  const IntegerRange ids{0, context.limits.num_blocks - 1};
  const auto num_groups = static_cast<std::size_t>(context.limits.num_groups());
  std::size_t group = 0;
  value.each_element([&](const JsonValue& list) {
    if (group < num_groups) {
      const std::size_t first = step.ids.size();
      list.append_int32s(ids, step.ids);
      const std::size_t count = step.ids.size() - first;
      const auto most = static_cast<std::size_t>(context.limits.max_columns[group]);
      if (count > most)
        list.fail(
            fmt::format("{} columns, expected at most {}: max_model_len {} in blocks of {}, and "
                        "1 + K",
                        count, most, context.config.max_model_len,
                        context.config.kv_cache_config.groups[group].block_size()));
      step.lists.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)});
    }
    ++group;
  });
  if (group != num_groups)
    value.fail(fmt::format("length {}, expected {} (a list a KV-cache group)", group, num_groups));
  return result;
}

BlockLists read_optional_block_lists(const JsonValue& value, StepContext& context) {
  return value.is_null() ? BlockLists{} : read_block_lists(value, context);
}

IdRange read_token_ids(const JsonValue& value, std::int32_t min, StepContext& context) {
  std::vector<std::int32_t>& ids = context.step.ids;
  const std::size_t first = ids.size();
  value.append_int32s({min, INT32_MAX}, ids);
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(ids.size() - first)};
}

std::int32_t read_token_count(const JsonValue& value, StepContext& context) {
  return value.int32({0, context.limits.max_tokens});
}

std::int32_t mamba_group(const JsonValue& member, std::string_view name,
                         const StepContext& context) {
  std::int32_t group = -1;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, group);
  const bool is_group = error == std::errc() && rest == end && group >= 0 &&
                        group < context.limits.num_groups() &&
                        context.limits.is_mamba[static_cast<std::size_t>(group)];
  if (!is_group)
    member.fail(fmt::format("expected the number of a mamba group, found {}", quoted_text(name)));
  return group;
}

}  // namespace hybridscope
