// The fused launches give the bytes and counts of the plans of core/state, executed on the host.
#include "kernels/cuda/fused_align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>

#include "core/base/math.h"
#include "core/state/mode_copies.h"
#include "tests/kernels/cuda/fused_case.h"
#include "tests/kernels/cuda/num_cases.h"

namespace hybridscope {

static std::string name_of(const FusedAlignOptions& options) {
  std::string name = options.way == CopyWay::engine ? "engine" : "warps";
  if (options.permute_blocks > 0) name += "_permuted";
  if (options.delay_every > 0) name += "_delayed";
  return name;
}

static void PrintTo(const FusedAlignOptions& options, std::ostream* out) {
  *out << name_of(options);
}

namespace test {
namespace {

std::uint64_t first_seed() {
  const char* seed = std::getenv("HYBRIDSCOPE_SEED");
  return seed == nullptr ? 20261 : std::strtoull(seed, nullptr, 10);
}

class FusedAlignTest : public testing::TestWithParam<FusedAlignOptions> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_device(); !why.empty()) GTEST_SKIP() << why;
  }
  // Runs `body` with many seeds, the failing one is printed.
  template <class Body>
  void for_seeds(int usual, const Body& body) {
    const int count = num_cases(usual);
    for (int i = 0; i < count && !HasFailure(); ++i) {
      const std::uint64_t seed = first_seed() + static_cast<std::uint64_t>(i);
      SCOPED_TRACE("seed " + std::to_string(seed));
      Draw draw(seed);
      body(draw, i % 8 == 7);
    }
  }
};

// What the launches read, one entry a row (V1) or slot (V2): columns stay inside the tables.
struct Batch {
  std::int32_t num_reqs = 0;
  RandomTables tables;
  RandomStates states;
  std::vector<std::int32_t> accepted, column, scheduled, computed, drafts, new_computed;
};

Batch draw_batch(Draw& draw, bool large, std::int32_t num_reqs) {
  Batch batch;
  batch.num_reqs = num_reqs;
  const std::int32_t columns = draw(4, 7);
  batch.states = draw_states(
      draw, {.num_blocks = num_reqs * columns + 1, .table_columns = columns, .large = large});
  const auto num_groups = static_cast<std::int32_t>(batch.states.layout.mamba_group_ids.size());
  batch.tables = draw_tables(draw, num_groups, num_reqs, columns);
  const std::int32_t block_size = batch.states.layout.block_size;
  for (std::int32_t row = 0; row < num_reqs; ++row) {
    const std::int32_t drafts = draw(0, 3);
    const std::int32_t accepted = draw(1, drafts + 1);
    const std::int32_t scheduled = 1 + drafts;
    const std::int32_t computed = draw(0, block_size * columns - scheduled);
    const std::int32_t after = computed + accepted;
    const std::int32_t dst = std::max(after / block_size - 1, 0);
    batch.accepted.push_back(accepted);
    batch.scheduled.push_back(scheduled);
    batch.computed.push_back(computed);
    batch.drafts.push_back(drafts);
    batch.new_computed.push_back(after);
    // src_col + bias is a column; often that of the destination.
    batch.column.push_back(draw.one_in(2) && dst + 3 < columns ? dst : draw(0, columns - 4));
  }
  return batch;
}

TEST_P(FusedAlignTest, PostprocessV1GivesTheBytesAndCountsOfThePlan) {
  for_seeds(48, [](Draw& draw, bool large) {
    Batch batch = draw_batch(draw, large, large ? draw(1, 4) : draw(0, 40));
    const std::vector<std::int32_t> old_out(batch.accepted.size(), 77);
    std::vector<std::int32_t> planned_out = old_out;
    std::vector<StateCopyDecision> decisions;
    const auto views = batch.tables.views();
    const Status decided = run_fused_postprocess({.num_reqs = batch.num_reqs,
                                                  .block_size = batch.states.layout.block_size,
                                                  .num_accepted_tokens = batch.accepted,
                                                  .mamba_state_idx = batch.column,
                                                  .num_scheduled_tokens = batch.scheduled,
                                                  .num_computed_tokens = batch.computed,
                                                  .num_draft_tokens = batch.drafts},
                                                 planned_out, decisions);
    ASSERT_TRUE(decided.ok()) << decided.error().message;
    const DeviceStates device(batch.states, batch.tables);
    const auto accepted = on_device(batch.accepted);
    const auto column = on_device(batch.column);
    const auto scheduled = on_device(batch.scheduled);
    const auto computed = on_device(batch.computed);
    const auto drafts = on_device(batch.drafts);
    const auto out = on_device(old_out);
    const auto fused =
        FusedAlign::create(batch.states.layout, device.state_base_addrs(batch.states), GetParam());
    ASSERT_TRUE(fused.ok()) << fused.error().message;
    const Status launched = fused.value().postprocess({.num_reqs = batch.num_reqs,
                                                       .num_accepted_tokens = accepted.data(),
                                                       .mamba_state_idx = column.data(),
                                                       .num_scheduled_tokens = scheduled.data(),
                                                       .num_computed_tokens = computed.data(),
                                                       .num_draft_tokens = drafts.data(),
                                                       .block_tables = device.block_tables(),
                                                       .num_accepted_tokens_out = out.data()},
                                                      nullptr);
    ASSERT_TRUE(launched.ok()) << launched.error().message;
    batch.states.execute(batch.states.plan(decisions, views));
    EXPECT_TRUE(device.bytes() == batch.states.bytes);
    EXPECT_EQ(on_host(out), planned_out);
    EXPECT_EQ(on_host(accepted), batch.accepted);
  });
}

// Rows are mapped to slots; one in five is padding.
std::vector<std::int32_t> draw_mapping(Draw& draw, std::int32_t num_reqs) {
  std::vector<std::int32_t> mapping;
  for (std::int32_t row = 0; row < num_reqs; ++row) mapping.push_back(row);
  for (std::size_t i = mapping.size(); i > 1; --i)
    std::swap(mapping[i - 1],
              mapping[static_cast<std::size_t>(draw(0, static_cast<std::int32_t>(i) - 1))]);
  for (std::int32_t& slot : mapping)
    if (draw.one_in(5)) slot = -1;
  return mapping;
}

TEST_P(FusedAlignTest, PostprocessV2GivesTheBytesAndCountsOfThePlan) {
  for_seeds(48, [](Draw& draw, bool large) {
    Batch batch = draw_batch(draw, large, large ? draw(1, 4) : draw(0, 40));
    const std::vector<std::int32_t> mapping = draw_mapping(draw, batch.num_reqs);
    const auto views = batch.tables.views();
    std::vector<std::int32_t> planned_out = batch.accepted;
    std::vector<StateCopyDecision> decisions;
    const Status decided =
        run_fused_postprocess_align({.num_reqs = batch.num_reqs,
                                     .block_size = batch.states.layout.block_size,
                                     .idx_mapping = mapping,
                                     .state_idx = batch.column,
                                     .new_num_computed_tokens = batch.new_computed},
                                    planned_out, decisions);
    ASSERT_TRUE(decided.ok()) << decided.error().message;
    const DeviceStates device(batch.states, batch.tables);
    const auto idx_mapping = on_device(mapping);
    const auto accepted = on_device(batch.accepted);
    const auto column = on_device(batch.column);
    const auto new_computed = on_device(batch.new_computed);
    const auto out = on_device(std::vector<std::int32_t>(batch.accepted.size(), 77));
    const auto fused =
        FusedAlign::create(batch.states.layout, device.state_base_addrs(batch.states), GetParam());
    ASSERT_TRUE(fused.ok()) << fused.error().message;
    const Status launched =
        fused.value().postprocess_align({.num_reqs = batch.num_reqs,
                                         .num_slots = batch.num_reqs,
                                         .idx_mapping = idx_mapping.data(),
                                         .num_accepted_tokens = accepted.data(),
                                         .state_idx = column.data(),
                                         .new_num_computed_tokens = new_computed.data(),
                                         .block_tables = device.block_tables(),
                                         .num_accepted_tokens_out = out.data()},
                                        nullptr);
    ASSERT_TRUE(launched.ok()) << launched.error().message;
    batch.states.execute(batch.states.plan(decisions, views));
    EXPECT_TRUE(device.bytes() == batch.states.bytes);
    EXPECT_EQ(on_host(out), planned_out);
    EXPECT_EQ(on_host(accepted), batch.accepted);
  });
}

// preprocess_mamba_align, then run_fused_precopy, as the V2 runner calls them.
TEST_P(FusedAlignTest, AdvanceAndPrecopyGiveTheSlotsAndBytesOfThePlan) {
  for_seeds(48, [](Draw& draw, bool large) {
    Batch batch = draw_batch(draw, large, large ? draw(1, 4) : draw(1, 40));
    const std::int32_t columns = batch.tables.columns;
    const std::int32_t block_size = batch.states.layout.block_size;
    std::vector<std::int32_t> mapping = draw_mapping(draw, batch.num_reqs);
    std::vector<std::int32_t> all(mapping.size());  // the advance has no padding rows
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
    std::vector<std::int32_t> query_start_loc{0};
    AlignSlots slots;
    for (std::size_t i = 0; i < all.size(); ++i) {
      batch.computed[i] = std::min(batch.computed[i], block_size * columns - 5);
      query_start_loc.push_back(query_start_loc.back() + draw(1, 5));
      slots.state_idx.push_back(draw(-1, columns - 4));
      slots.src_col.push_back(-1);
      slots.src_off.push_back(0);
      slots.num_accepted_tokens.push_back(batch.accepted[i]);
    }
    AlignSlots after = slots;
    std::vector<StateCopyDecision> decisions;
    const Status advanced = preprocess_mamba_align({.num_reqs = batch.num_reqs,
                                                    .block_size = block_size,
                                                    .idx_mapping = all,
                                                    .num_computed_tokens = batch.computed,
                                                    .query_start_loc = query_start_loc},
                                                   after, decisions);
    ASSERT_TRUE(advanced.ok()) << advanced.error().message;
    const auto views = batch.tables.views();
    const Status decided = run_fused_precopy(mapping, after, decisions);
    ASSERT_TRUE(decided.ok()) << decided.error().message;

    const DeviceStates device(batch.states, batch.tables);
    const auto all_rows = on_device(all);
    const auto idx_mapping = on_device(mapping);
    const auto computed = on_device(batch.computed);
    const auto query = on_device(query_start_loc);
    const auto state_idx = on_device(slots.state_idx);
    const auto src_col = on_device(slots.src_col);
    const auto src_off = on_device(slots.src_off);
    const auto accepted = on_device(slots.num_accepted_tokens);
    ASSERT_TRUE(launch_align_advance({.num_reqs = batch.num_reqs,
                                      .block_size = block_size,
                                      .idx_mapping = all_rows.data(),
                                      .num_computed_tokens = computed.data(),
                                      .query_start_loc = query.data(),
                                      .state_idx = state_idx.data(),
                                      .num_accepted_tokens = accepted.data(),
                                      .src_col = src_col.data(),
                                      .src_off = src_off.data()},
                                     nullptr)
                    .ok());
    const auto fused =
        FusedAlign::create(batch.states.layout, device.state_base_addrs(batch.states), GetParam());
    ASSERT_TRUE(fused.ok()) << fused.error().message;
    ASSERT_TRUE(fused.value()
                    .precopy({.num_reqs = batch.num_reqs,
                              .idx_mapping = idx_mapping.data(),
                              .state_idx = state_idx.data(),
                              .src_col = src_col.data(),
                              .src_off = src_off.data(),
                              .block_tables = device.block_tables()},
                             nullptr)
                    .ok());
    batch.states.execute(batch.states.plan(decisions, views));
    EXPECT_TRUE(device.bytes() == batch.states.bytes);
    EXPECT_EQ(on_host(state_idx), after.state_idx);
    EXPECT_EQ(on_host(src_col), after.src_col);
    EXPECT_EQ(on_host(src_off), after.src_off);
    EXPECT_EQ(on_host(accepted), after.num_accepted_tokens);
  });
}

// One temporal state of `elements` 4-byte elements; `rows` requests copy column 1 to column 0.
RandomStates long_states(Draw& draw, std::int32_t rows, std::int64_t elements) {
  RandomStates states;
  states.tensors.block_size = 4;
  states.tensors.mamba_group_ids = {0};
  states.tensors.state_kinds = {StateKind::temporal};
  states.tensors.layers = {
      {.group_index = 0,
       .states = {{.shape = {2 * rows + 1, elements}, .stride = {elements, 1}, .elem_size = 4}}}};
  const std::vector<std::int64_t> strides{2};
  states.layout = make_state_layout(states.tensors, strides).value();
  states.state_offsets = {0};
  states.bytes.resize(static_cast<std::size_t>((2 * rows + 1) * elements * 4));
  const std::int32_t step = draw(1, 250);
  for (std::size_t i = 0; i < states.bytes.size(); ++i)
    states.bytes[i] = static_cast<std::byte>(i * static_cast<std::size_t>(step) >> 8);
  return states;
}

// Blocks run out of tiles at different times, whatever the number of tiles: each launch ends, and
// the next one begins at the first tile.
TEST_P(FusedAlignTest, LaunchesOfAnyNumberOfTilesEnd) {
  for_seeds(12, [](Draw& draw, bool) {
    const std::int32_t rows = draw(1, 4);
    RandomStates states = long_states(draw, rows, 4 * draw(1, 2'000'000));
    const RandomTables tables = draw_tables(draw, 1, rows, 2);
    const DeviceStates device(states, tables);
    const std::vector<std::int32_t> ones(static_cast<std::size_t>(rows), 1);
    const auto one = on_device(ones);
    const auto zero = on_device(std::vector<std::int32_t>(ones.size(), 0));
    const auto three = on_device(std::vector<std::int32_t>(ones.size(), 3));
    const auto out = on_device(ones);
    const auto fused =
        FusedAlign::create(states.layout, device.state_base_addrs(states), GetParam());
    ASSERT_TRUE(fused.ok()) << fused.error().message;
    for (int launch = 0; launch < 5; ++launch)
      ASSERT_TRUE(fused.value()
                      .postprocess({.num_reqs = rows,
                                    .num_accepted_tokens = one.data(),
                                    .mamba_state_idx = one.data(),
                                    .num_scheduled_tokens = one.data(),
                                    .num_computed_tokens = three.data(),
                                    .num_draft_tokens = zero.data(),
                                    .block_tables = device.block_tables(),
                                    .num_accepted_tokens_out = out.data()},
                                   nullptr)
                      .ok());
    for (std::size_t row = 0; row < ones.size(); ++row) {
      const std::vector<std::int32_t>& table = tables.groups[0];
      const auto block_bytes =
          static_cast<std::ptrdiff_t>(states.tensors.layers[0].states[0].block_stride_bytes());
      const auto block = [&](std::size_t column) {
        return states.bytes.begin() + table[2 * row + column] * block_bytes;
      };
      std::copy_n(block(1), block_bytes, block(0));
    }
    EXPECT_TRUE(device.bytes() == states.bytes);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Ways, FusedAlignTest,
    testing::Values(FusedAlignOptions{}, FusedAlignOptions{.way = CopyWay::warps},
                    FusedAlignOptions{.permute_blocks = 37},
                    FusedAlignOptions{.way = CopyWay::warps, .permute_blocks = 37},
                    FusedAlignOptions{.delay_every = 2},
                    FusedAlignOptions{.way = CopyWay::warps, .delay_every = 3}),
    [](const testing::TestParamInfo<FusedAlignOptions>& tested) { return name_of(tested.param); });

}  // namespace
}  // namespace test
}  // namespace hybridscope
