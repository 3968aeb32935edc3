#include "sessions/diff/request_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/aligned_split_policies.h"
#include "sessions/diff/config_difference.h"
#include "tests/sessions/diff/live_pair.h"

namespace hybridscope::request_totals_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SessionTotals totals_of(const Scenario& scenario, RecordLevel level = RecordLevel::blocks) {
  const auto source = test::live_source(scenario, level);
  return total_session(*source).value();
}

std::vector<std::string> lines(const SessionTotals& a, const SessionTotals& b) {
  std::vector<std::string> texts;
  for (const TotalDifference& difference : compare_totals(a, b))
    texts.push_back((difference.request.empty() ? "all" : difference.request) + " " +
                    difference.field + ": " + std::to_string(difference.a) + " | " +
                    std::to_string(difference.b));
  return texts;
}

TEST(RequestTotals, ARequestIsCountedFromItsArrivalToItsEnd) {
  const SessionTotals totals = totals_of(test::shipped_scenario("preemption_and_resume"));
  ASSERT_EQ(totals.requests.size(), 2U);
  const RequestTotals& a = totals.requests.at("A");
  EXPECT_EQ(a.num_prompt_tokens, 6);
  EXPECT_EQ(a.num_output_tokens, 12);
  EXPECT_EQ(a.num_preemptions, 0);
  EXPECT_EQ(a.num_steps, a.steps_until_finished);
  const RequestTotals& b = totals.requests.at("B");
  EXPECT_EQ(b.num_preemptions, 1);
  EXPECT_LT(b.num_steps, b.steps_until_finished);
  EXPECT_EQ(totals.num_finished, 2);
  EXPECT_EQ(totals.all.num_output_tokens, 24);
}

TEST(RequestTotals, TheSumIsThatOfTheRequestsHitsAfterAPreemptionIncluded) {
  Scenario scenario = test::scenario_of(R"({
    "version": 1, "name": "resumed", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 64, "async_scheduling": false, "enable_prefix_caching": true},
    "requests": [{"id": "A", "prompt": 20, "max_tokens": 6}],
    "script": [{"step": 4, "preempt": ["A"]}]})");
  const SessionTotals totals = totals_of(scenario);
  const RequestTotals& a = totals.requests.at("A");
  EXPECT_EQ(a.num_preemptions, 1);
  EXPECT_EQ(a.num_hit_tokens, 16);  // nothing when it came, two blocks when it came back
  EXPECT_EQ(totals.all.num_hit_tokens, 16);
}

TEST(RequestTotals, ModesAreComparedByWhatEachRequestGot) {
  const Scenario align = test::shipped_scenario("shared_prefix_align");
  Scenario none = align;
  none.settings.mamba_cache_mode = MambaCacheMode::none;
  const auto found = lines(totals_of(align), totals_of(none));
  EXPECT_THAT(found, Contains(HasSubstr("all num_hit_tokens: ")));
  EXPECT_THAT(found, Contains(HasSubstr("B num_hit_tokens: ")));
  EXPECT_THAT(lines(totals_of(align), totals_of(align)), IsEmpty());
}

TEST(RequestTotals, FindingsAreCountedByRule) {
  const Scenario safe = test::shipped_scenario("prompt_as_long_as_a_verify_window");
  Scenario reference = safe;
  reference.settings.engine = EngineProfile::reference;
  EXPECT_THAT(lines(totals_of(safe), totals_of(reference)),
              ElementsAre("all findings.stale-persistent-array: 0 | 4"));
  EXPECT_THAT(
      lines(totals_of(safe, RecordLevel::counts), totals_of(reference, RecordLevel::counts)),
      ElementsAre("all findings.stale-persistent-array: 0 | 4"));
}

TEST(ConfigDifference, NamesTheSettingsThatDiffer) {
  const Scenario safe = test::shipped_scenario("shared_prefix_align");
  Scenario other = safe;
  other.settings.policies.set(AlignedSplit::until_last_cache_position);
  other.settings.max_num_seqs = 5;
  const auto a = test::live_source(safe);
  const auto b = test::live_source(other);
  std::vector<std::string> texts;
  for (const ConfigDifference& difference : compare_configs(a->config(), b->config()))
    texts.push_back(difference.setting + ": " + difference.a + " | " + difference.b);
  EXPECT_THAT(
      texts,
      ElementsAre(HasSubstr("max_num_seqs: "), "engine: safe | -",
                  "policies/aligned_split: every_chunk_on_grid | until_last_cache_position"));
  EXPECT_THAT(reasons_against_steps(a->config(), b->config()), IsEmpty());
}

TEST(ConfigDifference, OtherModesBlockSizesAndDraftsMakeStepsIncomparable) {
  const Scenario scenario = test::shipped_scenario("align_boundary_by_accepted_drafts");
  const auto a = test::live_source(scenario);
  const auto reasons = [&](const test::Change& change) {
    Scenario other = scenario;
    change(other);
    other.script.clear();
    const auto b = test::live_source(other);
    return reasons_against_steps(a->config(), b->config());
  };
  EXPECT_THAT(reasons([](Scenario& s) { s.settings.mamba_cache_mode = MambaCacheMode::all; }),
              Contains(HasSubstr("the modes differ (align and all)")));
  EXPECT_THAT(reasons([](Scenario& s) { s.settings.block_size = 16; }),
              ElementsAre(HasSubstr("the KV-cache groups differ (attention with blocks of 8, "
                                    "mamba2 with blocks of 8; and attention with blocks of 16,")));
  EXPECT_THAT(reasons([](Scenario& s) { s.settings.num_speculative_tokens = 2; }),
              ElementsAre(HasSubstr("K differs (1 and 2)")));
  EXPECT_THAT(reasons([](Scenario& s) { s.settings.async_scheduling = true; }),
              ElementsAre(HasSubstr("only one is scheduled asynchronously")));
}

}  // namespace
}  // namespace hybridscope::request_totals_test
