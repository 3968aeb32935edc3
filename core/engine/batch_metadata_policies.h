// Policies on what the metadata builders are given of a batch, and on what becomes of it.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// What makes a row a decode? (known bugs 6, 33, 50; semantics: row-class)
enum class RowClassing : std::uint8_t {
  by_meaning,  // one non-draft token is left to compute and c > 0
  by_shape,    // reference: not prefilling (V1: c >= num_prompt_tokens) and q <= 1 + K; V1's
               // builders split by query length alone
  by_shape_past_the_prompt,  // V1 of later trees: builders are given which rows are prefilling
};
template <>
struct PolicyOf<RowClassing> : PolicyAt<RowClassing::by_meaning, 17> {};

// What decides that a batch replays the graph captured for uniform decodes? (known bugs 5, 46)
enum class UniformDecodeTest : std::uint8_t { by_row_class, by_shape };
template <>
struct PolicyOf<UniformDecodeTest> : PolicyAt<UniformDecodeTest::by_row_class, 21> {};

// What is is_prefilling of padding rows? (known bug 34)
enum class PaddingPrefilling : std::uint8_t {
  cleared,
  left_over,  // the value of the row in earlier steps
};
template <>
struct PolicyOf<PaddingPrefilling> : PolicyAt<PaddingPrefilling::cleared, 54> {};

// Mode all: which arrays does a group that reuses another's metadata refresh? (known bug 40)
enum class ReusedMetadata : std::uint8_t {
  every_array,
  state_indices_only,
};
template <>
struct PolicyOf<ReusedMetadata> : PolicyAt<ReusedMetadata::every_array, 55> {};

// Which states inside a prefill does the worker store? One that the scheduler did not ask for can
// go to a block that has moved to another column since (semantics: checkpoint-metadata).
enum class CheckpointWrites : std::uint8_t {
  reserved,           // those that the scheduler made room for
  every_valid_chunk,  // 0.32.0: of each chunk that can
};
template <>
struct PolicyOf<CheckpointWrites> : PolicyAt<CheckpointWrites::reserved, 59> {};

// V2: does every group build its metadata? (semantics: several-groups)
enum class GroupBuilds : std::uint8_t {
  each_group,
  shared_by_equal_groups,  // 0.31.0: later groups of a spec exchange the state indices
};
template <>
struct PolicyOf<GroupBuilds> : PolicyAt<GroupBuilds::each_group, 67> {};

}  // namespace hybridscope
