// Reads what the engine's memory held, as hashes of state blocks.
#include <fmt/core.h>

#include "sessions/judge/step_parts.h"

namespace hybridscope {
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
