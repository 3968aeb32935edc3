// The bodies that run on a device, here on the host: each launch in a random order of its lanes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/copy_bodies.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "kernels/state_hash.h"
#include "kernels/step_launches.h"
#include "tests/kernels/random_state.h"
#include "tests/support/property.h"

namespace hybridscope::bodies_test {
namespace {

using ::testing::ElementsAre;

// All lanes of all items, shuffled: nothing may depend on who comes first.
struct ShuffledLanes {
  std::mt19937* random;
  template <class Body>
  Status operator()(const Body& body, std::int64_t num_items) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> lanes;
    for (std::int64_t i = 0; i < num_items; ++i)
      EXPECT_LE(body.item(i).num_lanes, body.most_lanes());
    for (std::int64_t i = 0; i < num_items; ++i)
      for (std::int64_t lane = 0; lane < body.item(i).num_lanes; ++lane)
        lanes.emplace_back(i, lane);
    std::ranges::shuffle(lanes, *random);
    for (const auto& [item, lane] : lanes) body.item(item)(lane);
    return Ok{};
  }
};

// What a device holds, in vectors.
class HostedMemory {
 public:
  explicit HostedMemory(const StateMemory& memory)
      : backend_(CpuStateBackend::create(memory).value()),
        map_(make_memory_map(backend_->memory(), backend_->bytes().data()).value()),
        planner_(map_) {}

  std::span<const std::byte> bytes() const { return std::as_const(*backend_).bytes(); }
  CpuStateBackend& backend() { return *backend_; }
  MemoryView view() const { return view_of(map_); }

  void run(const StateOps& ops, std::mt19937& random) {
    const StepPlan plan = planner_.plan(ops);
    std::vector<Fingerprint> folded(ops.writes.size() *
                                    static_cast<std::size_t>(num_folded(view())));
    // Room for a lane at least, for a few more at times.
    std::vector<std::uint32_t> scratch(
        static_cast<std::size_t>(least_scratch(view(), plan.most_meeting)) * (1 + random() % 9));
    const StepArrays arrays{.memory = view(),
                            .widest_group = map_.widest_group,
                            .poisoned = ops.poisoned.data(),
                            .copies = ops.copies.data(),
                            .forward = {.rows = ops.rows.data(),
                                        .writes = ops.writes.data(),
                                        .tokens = ops.tokens.data(),
                                        .token_fingerprints = ops.token_fingerprints.data(),
                                        .folded = folded.data()},
                            .temporal_writes = plan.temporal_writes.data(),
                            .scratch = scratch.data(),
                            .scratch_size = std::ssize(scratch)};
    ASSERT_TRUE(run_step(plan, arrays, ShuffledLanes{&random}));
  }

 private:
  std::unique_ptr<CpuStateBackend> backend_;
  MemoryMap map_;
  StepPlanner planner_;
};

TEST(Bodies, EveryByteIsWhatTheNaiveModelSaysInAnyOrderOfLanes) {
  test::check_property(300, [] {
    const StateMemory memory = test::random_memory(test::draw);
    HostedMemory hosted(memory);
    test::NaiveState naive(memory);
    std::mt19937 random(static_cast<std::uint32_t>(test::draw(0, 1 << 30)));
    for (int step = 0; step < 3; ++step) {
      const StateOps ops = test::random_ops(test::draw, memory, 4);
      hosted.run(ops, random);
      naive.run(ops);
      RC_ASSERT(std::ranges::equal(hosted.bytes(), naive.bytes()));
    }
  });
}

TEST(Bodies, VerifyAgreesWithTheBackend) {
  test::check_property(200, [] {
    const StateMemory memory = test::random_memory(test::draw);
    HostedMemory hosted(memory);
    test::NaiveState naive(memory);
    std::mt19937 random(static_cast<std::uint32_t>(test::draw(0, 1 << 30)));
    const BlockContents contents = test::random_contents(test::draw, memory, 1);
    const ContentArrays arrays{hosted.view(), contents.blocks.data(),
                               contents.conv_fingerprints.data()};
    const std::int64_t num_items = arrays.memory.most_states;
    naive.fill(contents);
    std::ranges::copy(naive.bytes(), hosted.backend().bytes().begin());
    const auto count = static_cast<std::size_t>(num_items);
    std::vector<std::uint64_t> first(count, kNoDifference), expected(count), seen(count);
    RC_ASSERT(ShuffledLanes{&random}(VerifyBody{arrays, first.data()}, num_items).ok());
    RC_ASSERT(std::ranges::all_of(first, [](auto place) { return place == kNoDifference; }));
    for (int i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>(
          test::draw(0, static_cast<std::int32_t>(memory.total_bytes()) - 1));
      hosted.backend().bytes()[at] ^= std::byte{0x20};
    }
    RC_ASSERT(ShuffledLanes{&random}(VerifyBody{arrays, first.data()}, num_items).ok());
    RC_ASSERT(ShuffledLanes{&random}(
                  DescribeBody{arrays, first.data(), expected.data(), seen.data()}, num_items)
                  .ok());
    std::vector<StateMismatch> mismatches;
    const std::int32_t first_state =
        arrays.memory.group_states[contents.blocks[0].group_index].first;
    for (std::size_t i = 0; i < count; ++i)
      if (first[i] != kNoDifference)
        mismatches.push_back({0, first_state + static_cast<std::int32_t>(i),
                              static_cast<std::int64_t>(first[i]), expected[i], seen[i]});
    RC_ASSERT(mismatches == hosted.backend().verify(contents).value());
  });
}

// Of a layer with one recurrent state, 4 blocks.
StepPlanner one_layer_planner() {
  const auto backend =
      CpuStateBackend::create(
          test::make_memory({.states = {test::temporal_spec({4}, Dtype::float32)}}))
          .value();
  return StepPlanner(make_memory_map(backend->memory(), backend->bytes().data()).value());
}

TEST(StepPlan, CopiesThatDoNotMeetAreOneLaunch) {
  StepPlanner planner = one_layer_planner();
  StateOps ops;
  ops.begin_launch();
  ops.add_copy({.conv_src_block = 0, .temporal_src_block = 0, .dst_block = 1});
  ops.add_copy({.conv_src_block = 2, .temporal_src_block = 2, .dst_block = 3});
  EXPECT_THAT(planner.plan(ops).launches, ElementsAre(Launch{LaunchKind::copy, 0, 2}));
}

TEST(StepPlan, CopiesThatMeetAreALaunchOfTheirOwn) {
  StepPlanner planner = one_layer_planner();
  StateOps ops;
  ops.add_copy({.conv_src_block = 0, .temporal_src_block = 0, .dst_block = 3});
  ops.begin_launch();
  ops.add_copy({.conv_src_block = 0, .temporal_src_block = 0, .dst_block = 1});
  ops.add_copy({.conv_src_block = 1, .temporal_src_block = 1, .dst_block = 0});
  const StepPlan plan = planner.plan(ops);
  EXPECT_THAT(plan.launches, ElementsAre(Launch{LaunchKind::copy, 0, 1},
                                         Launch{LaunchKind::meeting_copies, 1, 2}));
  EXPECT_EQ(plan.most_meeting, 2);
}

TEST(StepPlan, OfTwoRecurrentWritesToOneBlockOnlyTheLastIsLaunched) {
  StepPlanner planner = one_layer_planner();
  StateOps ops;
  ops.tokens = ops.token_fingerprints = {1, 2, 3};
  ops.writes = {{ForwardWriteKind::temporal, 2, 1},
                {ForwardWriteKind::temporal, 3, 2},
                {ForwardWriteKind::temporal, 2, 3}};
  ops.add_row({.num_tokens = 3, .num_writes = 3});
  const StepPlan plan = planner.plan(ops);
  ASSERT_EQ(plan.temporal_writes.size(), 2U);
  EXPECT_EQ(plan.temporal_writes[0].write, 2);
  EXPECT_EQ(plan.temporal_writes[1].write, 1);
  EXPECT_THAT(plan.launches, ElementsAre(Launch{LaunchKind::fold, 0, 1},
                                         Launch{LaunchKind::write_temporal, 0, 2}));
}

TEST(ConvBody, AWindowTakesOldPositionsFromTheSecondOnThenTheTokens) {
  const ForwardWrite write{ForwardWriteKind::conv_window, 0, 2};
  EXPECT_EQ(num_written_positions(write, 4, 9), 4);
  EXPECT_EQ(num_written_positions(write, 4, 3), 3);
  EXPECT_EQ(conv_position_source(write, 4, 0), -2);  // prior token 1
  EXPECT_EQ(conv_position_source(write, 4, 1), -3);  // prior token 2
  EXPECT_EQ(conv_position_source(write, 4, 2), 0);
  EXPECT_EQ(conv_position_source(write, 4, 3), 1);
}

TEST(ConvBody, ATailHoldsTheLastTokens) {
  const ForwardWrite write{ForwardWriteKind::conv_tail, 0, 2};
  EXPECT_EQ(num_written_positions(write, 4, 9), 3);
  EXPECT_EQ(conv_position_source(write, 4, 0), -3);  // prior token 2
  EXPECT_EQ(conv_position_source(write, 4, 1), 0);
  EXPECT_EQ(conv_position_source(write, 4, 2), 1);
}

TEST(DigestBody, TheLastWordIsFilledUpWithZeros) {
  std::byte page[10];
  for (std::size_t i = 0; i < 10; ++i) page[i] = static_cast<std::byte>(0x11 * (i + 1));
  const PageView view{.data = page, .page_size_bytes = 10, .buffer = 3};
  EXPECT_EQ(view.num_words(), 2);
  EXPECT_EQ(load_word(view, 0), 0x8877665544332211ULL);
  EXPECT_EQ(load_word(view, 1), 0xAA99ULL);
  EXPECT_EQ(digest_word(view, 1), mix(3 * 2 + 1, 0xAA99ULL));
}

}  // namespace
}  // namespace hybridscope::bodies_test
