// Reads what the engine's memory held, as hashes of state blocks.
#include <fmt/core.h>

#include <limits>

#include "sessions/judge/step_parts.h"

namespace hybridscope {
namespace {

void append_hash(const LineValue& value, std::vector<std::uint64_t>& hashes, StepContext& context) {
  hashes.push_back(static_cast<std::uint64_t>(integer_of(value, {0, kMostHash}, context.errors)));
}

// [blocks] absent: empty.
std::vector<std::uint64_t> read_temporal(const LineValue& object, std::size_t num_blocks,
                                         StepContext& context) {
  std::vector<std::uint64_t> hashes;
  for_each_parallel(
      object, "temporal", num_blocks, context,
      [&](std::size_t, const LineValue& value) { append_hash(value, hashes, context); },
      "block_ids");
  return hashes;
}

// Appends a window's hashes. The first window of a group says how many positions it has.
void read_window(const LineValue& window, std::int32_t& num_positions,
                 std::vector<std::uint64_t>& hashes, StepContext& context) {
  const std::int32_t whole = context.config.conv_kernel - 1 + context.config.num_speculative_tokens;
  const auto count = static_cast<std::int32_t>(count_of(window, context.errors));
  if (num_positions == 0) num_positions = count;
  if (count != num_positions || (count != 1 && count != whole))
    return fail(window,
                fmt::format("{} positions, expected 1 or {}, the same for all blocks of a group",
                            count, whole),
                context.errors);
  for_each_element(window, context.errors,
                   [&](const LineValue& value) { append_hash(value, hashes, context); });
}

// [blocks, num_positions] absent: empty.
std::vector<std::uint64_t> read_conv(const LineValue& object, std::size_t num_blocks,
                                     std::int32_t& num_positions, StepContext& context) {
  std::vector<std::uint64_t> hashes;
  for_each_parallel(
      object, "conv", num_blocks, context,
      [&](std::size_t, const LineValue& window) {
        read_window(window, num_positions, hashes, context);
      },
      "block_ids");
  return hashes;
}

ToldHashes read_hashes(const LineValue& object, std::string_view key, ToldGroup& group,
                       StepContext& context) {
  ToldHashes told;
  const auto hashes = require_member(object, key, context.errors);
  if (!hashes) return told;
  told.temporal = read_temporal(*hashes, group.block_ids.size(), context);
  told.conv = read_conv(*hashes, group.block_ids.size(), group.num_positions, context);
  return told;
}

// Both times name the same states.
void expect_same_states(const LineValue& value, const ToldGroup& group, StepContext& context) {
  const bool same = group.before_forward.temporal.size() == group.after_forward.temporal.size() &&
                    group.before_forward.conv.size() == group.after_forward.conv.size();
  if (same || context.errors.failed()) return;
  fail(value, "before_forward and after_forward have hashes of different states, expected the same",
       context.errors);
}

}  // namespace

void read_states(const LineValue& value, StepContext& context) {
  constexpr IntegerRange kAnyId = {std::numeric_limits<std::int32_t>::min(),
                                   std::numeric_limits<std::int32_t>::max()};
  for_each_member(value, context.errors, [&](const LineValue& member) {
    const std::optional<std::int32_t> number = mamba_group(member, context);
    if (!number) return;
    ToldGroup group{.group = *number};
    if (const auto ids = require_member(member, "block_ids", context.errors))
      append_integers(*ids, kAnyId, group.block_ids, context.errors);
    if (context.errors.failed()) return;
    group.before_forward = read_hashes(member, "before_forward", group, context);
    group.after_forward = read_hashes(member, "after_forward", group, context);
    expect_same_states(member, group, context);
    context.step.states.push_back(std::move(group));
  });
}

}  // namespace hybridscope
