#include "core/model/model_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace hybridscope::layer_groups_test {
namespace {

using ::testing::ElementsAre;

LayersOfKind layers(std::int32_t first, std::int32_t count) {
  LayersOfKind result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

LayerGroups grouped(const std::vector<LayersOfKind>& kinds) {
  const auto groups = make_layer_groups(kinds);
  EXPECT_TRUE(groups.ok()) << groups.error().message;
  return groups.value();
}

TEST(LayerGroups, TheFewestLayersOfAKindMakeTheGroupSize) {
  const LayerGroups groups = grouped({layers(0, 12), layers(12, 36)});
  EXPECT_EQ(groups.group_size, 12);
  EXPECT_EQ(groups.groups.size(), 4u);
  EXPECT_EQ(groups.num_padding_layers, 0);
}

TEST(LayerGroups, GroupIHoldsEveryMthLayerOfItsKind) {
  const LayerGroups groups = grouped({{3, 7}, {0, 1, 2, 4, 5, 6}});
  EXPECT_THAT(groups.groups, ElementsAre(LayerGroup{0, {3, 7}}, LayerGroup{1, {0, 4}},
                                         LayerGroup{1, {1, 5}}, LayerGroup{1, {2, 6}}));
}

TEST(LayerGroups, TheLastGroupsAreShortAndTheMissingLayersArePadding) {
  const LayerGroups groups = grouped({{5, 6}, {0, 1, 2, 3, 4}});
  EXPECT_THAT(groups.groups, ElementsAre(LayerGroup{0, {5, 6}}, LayerGroup{1, {0, 3}},
                                         LayerGroup{1, {1, 4}}, LayerGroup{1, {2}}));
  EXPECT_EQ(groups.num_padding_layers, 1);
}

TEST(LayerGroups, NearlyEqualKindsPadTheSmallerInsteadOfSplittingTheLarger) {
  // 5 < 1.5 * 4: one group of 5 each, the attention group one layer short.
  const LayerGroups groups = grouped({layers(0, 4), layers(4, 5)});
  EXPECT_EQ(groups.group_size, 5);
  EXPECT_EQ(groups.groups.size(), 2u);
  EXPECT_EQ(groups.num_padding_layers, 1);
}

TEST(LayerGroups, OneAndAHalfTimesIsNotNearlyEqual) {
  const LayerGroups groups = grouped({layers(0, 4), layers(4, 6)});
  EXPECT_EQ(groups.group_size, 4);
  EXPECT_EQ(groups.groups.size(), 3u);
  EXPECT_EQ(groups.num_padding_layers, 2);
}

TEST(LayerGroups, AModelOfOneKindIsOneGroup) {
  EXPECT_EQ(grouped({{}, layers(0, 64)}).groups.size(), 1u);
  EXPECT_EQ(grouped({layers(0, 64)}).group_size, 64);
}

TEST(LayerGroups, NoLayersIsAnError) {
  EXPECT_FALSE(make_layer_groups({}).ok());
  EXPECT_FALSE(make_layer_groups(std::vector<LayersOfKind>{{}, {}}).ok());
}

TEST(LayerGroups, EveryLayerIsInExactlyOneGroupOfItsKindAndNoGroupIsTooLarge) {
  std::mt19937 random(20240601);  // NOLINT: fixed seed
  for (int round = 0; round < 300; ++round) {
    const auto n_a = static_cast<std::int32_t>(random() % 20);
    const auto n_b = static_cast<std::int32_t>(1 + random() % 60);
    const std::vector<LayersOfKind> kinds = {layers(0, n_a), layers(n_a, n_b)};
    const LayerGroups groups = grouped(kinds);
    std::vector<std::int32_t> seen;
    std::int32_t slots = 0;
    for (const LayerGroup& group : groups.groups) {
      ASSERT_LE(group.layers.size(), static_cast<std::size_t>(groups.group_size));
      ASSERT_TRUE(std::is_sorted(group.layers.begin(), group.layers.end()));
      for (const std::int32_t layer : group.layers)
        ASSERT_EQ(group.kind, layer < n_a ? 0 : 1) << "round " << round;
      seen.insert(seen.end(), group.layers.begin(), group.layers.end());
      slots += groups.group_size;
    }
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen, layers(0, n_a + n_b)) << "round " << round;
    ASSERT_EQ(groups.num_padding_layers, slots - n_a - n_b) << "round " << round;
  }
}

}  // namespace
}  // namespace hybridscope::layer_groups_test
