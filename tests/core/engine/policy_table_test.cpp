#include "core/engine/policy_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/mamba_manager_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/dummy_run_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/worker_v1_policies.h"
#include "core/engine/worker_v2_policies.h"
#include "core/model/conv_state_sizing.h"

namespace hybridscope::policy_table_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> names_of(bool caching) {
  std::vector<std::string> names;
  for (const Policy& policy : policy_table())
    if (policy.is_caching() == caching) names.emplace_back(policy.text.name);
  return names;
}

// A policy without a row would never be listed, set by a document or overridden.
TEST(PolicyTable, HasARowOfEveryPolicyThatAHeaderHas) {
  std::size_t num_policies = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(HYBRIDSCOPE_SOURCE_DIR "/core")) {
    if (entry.path().extension() != ".h" || entry.path().filename() == "policy_set.h") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("struct PolicyOf<")) ++num_policies;
  }
  EXPECT_EQ(num_policies, policy_table().size());
}

TEST(PolicyTable, CachingPoliciesAreThoseOfTheCachingStack) {
  EXPECT_THAT(names_of(true), ElementsAre("mamba_eagle_lookahead", "full_attention_cut",
                                          "block_registration", "reachable_boundaries",
                                          "eagle_margin", "eagle_proof", "hits_inside_blocks",
                                          "prompt_tail_key", "tail_registration", "same_step_tail",
                                          "prefill_checkpoint", "checkpoint_start", "skipped_basis",
                                          "state_retirement", "empty_allocation", "uncached_free"));
  EXPECT_EQ(names_of(false).size(), policy_table().size() - 16);
}

TEST(PolicyTable, AProfileIsTheColumnOfItsValues) {
  const PolicySet reference = reference_policies();
  EXPECT_TRUE(reference.is(BlockRegistration::at_allocation));
  EXPECT_TRUE(reference.is(RowClassing::by_shape));
  EXPECT_TRUE(reference.is(RowOrder::query_len));
  // Rows without a value of their own.
  EXPECT_TRUE(reference.is(AcceptedCountLanding::after_row_moves));
  EXPECT_TRUE(reference.is(DummyRunTables::zeroed));
  for (const Policy& policy : policy_table())
    EXPECT_EQ(policy.value_in(reference), policy.reference) << policy.text.name;
}

TEST(PolicyTable, ASetThatNobodyChangedIsProfileSafe) {
  for (const Policy& policy : policy_table())
    EXPECT_EQ(policy.value_in(PolicySet{}), policy.safe) << policy.text.name;
}

TEST(PolicyTable, APlaceLeadsToItsPolicy) {
  for (const Policy& policy : policy_table())
    EXPECT_EQ(policy_at(policy.place).text.name, policy.text.name);
}

TEST(PolicyTable, KeepingCachingPoliciesChangesNoOther) {
  PolicySet policies = reference_policies();
  keep_caching_policies(policies, safe_policies());
  EXPECT_TRUE(policies.is(PromptTailKey::at_replay_position_once));
  EXPECT_TRUE(policies.is(ConvStateSizing::as_reference));
  EXPECT_TRUE(policies.is(RowOrder::query_len));
  keep_fixed_policies(policies, safe_policies());
  EXPECT_TRUE(policies.is(ConvStateSizing::kernel_plus_spec));
  EXPECT_TRUE(policies.is(RowOrder::query_len));
}

TEST(PolicyValues, AnEnumNamesItsPolicy) {
  EXPECT_EQ(policy_name(NullRows::run), "null_rows");
  EXPECT_EQ(value_name(NullRows::run), "run");
  EXPECT_EQ(policy_name(FullAttentionCut::every_group), "full_attention_cut");
  EXPECT_EQ(value_name(FullAttentionCut::every_group), "every_group");
}

TEST(PolicyOverrides, ChangeThePoliciesThatTheyNameAndNoOther) {
  PolicyOverrides overrides;
  overrides.set(ConvRoll::window_length);
  overrides.set(FullAttentionCut::first_spec_group);
  EXPECT_EQ(with_overrides(safe_policies(), overrides),
            (PolicySet{ConvRoll::window_length, FullAttentionCut::first_spec_group}));
}

TEST(PolicyOverrides, OfAllPoliciesBringThemBackOverAnyOthers) {
  PolicySet policies = reference_policies();
  policies.set(ReusedMetadata::state_indices_only);
  EXPECT_EQ(with_overrides(safe_policies(), overrides_of(policies)), policies);
}

TEST(PolicyOverrides, TheLaterOfTwoLiesOnTop) {
  PolicyOverrides first;
  first.set(RowClassing::by_shape);
  first.set(NullRows::run);
  PolicyOverrides later;
  later.set(RowClassing::by_meaning);
  PolicyOverrides expected;
  expected.set(RowClassing::by_meaning);
  expected.set(NullRows::run);
  lay_over(first, later);
  EXPECT_EQ(first, expected);
}

}  // namespace
}  // namespace hybridscope::policy_table_test
