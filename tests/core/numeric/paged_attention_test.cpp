// One head of one element: with equal keys the output is the mean of the values.
#include "core/numeric/paged_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace hybridscope::paged_attention_test {
namespace {

using testing::ElementsAre;

const float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::vector<float> keys = std::vector<float>(8, kNaN);    // four blocks of two tokens
  std::vector<float> values = std::vector<float>(8, kNaN);  // the same
  std::vector<float> o;

  // Equal keys, so that every position weighs the same.
  void run(const std::vector<float>& v, std::vector<std::int32_t> starts,
           std::vector<std::int32_t> seq_lens, const std::vector<std::int32_t>& table) {
    const std::vector<float> ones(v.size(), 1);
    o.assign(v.size(), -1);
    const auto rows = static_cast<std::int32_t>(seq_lens.size());
    paged_attention({.num_heads = 1, .num_kv_heads = 1, .head_dim = 1, .block_size = 2},
                    {.query_start_loc = starts,
                     .seq_lens = seq_lens,
                     .block_table = matrix_view(table.data(), rows,
                                                static_cast<std::int32_t>(table.size()) / rows)},
                    {keys, values}, {.q = ones, .k = ones, .v = v, .o = o});
  }
};

TEST(PagedAttention, AQueryAttendsToItsOwnAndEarlierPositions) {
  Case attention;
  attention.run({2, 4, 9}, {0, 3}, {3}, {3, 1});
  EXPECT_THAT(attention.o, ElementsAre(2, 3, 5));
  EXPECT_EQ(attention.values[6], 2);  // position 0: block 3
  EXPECT_EQ(attention.values[2], 9);  // position 2: block 1
}

TEST(PagedAttention, EarlierTokensComeFromTheBlockTable) {
  Case attention;
  attention.run({2, 4}, {0, 2}, {2}, {3, 1});
  attention.run({9}, {0, 1}, {3}, {3, 1});
  EXPECT_THAT(attention.o, ElementsAre(5));
}

TEST(PagedAttention, WhatRejectedDraftsLeftIsNotRead) {
  Case attention;
  attention.run({2, 4, 9}, {0, 3}, {3}, {3, 1});
  attention.run({8}, {0, 1}, {2}, {3, 1});  // position 1 again
  EXPECT_THAT(attention.o, ElementsAre(5));
}

TEST(PagedAttention, ASlotOfTheNullBlockIsNotWritten) {
  Case attention;
  attention.run({2}, {0, 1}, {1}, {0, 0});
  EXPECT_TRUE(attention.values[0] != attention.values[0]);
}

TEST(PagedAttention, APaddingRowDoesNothing) {
  Case attention;
  attention.run({2, 4}, {0, 1, 2}, {1, 0}, {3, 0});
  EXPECT_THAT(attention.o, ElementsAre(2, -1));
}

}  // namespace
}  // namespace hybridscope::paged_attention_test
