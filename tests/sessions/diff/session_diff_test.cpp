#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/engine/row_inputs_policies.h"
#include "sessions/diff/diff_lists.h"
#include "sessions/diff/session_diff.h"
#include "tests/sessions/diff/live_pair.h"

namespace hybridscope::session_diff_test {
namespace {

using test::compare_runs;
using test::Compared;
using test::scenario_of;
using test::shipped_scenario;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

TEST(SessionDiff, ARunHasNoDifferenceFromItself) {
  for (const char* name : {"preemption_and_resume", "mixed_gdn_batch", "async_worked_example"}) {
    const Scenario scenario = shipped_scenario(name);
    const Compared compared = compare_runs(scenario, scenario);
    EXPECT_THAT(compared.lines, IsEmpty()) << name;
    EXPECT_EQ(compared.summary.verdict(), "No difference.");
    EXPECT_EQ(compared.summary.num_common, compared.summary.num_steps_a);
    EXPECT_GT(compared.summary.num_common, 3);
  }
}

// A accepts one of one draft in step 2; `count` 1: none.
Scenario accepting(std::int32_t count) {
  Scenario scenario = shipped_scenario("align_boundary_by_accepted_drafts");
  scenario.script.front().accept.front().count = count;
  return scenario;
}

TEST(SessionDiff, AChangedAcceptedCountIsFoundWhereItIsSampled) {
  const Compared compared = compare_runs(accepting(2), accepting(1), {"state"});
  ASSERT_GE(compared.lines.size(), 13U);
  EXPECT_EQ(
      std::vector(compared.lines.begin(), compared.lines.begin() + 13),
      (std::vector<std::string>{
          "step 2 A commands.value set_accepted_tokens: 2 | 1",
          "step 2 A rows.num_sampled_tokens: 2 | 1", "step 2 A commits.num_computed_tokens: 8 | 7",
          "step 2 A commits.num_tokens: 9 | 8", "step 2 A commits.num_appended_tokens: 2 | 1",
          "step 2 A copies.outcome post_copies: within_block_shift | no_boundary",
          "step 2 A copies.resets_accepted_count post_copies: yes | no",
          "step 2 A copies.num_accepted_tokens post_copies: 2 | 1",
          "step 2 A copies.new_num_computed_tokens post_copies: 8 | 7",
          "step 2 A copies.aligned_new_computed post_copies: 8 | 0",
          "step 2 A copies.accept_token_bias post_copies: 1 | -7",
          "step 2 A copies.dst_col post_copies: 0 | -1",
          "step 2 A state_copies.present post_copies group 1: block 2 | -"}));
  EXPECT_EQ(compared.summary.num_differing, 2);  // steps 2 and 3
  EXPECT_EQ(compared.summary.verdict(), "The decisions differ.");
}

TEST(SessionDiff, StepsBehindTheEndOfTheOtherAreOneDifference) {
  const Compared compared = compare_runs(accepting(2), accepting(1), {"step:1-3"});
  EXPECT_THAT(compared.lines, ElementsAre("step 4-4 only in b"));
  EXPECT_EQ(compared.summary.num_steps_a, 3);
  EXPECT_EQ(compared.summary.num_steps_b, 4);
  EXPECT_EQ(compared.summary.num_differences, 1);
  EXPECT_EQ(compared.summary.num_only_b, 1);
}

// A prompt of 1 + K tokens has the shape of a verify step.
TEST(SessionDiff, APolicyOfTheReferenceShowsInItsDecisionAndItsFinding) {
  const Scenario safe = shipped_scenario("prompt_as_long_as_a_verify_window");
  Scenario reference = safe;
  reference.settings.engine = EngineProfile::reference;
  const Compared compared = compare_runs(safe, reference);
  EXPECT_THAT(compared.lines,
              IsSupersetOf({"step 1 graph.runtime_mode: PIECEWISE | FULL",
                            "step 1 graph.reason: not_uniform | uniform_decode_graph",
                            "step 1 groups.accepted_counts_given group 1: yes | no",
                            "step 1 findings.present stale-persistent-array group 1: - | yes"}));
}

TEST(SessionDiff, ColumnsThatStateIsReadFromAreComparedAndCountedAndIgnored) {
  const Scenario safe = shipped_scenario("all_mode_boundary_by_accepted_drafts");
  Scenario reference = safe;
  reference.settings.engine = EngineProfile::reference;
  const Compared compared = compare_runs(safe, reference);
  EXPECT_THAT(compared.lines, IsSupersetOf({"step 3 arrays.conv_source_column group 1[0]: 1 | 0",
                                            "step 6 arrays.conv_source_column group 1[0]: 2 | 1"}));
  const auto counts = count_by_field(compared.summary);
  const auto columns =
      std::ranges::find(counts, std::string_view("conv_source_column"), &FieldCount::field);
  ASSERT_NE(columns, counts.end());
  EXPECT_EQ(columns->count, 2);
  EXPECT_THAT(compare_runs(safe, reference, {"arrays.conv_source_column"}).lines,
              Not(Contains(HasSubstr("conv_source_column"))));
}

TEST(SessionDiff, RunnersDecideTheSameInOtherRows) {
  const Scenario v2 = shipped_scenario("v2_slots");
  Scenario v1 = v2;
  v1.settings.runner = ModelRunner::v1;
  EXPECT_THAT(compare_runs(v2, v1, {"layout", "metadata"}).lines, IsEmpty());
  const Compared compared = compare_runs(v2, v1, {"metadata"});
  EXPECT_THAT(compared.lines,
              IsSupersetOf({"step 3 C layout.row: 1 | 2", "step 3 B layout.row: 2 | 1"}));
  EXPECT_EQ(compared.summary.verdict(), "The same decisions in other rows.");
}

// Blocks are in other rows too, but that is not why the builder's inputs differ.
TEST(SessionDiff, WhatTheBuildersWereToldIsADecision) {
  const Scenario v2 = shipped_scenario("v2_slots");
  Scenario v1 = v2;
  v1.settings.runner = ModelRunner::v1;
  v1.settings.policies.set(NoDraftStep::column_zero);
  const Compared compared = compare_runs(v2, v1);
  EXPECT_THAT(compared.lines, Contains(HasSubstr("groups.accepted_counts_given")));
  EXPECT_EQ(compared.summary.verdict(), "The decisions differ.");
}

FieldDifference difference_of(DiffList list, DiffSection section) {
  return {.list = list, .section = section, .a = {}, .b = {}};
}

TEST(DiffSummary, ArraysAreMadeOfPlacesOnlyWherePlacesDifferInTheSameStep) {
  const FieldDifference row = difference_of(DiffList::layout, DiffSection::layout);
  const FieldDifference array = difference_of(DiffList::arrays, DiffSection::metadata);
  DiffSummary summary;
  summary.num_differences = 2;
  summary.add({row, array});
  EXPECT_EQ(summary.verdict(),
            "The same decisions in other rows; metadata arrays, which are made of them, differ "
            "too.");
  summary.add({array});
  EXPECT_EQ(summary.verdict(), "The same decisions in other rows; metadata differs too.");
}

TEST(SessionDiff, RequestsAreKnownByNameWhateverTheirIds) {
  const Scenario scenario = scenario_of(R"({
    "version": 1, "name": "two", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 64, "async_scheduling": false},
    "requests": [{"id": "A", "prompt": 9, "max_tokens": 3},
                 {"id": "B", "prompt": 5, "max_tokens": 3}]})");
  Scenario other = scenario;
  std::swap(other.requests[0], other.requests[1]);
  EXPECT_THAT(compare_runs(scenario, other, {"blocks", "layout", "metadata"}).lines, IsEmpty());
  const Compared compared = compare_runs(scenario, other);
  EXPECT_THAT(compared.lines,
              IsSupersetOf({"step 1 A layout.row: 0 | 1", "step 1 B layout.row: 1 | 0",
                            "step 1 A block_events.block column_set group 0 column 0: 1 | 3"}));
  EXPECT_EQ(compared.summary.verdict(),
            "The same decisions with other block ids and in other rows; metadata arrays, which are "
            "made of them, differ too.");
}

TEST(SessionDiff, LevelBlocksSaysThatADigestDiffersWhereItKeepsNoMore) {
  const Scenario v2 = shipped_scenario("v2_slots");
  Scenario v1 = v2;
  v1.settings.runner = ModelRunner::v1;
  const Compared compared = compare_runs(v2, v1, {"layout"}, RecordLevel::blocks);
  ASSERT_EQ(compared.lines.size(), 1U);  // rows differ only in step 3
  EXPECT_THAT(compared.lines[0], StartsWith("step 3 digests.metadata: 0x"));
}

TEST(SessionDiff, LevelCountsComparesDigestsAndSums) {
  const Compared compared = compare_runs(accepting(2), accepting(1), {}, RecordLevel::counts);
  EXPECT_THAT(compared.lines, IsSupersetOf({"step 2 A commands.value set_accepted_tokens: 2 | 1",
                                            "step 2 counts.num_output_tokens: 2 | 1",
                                            "step 2 counts.num_state_copies: 1 | 0",
                                            "step 3 step.num_unfinished: 0 | 1"}));
  EXPECT_THAT(compared.lines, Contains(StartsWith("step 2 digests.copies: 0x")));
}

// The same run with digests as another version made them.
class OtherDigests final : public StepSource {
 public:
  explicit OtherDigests(std::unique_ptr<LiveSource> source) : source_(std::move(source)) {}
  std::string title() const override { return "older.db:run"; }
  const EngineConfig& config() const override { return source_->config(); }
  RecordLevel level() const override { return source_->level(); }
  std::int32_t digest_version() const override { return 1; }
  std::string request_name(RequestId request) const override {
    return source_->request_name(request);
  }
  Result<const StepStamp*> next() override {
    const auto next = source_->next();
    if (next.value() == nullptr) return nullptr;
    stamp_ = *next.value();
    stamp_.digests.of.fill(7);
    return &stamp_;
  }
  Result<const StepRecord*> record() override {
    record_ = *source_->record().value();
    record_.digests = stamp_.digests;
    return &record_;
  }

 private:
  std::unique_ptr<LiveSource> source_;
  StepStamp stamp_;
  StepRecord record_;
};

TEST(SessionDiff, DigestsOfTwoVersionsAreNotComparedButRecordsAre) {
  for (const RecordLevel level : {RecordLevel::full, RecordLevel::blocks}) {
    const auto a = test::live_source(accepting(2), level);
    OtherDigests same(test::live_source(accepting(2), level));
    EXPECT_THAT(test::compare_sources(*a, same).lines, IsEmpty());
    const auto again = test::live_source(accepting(2), level);
    OtherDigests other(test::live_source(accepting(1), level));
    EXPECT_EQ(test::compare_sources(*again, other, {"metadata"}).lines,
              compare_runs(accepting(2), accepting(1), {"metadata"}, level).lines);
  }
}

TEST(SessionDiff, LevelCountsCannotBeComparedWithOtherDigests) {
  const auto a = test::live_source(accepting(2), RecordLevel::counts);
  OtherDigests b(test::live_source(accepting(2), RecordLevel::counts));
  SessionDiff diff(*a, b, {});
  const auto next = diff.next();
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.error().kind, ErrorKind::not_available);
  EXPECT_THAT(next.error().message,
              HasSubstr("are of version 2, those of older.db:run of version 1"));
}

TEST(SessionDiff, LooksAtNoMoreStepsThanItIsAskedFor) {
  const auto a = test::live_source(accepting(2), RecordLevel::full);
  const auto b = test::live_source(accepting(2), RecordLevel::full);
  SessionDiff diff(*a, *b, {});
  EXPECT_EQ(diff.look(1).value(), DiffProgress::not_yet);
  EXPECT_EQ(diff.summary().num_common, 1);
  EXPECT_EQ(diff.look(2).value(), DiffProgress::not_yet);
  EXPECT_EQ(diff.summary().num_common, 3);
  EXPECT_EQ(diff.look(1000).value(), DiffProgress::end);
  EXPECT_EQ(diff.look(1).value(), DiffProgress::end);
}

// The run that accepts less goes on longer: its tail is one difference however it is looked at.
TEST(SessionDiff, ATailIsToldAtItsEndStepByStepToo) {
  const auto a = test::live_source(accepting(2), RecordLevel::full);
  const auto b = test::live_source(accepting(1), RecordLevel::full);
  SessionDiff diff(*a, *b, {});
  std::vector<std::int64_t> steps;
  int waits = 0;
  DiffProgress progress = DiffProgress::not_yet;
  while ((progress = diff.look(1).value()) != DiffProgress::end) {
    waits += progress == DiffProgress::not_yet ? 1 : 0;
    if (progress == DiffProgress::differs) steps.push_back(diff.difference().step);
  }
  const Compared whole = compare_runs(accepting(2), accepting(1), {});
  EXPECT_EQ(static_cast<std::int64_t>(steps.size()), whole.summary.num_differences);
  EXPECT_EQ(diff.summary().num_only_b, whole.summary.num_only_b);
  EXPECT_GE(waits, diff.summary().num_only_b);
  EXPECT_GT(diff.summary().num_only_b, 0);
}

TEST(SessionDiff, ARequestThatIsIgnoredDiffersNowhere) {
  const Compared compared =
      compare_runs(accepting(2), accepting(1), {"request:A", "step", "metadata", "step:4"});
  EXPECT_THAT(compared.lines, IsEmpty());
}

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

}  // namespace hybridscope::session_diff_test
