// Reads what a step says of the cache beyond block tables: copies of whole blocks, states stored
// inside a prefill, and which hashes blocks got and lost.
#include <fmt/core.h>

#include <algorithm>

#include "sessions/judge/step_parts.h"

namespace hybridscope {
namespace {

// A block of the pool but the null block, which nobody copies, hashes or stores a state in.
IntegerRange real_blocks(const StepContext& context) { return {1, context.limits.num_blocks - 1}; }

std::int32_t read_block(const LineValue& object, std::string_view key, StepContext& context) {
  const auto block = require_member(object, key, context.errors);
  return block ? int32_of(*block, real_blocks(context), context.errors) : 0;
}

std::int32_t read_group(const LineValue& value, StepContext& context) {
  return int32_of(value, {0, context.limits.num_groups() - 1}, context.errors);
}

std::int32_t require_group(const LineValue& object, StepContext& context) {
  const auto group = require_member(object, "group", context.errors);
  return group ? read_group(*group, context) : 0;
}

// A column of the group's list. Requires: the group exists.
std::int32_t read_column(const LineValue& value, std::int32_t group, StepContext& context) {
  const std::int32_t columns = context.limits.max_columns[static_cast<std::size_t>(group)];
  return int32_of(value, {0, columns - 1}, context.errors);
}

RequestId require_request(const LineValue& object, StepContext& context) {
  const auto name = require_member(object, "req_id", context.errors);
  return name ? live_request(*name, context).value_or(RequestId{}) : RequestId{};
}

std::int32_t read_num_tokens(const LineValue& value, StepContext& context) {
  return int32_of(value, {1, context.limits.max_tokens}, context.errors);
}

ForeignBlockCopy read_block_copy(const LineValue& value, StepContext& context) {
  ForeignBlockCopy copy;
  copy.src_block_id = read_block(value, "src_block_id", context);
  copy.dst_block_id = read_block(value, "dst_block_id", context);
  if (const auto name = find_member(value, "req_id"))
    copy.request = live_request(*name, context).value_or(RequestId{});
  if (const auto group = find_member(value, "group")) copy.group = read_group(*group, context);
  if (const auto tokens = find_member(value, "num_tokens"))
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
void read_position(const LineValue& value, ForeignCheckpoint& checkpoint, StepContext& context) {
  checkpoint.num_tokens = read_num_tokens(value, context);
  if (context.errors.failed()) return;
  const auto row = static_cast<std::size_t>(context.requests.in_step(checkpoint.request).row);
  const std::int32_t start = tokens_before(checkpoint.request, context.step);
  const std::int32_t end = start + context.step.num_scheduled_tokens[row].count;
  if (checkpoint.num_tokens > start && checkpoint.num_tokens < end) return;
  fail(value,
       fmt::format("a state after {} tokens, but the chunk runs from {} to {}, expected {} to {}",
                   checkpoint.num_tokens, start, end, start + 1, end - 1),
       context.errors);
}

void read_checkpoint_group(const LineValue& value, ForeignCheckpoint& checkpoint,
                           StepContext& context) {
  checkpoint.group = require_group(value, context);
  if (context.errors.failed()) return;
  const KVCacheGroup& group =
      context.config.kv_cache_config.groups[static_cast<std::size_t>(checkpoint.group)];
  const auto* mamba = std::get_if<MambaSpec>(&group.spec);
  if (mamba != nullptr && mamba->num_prefill_checkpoint_blocks > 0) return;
  fail(*find_member(value, "group"),
       fmt::format("group {} stores no state inside a prefill, expected one with "
                   "num_prefill_checkpoint_blocks 1 in the header",
                   checkpoint.group),
       context.errors);
}

ForeignCheckpoint read_checkpoint(const LineValue& value, StepContext& context) {
  JsonErrors& errors = context.errors;
  ForeignCheckpoint checkpoint;
  const auto req_id = require_member(value, "req_id", errors);
  if (!req_id) return checkpoint;
  const std::string_view name = string_of(*req_id, errors);
  if (errors.failed()) return checkpoint;
  checkpoint.request = scheduled_request(*req_id, name, context).value_or(RequestId{});
  read_checkpoint_group(value, checkpoint, context);
  if (errors.failed()) return checkpoint;
  if (const auto column = require_member(value, "column", errors))
    checkpoint.column = read_column(*column, checkpoint.group, context);
  if (const auto block = require_member(value, "block_id", errors))
    checkpoint.block_id = int32_of(*block, {0, context.limits.num_blocks - 1}, errors);
  if (const auto tokens = require_member(value, "num_tokens", errors))
    read_position(*tokens, checkpoint, context);
  if (const auto reserved = find_member(value, "reserved"))
    checkpoint.reserved = boolean_of(*reserved, errors);
  if (const auto written = find_member(value, "written"))
    checkpoint.written = boolean_of(*written, errors);
  return checkpoint;
}

ForeignHash read_registered(const LineValue& value, StepContext& context) {
  ForeignHash hash;
  hash.request = require_request(value, context);
  hash.group = require_group(value, context);
  if (context.errors.failed()) return hash;
  const auto column = find_member(value, "column");
  if (column && !column->element.is_null()) hash.column = read_column(*column, hash.group, context);
  hash.block_id = read_block(value, "block_id", context);
  if (const auto tokens = require_member(value, "num_tokens", context.errors))
    hash.num_tokens = read_num_tokens(*tokens, context);
  return hash;
}

ForeignLostHash read_lost(const LineValue& value, StepContext& context) {
  ForeignLostHash hash{.block_id = read_block(value, "block_id", context)};
  if (const auto tokens = find_member(value, "num_tokens"))
    hash.num_tokens = read_num_tokens(*tokens, context);
  return hash;
}

}  // namespace

void read_block_copies(const LineValue& value, StepContext& context) {
  if (value.element.is_null()) return;
  for_each_element(value, context.errors, [&](const LineValue& element) {
    context.step.kv_cache_block_copies.push_back(read_block_copy(element, context));
  });
}

void read_prefill_checkpoints(const LineValue& value, StepContext& context) {
  for_each_element(value, context.errors, [&](const LineValue& element) {
    context.step.prefill_checkpoints.push_back(read_checkpoint(element, context));
  });
}

ForeignHashes read_block_hashes(const LineValue& value, StepContext& context) {
  ForeignHashes hashes;
  if (!value.element.is_object()) fail_type(value, "an object", context.errors);
  if (context.errors.failed()) return hashes;
  if (const auto lost = find_member(value, "lost"))
    for_each_element(*lost, context.errors, [&](const LineValue& element) {
      hashes.lost.push_back(read_lost(element, context));
    });
  if (const auto registered = find_member(value, "registered"))
    for_each_element(*registered, context.errors, [&](const LineValue& element) {
      hashes.registered.push_back(read_registered(element, context));
    });
  return hashes;
}

}  // namespace hybridscope
