#include "core/engine/policy_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hybridscope::policy_table_test {
namespace {

using testing::ElementsAre;

// "hybridscope::NullRows::run", as the compiler spells it; "(hybridscope::NullRows)7" where the
// enum has no such value.
template <auto Value>
std::string spelled() {
  const std::string function = __PRETTY_FUNCTION__;
  const std::size_t begin = function.find("Value = ") + 8;
  return function.substr(begin, function.find_first_of(";]", begin) - begin);
}

// Spellings of the values 0 to 8 of an enum: one more than a row has room for.
template <class Enum>
std::vector<std::string> spellings() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<std::string>{spelled<static_cast<Enum>(I)>()...};
  }
  (std::make_index_sequence<9>());
}

// "null_rows" of "NullRows".
std::string snake_case(const std::string& camel_case) {
  std::string name;
  for (const char letter : camel_case) {
    const bool upper = letter >= 'A' && letter <= 'Z';
    if (upper && !name.empty()) name += '_';
    name += upper ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return name;
}

template <class Enum>
void expect_row_of_enum(const PolicyText& text) {
  const std::vector<std::string> enumerators = spellings<Enum>();
  const auto values = text.value_names();
  ASSERT_LT(values.size(), enumerators.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_THAT(enumerators[i], testing::EndsWith("::" + std::string(values[i])));
  EXPECT_EQ(enumerators[values.size()].front(), '(')
      << "the row of " << text.name << " lacks " << enumerators[values.size()];

  const std::string type = enumerators[0].substr(0, enumerators[0].rfind("::"));
  EXPECT_EQ(text.name, snake_case(type.substr(type.rfind(':') + 1)));
}

TEST(PolicyTable, NamesAreThoseOfTheEnumAndOfAllItsValues) {
  for_each_policy([](const auto& row) {
    expect_row_of_enum<std::remove_cvref_t<decltype(row.reference)>>(PolicyText(row.words));
  });
}

std::vector<std::string> names_of(bool caching) {
  std::vector<std::string> names;
  for (const Policy& policy : policy_table())
    if (policy.caching == caching) names.emplace_back(policy.text.name);
  return names;
}

TEST(PolicyTable, CachingPoliciesAreThoseOfTheCachingStack) {
  EXPECT_THAT(names_of(true), ElementsAre("mamba_eagle_lookahead", "full_attention_cut",
                                          "block_registration", "reachable_boundaries",
                                          "eagle_margin", "eagle_proof", "hits_inside_blocks",
                                          "prompt_tail_key", "tail_registration", "same_step_tail",
                                          "prefill_checkpoint", "checkpoint_start", "skipped_basis",
                                          "state_retirement", "empty_allocation", "uncached_free"));
  EXPECT_EQ(names_of(false).size(), kNumPolicies - 16);
}

TEST(PolicyTable, AProfileIsTheColumnOfItsValues) {
  const Policies reference = reference_policies();
  EXPECT_EQ(reference.cache, reference_cache_policies());
  EXPECT_EQ(reference.cache.block_registration, BlockRegistration::at_allocation);
  EXPECT_EQ(reference.row_classing, RowClassing::by_shape);
  EXPECT_EQ(reference.row_order, RowOrder::query_len);
  // Rows without a value of their own.
  EXPECT_EQ(reference.accepted_count_landing, AcceptedCountLanding::after_row_moves);
  EXPECT_EQ(reference.dummy_run_tables, DummyRunTables::zeroed);
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
  Policies expected = safe_policies();
  expected.conv_roll = ConvRoll::window_length;
  expected.cache.full_attention_cut = FullAttentionCut::first_spec_group;
  EXPECT_EQ(with_overrides(safe_policies(), overrides), expected);
}

TEST(PolicyOverrides, OfAllPoliciesBringThemBackOverAnyOthers) {
  Policies policies = reference_policies();
  policies.reused_metadata = ReusedMetadata::state_indices_only;
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
