#include "sessions/diff/ignore_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::ignore_rules_test {
namespace {

using ::testing::HasSubstr;

std::size_t number_of(DiffList list, std::string_view field) {
  const auto names = field_names(list);
  return static_cast<std::size_t>(std::ranges::find(names, field) - names.begin());
}

bool ignores(const IgnoreRules& rules, DiffList list, std::string_view field) {
  return rules.ignores_field(list, number_of(list, field));
}

IgnoreRules parse(const std::vector<std::string>& rules) {
  return IgnoreRules::parse(rules).value();
}

std::string error_of(const std::string& rule) {
  return IgnoreRules::parse(std::vector<std::string>{rule}).error().message;
}

TEST(IgnoreRules, NothingIsIgnoredButSimulatedTime) {
  const IgnoreRules rules = parse({});
  EXPECT_TRUE(ignores(rules, DiffList::step, "time_us"));
  EXPECT_TRUE(ignores(rules, DiffList::step, "duration_us"));
  EXPECT_FALSE(ignores(rules, DiffList::step, "token_budget"));
  EXPECT_FALSE(rules.ignores_section(DiffSection::blocks));
  EXPECT_FALSE(rules.ignores_request("A"));
  EXPECT_FALSE(rules.ignores_step(1));
}

TEST(IgnoreRules, ASectionTakesItsFieldsFromEveryList) {
  const IgnoreRules rules = parse({"blocks"});
  EXPECT_TRUE(rules.ignores_section(DiffSection::blocks));
  EXPECT_TRUE(ignores(rules, DiffList::block_events, "block"));
  EXPECT_TRUE(ignores(rules, DiffList::state_copies, "dst_block"));
  EXPECT_TRUE(ignores(rules, DiffList::findings, "block"));
  EXPECT_FALSE(ignores(rules, DiffList::findings, "seen"));
  EXPECT_FALSE(ignores(rules, DiffList::state_copies, "accept_token_bias"));
}

TEST(IgnoreRules, AListIsIgnoredWithoutTheRestOfItsSection) {
  const IgnoreRules rules = parse({"lookups"});
  EXPECT_TRUE(ignores(rules, DiffList::lookups, "num_rounds"));
  EXPECT_TRUE(ignores(rules, DiffList::lookups, "present"));
  EXPECT_FALSE(rules.ignores_section(DiffSection::schedule));
  EXPECT_TRUE(rules.ignores_part_of(DiffSection::schedule));
}

TEST(IgnoreRules, AFieldIsNamedByItsList) {
  const IgnoreRules rules = parse({"rows.num_draft_count", "arrays.seq_lens"});
  EXPECT_TRUE(ignores(rules, DiffList::rows, "num_draft_count"));
  EXPECT_FALSE(ignores(rules, DiffList::rows, "row_class"));
  EXPECT_TRUE(ignores(rules, DiffList::arrays, "seq_lens"));
}

TEST(IgnoreRules, RequestsAndSteps) {
  const IgnoreRules rules = parse({"request:B", "step:5", "step:7-9"});
  EXPECT_TRUE(rules.ignores_request("B"));
  EXPECT_FALSE(rules.ignores_request("A"));
  for (const std::int64_t step : {5, 7, 8, 9}) EXPECT_TRUE(rules.ignores_step(step));
  for (const std::int64_t step : {4, 6, 10}) EXPECT_FALSE(rules.ignores_step(step));
}

TEST(IgnoreRules, AnUnknownRuleIsRefusedWithThoseThereAre) {
  EXPECT_THAT(error_of("block_ids"), HasSubstr("there is no ignore rule \"block_ids\" (known: the "
                                               "sections commands, schedule, blocks, rows,"));
  EXPECT_THAT(error_of("row.num_draft_count"), HasSubstr("there is no list \"row\""));
  EXPECT_THAT(error_of("skipped.why"),
              HasSubstr("skipped has no such field (known: request, reason, present)"));
  EXPECT_THAT(error_of("step:9-7"), HasSubstr("has no steps (step:5 or step:1-10)"));
  EXPECT_THAT(error_of("request:"), HasSubstr("there is no ignore rule \"request:\""));
}

}  // namespace
}  // namespace hybridscope::ignore_rules_test
