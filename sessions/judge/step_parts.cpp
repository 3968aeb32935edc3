#include "sessions/judge/step_parts.h"

#include <algorithm>
#include <charconv>

#include "core/base/math.h"
#include "core/base/result.h"

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

namespace {

// read(element, group) appends the ids of one group; `what` each of them is.
template <class Read>
BlockLists read_groups(const JsonValue& value, StepContext& context, std::string_view what,
                       const Read& read) {
  ForeignStep& step = context.step;
  const BlockLists result{.first = static_cast<std::uint32_t>(step.lists.size())};
  const auto num_groups = static_cast<std::size_t>(context.limits.num_groups());
  std::size_t group = 0;
  value.each_element([&](const JsonValue& element) {
    if (group < num_groups) {
      const std::size_t first = step.ids.size();
      read(element, group);
      step.lists.push_back(
          {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(step.ids.size() - first)});
    }
    ++group;
  });
  if (group != num_groups)
    value.fail(
        fmt::format("length {}, expected {} (a {} a KV-cache group)", group, num_groups, what));
  return result;
}

}  // namespace

BlockLists read_block_lists(const JsonValue& value, StepContext& context) {
  return read_groups(value, context, "list", [&](const JsonValue& list, std::size_t group) {
    std::vector<std::int32_t>& ids = context.step.ids;
    const std::size_t first = ids.size();
    list.append_int32s({0, context.limits.num_blocks - 1}, ids);
    const auto most = static_cast<std::size_t>(context.limits.max_columns[group]);
    if (ids.size() - first > most)
      list.fail(fmt::format(
          "{} columns, expected at most {}: max_model_len {} in blocks of {}, and 1 + K",
          ids.size() - first, most, context.config.max_model_len,
          context.config.kv_cache_config.groups[group].block_size()));
  });
}

BlockLists read_cached_block_counts(const JsonValue& value, StepContext& context) {
  return read_groups(value, context, "count", [&](const JsonValue& count, std::size_t group) {
    context.step.ids.push_back(count.int32({0, context.limits.max_columns[group]}));
  });
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

// Reads what a step says of the cache beyond block tables: copies of whole blocks, states stored
// inside a prefill, and which hashes blocks got and lost.

namespace {

// A block of the pool but the null block, which nobody copies, hashes or stores a state in.
IntegerRange real_blocks(const StepContext& context) { return {1, context.limits.num_blocks - 1}; }

std::int32_t read_block(const JsonValue& object, std::string_view key, StepContext& context) {
  return object.require(key).int32(real_blocks(context));
}

std::int32_t read_group(const JsonValue& value, StepContext& context) {
  return value.int32({0, context.limits.num_groups() - 1});
}

std::int32_t require_group(const JsonValue& object, StepContext& context) {
  return read_group(object.require("group"), context);
}

// A column of the group's list. Requires: the group exists.
std::int32_t read_column(const JsonValue& value, std::int32_t group, StepContext& context) {
  const std::int32_t columns = context.limits.max_columns[static_cast<std::size_t>(group)];
  return value.int32({0, columns - 1});
}

std::int32_t read_num_tokens(const JsonValue& value, StepContext& context) {
  return value.int32({1, context.limits.max_tokens});
}

ForeignBlockCopy read_block_copy(const JsonValue& value, StepContext& context) {
  ForeignBlockCopy copy;
  copy.src_block_id = read_block(value, "src_block_id", context);
  copy.dst_block_id = read_block(value, "dst_block_id", context);
  if (const auto name = value.find("req_id")) copy.request = live_request(*name, context);
  if (const auto group = value.find("group")) copy.group = read_group(*group, context);
  if (const auto tokens = value.find("num_tokens"))
    copy.num_tokens = read_num_tokens(*tokens, context);
  return copy;
}

// The tokens that the request has computed before this step.
std::int32_t tokens_before(RequestId request, const ForeignStep& step) {
  for (const ForeignNewRequest& admitted : step.scheduled_new_reqs)
    if (admitted.request == request) return admitted.num_computed_tokens;
  for (const ForeignCachedRequest& cached : step.scheduled_cached_reqs)
    if (cached.request == request) return cached.num_computed_tokens;
  return 0;
}

// A state on the way of a chunk: behind its first token, before its last one.
void read_position(const JsonValue& value, ForeignCheckpoint& checkpoint, StepContext& context) {
  checkpoint.num_tokens = read_num_tokens(value, context);
  const auto row = static_cast<std::size_t>(context.requests.in_step(checkpoint.request).row);
  const std::int32_t start = tokens_before(checkpoint.request, context.step);
  const std::int32_t end = start + context.step.num_scheduled_tokens[row].count;
  if (checkpoint.num_tokens > start && checkpoint.num_tokens < end) return;
  value.fail(
      fmt::format("a state after {} tokens, but the chunk runs from {} to {}, expected {} to {}",
                  checkpoint.num_tokens, start, end, start + 1, end - 1));
}

void read_checkpoint_group(const JsonValue& value, ForeignCheckpoint& checkpoint,
                           StepContext& context) {
  checkpoint.group = require_group(value, context);
  const KVCacheGroup& group =
      context.config.kv_cache_config.groups[static_cast<std::size_t>(checkpoint.group)];
  const auto* mamba = std::get_if<MambaSpec>(&group.spec);
  if (mamba != nullptr && mamba->num_prefill_checkpoint_blocks > 0) return;
  value.require("group").fail(
      fmt::format("group {} stores no state inside a prefill, expected one with "
                  "num_prefill_checkpoint_blocks 1 in the header",
                  checkpoint.group));
}

ForeignCheckpoint read_checkpoint(const JsonValue& value, StepContext& context) {
  ForeignCheckpoint checkpoint;
  const JsonValue req_id = value.require("req_id");
  checkpoint.request = scheduled_request(req_id, req_id.text(), context);
  read_checkpoint_group(value, checkpoint, context);
  checkpoint.column = read_column(value.require("column"), checkpoint.group, context);
  checkpoint.block_id = value.require("block_id").int32({0, context.limits.num_blocks - 1});
  read_position(value.require("num_tokens"), checkpoint, context);
  checkpoint.reserved = value.boolean_at("reserved").value_or(checkpoint.reserved);
  checkpoint.written = value.boolean_at("written").value_or(checkpoint.written);
  return checkpoint;
}

ForeignHash read_registered(const JsonValue& value, StepContext& context) {
  ForeignHash hash;
  hash.request = live_request(value.require("req_id"), context);
  hash.group = require_group(value, context);
  const auto column = value.find("column");
  if (column && !column->is_null()) hash.column = read_column(*column, hash.group, context);
  hash.block_id = read_block(value, "block_id", context);
  hash.num_tokens = read_num_tokens(value.require("num_tokens"), context);
  return hash;
}

ForeignLostHash read_lost(const JsonValue& value, StepContext& context) {
  ForeignLostHash hash{.block_id = read_block(value, "block_id", context)};
  if (const auto tokens = value.find("num_tokens"))
    hash.num_tokens = read_num_tokens(*tokens, context);
  return hash;
}

}  // namespace

void read_block_copies(const JsonValue& value, StepContext& context) {
  if (value.is_null()) return;
  value.each_element([&](const JsonValue& element) {
    context.step.kv_cache_block_copies.push_back(read_block_copy(element, context));
  });
}

void read_prefill_checkpoints(const JsonValue& value, StepContext& context) {
  value.each_element([&](const JsonValue& element) {
    context.step.prefill_checkpoints.push_back(read_checkpoint(element, context));
  });
}

ForeignHashes read_block_hashes(const JsonValue& value, StepContext& context) {
  ForeignHashes hashes;
  if (!value.is_object()) value.expected("an object");
  if (const auto lost = value.find("lost"))
    lost->each_element(
        [&](const JsonValue& element) { hashes.lost.push_back(read_lost(element, context)); });
  if (const auto registered = value.find("registered"))
    registered->each_element([&](const JsonValue& element) {
      hashes.registered.push_back(read_registered(element, context));
    });
  return hashes;
}

// Reads what the engine's memory held, as hashes of state blocks.

namespace {

void append_hash(const JsonValue& value, std::vector<std::uint64_t>& hashes) {
  hashes.push_back(static_cast<std::uint64_t>(value.int64({0, kMostHash})));
}

// [blocks] absent: empty.
std::vector<std::uint64_t> read_temporal(const JsonValue& object, std::size_t num_blocks) {
  std::vector<std::uint64_t> hashes;
  for_each_parallel(
      object, "temporal", num_blocks,
      [&](std::size_t, const JsonValue& value) { append_hash(value, hashes); }, "block_ids");
  return hashes;
}

// Appends a window's hashes. The first window of a group says how many positions it has.
void read_window(const JsonValue& window, std::int32_t& num_positions,
                 std::vector<std::uint64_t>& hashes, StepContext& context) {
  const std::int32_t whole = context.config.conv_kernel - 1 + context.config.num_speculative_tokens;
  const auto count = static_cast<std::int32_t>(window.elements().size());
  if (num_positions == 0) num_positions = count;
  if (count != num_positions || (count != 1 && count != whole))
    window.fail(fmt::format("{} positions, expected 1 or {}, the same for all blocks of a group",
                            count, whole));
  window.each_element([&](const JsonValue& value) { append_hash(value, hashes); });
}

// [blocks, num_positions] absent: empty.
std::vector<std::uint64_t> read_conv(const JsonValue& object, std::size_t num_blocks,
                                     std::int32_t& num_positions, StepContext& context) {
  std::vector<std::uint64_t> hashes;
  for_each_parallel(
      object, "conv", num_blocks,
      [&](std::size_t, const JsonValue& window) {
        read_window(window, num_positions, hashes, context);
      },
      "block_ids");
  return hashes;
}

ToldHashes read_hashes(const JsonValue& object, std::string_view key, ToldGroup& group,
                       StepContext& context) {
  ToldHashes told;
  const JsonValue hashes = object.require(key);
  told.temporal = read_temporal(hashes, group.block_ids.size());
  told.conv = read_conv(hashes, group.block_ids.size(), group.num_positions, context);
  return told;
}

// Both times name the same states.
void expect_same_states(const JsonValue& value, const ToldGroup& group) {
  const bool same = group.before_forward.temporal.size() == group.after_forward.temporal.size() &&
                    group.before_forward.conv.size() == group.after_forward.conv.size();
  if (same) return;
  value.fail("before_forward and after_forward have hashes of different states, expected the same");
}

}  // namespace

void read_states(const JsonValue& value, StepContext& context) {
  value.each_member([&](std::string_view name, const JsonValue& member) {
    ToldGroup group{.group = mamba_group(member, name, context)};
    member.require("block_ids").append_int32s(kAnyInt32, group.block_ids);
    group.before_forward = read_hashes(member, "before_forward", group, context);
    group.after_forward = read_hashes(member, "after_forward", group, context);
    expect_same_states(member, group);
    context.step.states.push_back(std::move(group));
  });
}

}  // namespace hybridscope
