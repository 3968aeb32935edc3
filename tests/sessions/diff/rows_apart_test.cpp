// A row of a comparison names what differs: no two rows of a step read alike, nor do A and B in
// one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "core/engine/aligned_split_policies.h"
#include "sessions/diff/collected_diff.h"
#include "sessions/diff/field_difference.h"
#include "sessions/diff/request_totals.h"
#include "tests/sessions/diff/live_pair.h"

namespace hybridscope::rows_apart_test {
namespace {

using test::live_source;
using test::shipped_scenario;
using ::testing::ElementsAre;
using ::testing::SizeIs;

const RequestId kA{0};

// Two records of step 1 of a run with the request A, compared.
class Pair {
 public:
  StepRecord a;
  StepRecord b;

  Pair() {
    a.trace.step = b.trace.step = 1;
    EXPECT_TRUE(source_->next().ok());  // A has arrived
  }

  // "findings.present (label-mismatch, conv, group 1): - | block 2".
  std::vector<std::string> rows() {
    compare();
    std::vector<std::string> rows;
    for (const FieldDifference& field : difference_.fields)
      rows.push_back(std::string(diff_list(field.list).name) + "." + std::string(field.field) +
                     " (" + place_text(field) + "): " + field.a.text() + " | " + field.b.text());
    return rows;
  }

  std::vector<DecisionPair> decisions() {
    compare();
    return explain_divergence(difference_, *source_, *source_, names_);
  }

 private:
  void compare() {
    difference_ = {.step = 1, .fields = {}, .a = &a, .b = &b};
    SectionMask sections{};
    sections.fill(true);
    RecordComparer(names_, rules_, RecordLevel::full).compare(a, b, sections, difference_.fields);
  }

  std::unique_ptr<LiveSource> source_ =
      live_source(shipped_scenario("align_boundary_by_accepted_drafts"));
  RequestNumbers names_{*source_, *source_};
  IgnoreRules rules_;
  StepDifference difference_;
};

CacheEvent freed(RequestId request, std::int32_t block) {
  return {.kind = CacheEventKind::freed, .group = 1, .request = request, .block = block};
}

TEST(RowsApart, EventsOfOneRequestAndGroupAreNumbered) {
  Pair pair;
  pair.a.trace.cache_events = {freed(kA, 4), freed(kA, 7), freed(kA, 9)};
  pair.b.trace.cache_events = {freed(kA, 5), freed(kA, 7), freed(kA, 8)};
  EXPECT_THAT(pair.rows(), ElementsAre("block_events.block (freed, group 1, no. 1): 4 | 5",
                                       "block_events.block (freed, group 1, no. 3): 9 | 8"));
}

TEST(RowsApart, OneEventOfItsKindHasNoNumber) {
  Pair pair;
  pair.a.trace.cache_events = {freed(kA, 4)};
  pair.b.trace.cache_events = {freed(kA, 5)};
  EXPECT_THAT(pair.rows(), ElementsAre("block_events.block (freed, group 1): 4 | 5"));
}

TEST(RowsApart, EventsWithoutARequestAreNumbered) {
  Pair pair;
  pair.a.trace.cache_events = {freed({}, 4), freed({}, 7)};
  pair.b.trace.cache_events = {freed({}, 4), freed({}, 8), freed({}, 9)};
  EXPECT_THAT(pair.rows(),
              ElementsAre("block_events.block (freed, group 1, no. 2): 7 | 8",
                          "block_events.present (freed, group 1, no. 3): - | block 9"));
}

TEST(RowsApart, EventsAtCommitAreToldFromThoseOfTheSchedule) {
  Pair pair;
  pair.a.trace.cache_events = pair.a.trace.commit_events = {freed(kA, 4)};
  pair.b.trace.cache_events = pair.b.trace.commit_events = {freed(kA, 5)};
  EXPECT_THAT(pair.rows(), ElementsAre("block_events.block (freed, group 1): 4 | 5",
                                       "block_events.block (freed, at commit, group 1): 4 | 5"));
}

TEST(RowsApart, FindingsNameTheContentAndTheBlock) {
  Pair pair;
  for (const ContentKind content : {ContentKind::temporal, ContentKind::conv})
    pair.b.findings.push_back({.rule = Rule::label_mismatch,
                               .step = 1,
                               .request = kA,
                               .group = 1,
                               .content = content,
                               .block = 2,
                               .cause = {}});
  EXPECT_THAT(pair.rows(),
              ElementsAre("findings.present (label-mismatch, temporal, group 1): - | block 2",
                          "findings.present (label-mismatch, conv, group 1): - | block 2"));
}

ArrayRecord array(ArrayDtype dtype, std::int32_t rows, std::int32_t cols,
                  std::vector<std::int32_t> values) {
  return {.group = 1,
          .name = "chunk_indices",
          .dtype = dtype,
          .dims = cols == 0 ? 1 : 2,
          .rows = rows,
          .cols = std::max(cols, 1),
          .values = std::move(values)};
}

TEST(RowsApart, ArraysOfOneShapeNameTheirDtypes) {
  Pair pair;
  pair.a.arrays = {array(ArrayDtype::int32, 3, 0, {0, 1, 2})};
  pair.b.arrays = {array(ArrayDtype::int64, 3, 0, {0, 1, 2})};
  EXPECT_THAT(pair.rows(), ElementsAre("arrays.chunk_indices (group 1): [3] int32 | [3] int64"));
}

TEST(RowsApart, ShapesNameTheirDimensions) {
  Pair pair;
  pair.a.arrays = {array(ArrayDtype::int32, 3, 0, {0, 1, 2})};
  pair.b.arrays = {array(ArrayDtype::int32, 3, 1, {0, 1, 2})};
  EXPECT_THAT(pair.rows(), ElementsAre("arrays.chunk_indices (group 1): [3] | [3, 1]"));
}

TEST(RowsApart, AnElementOfAnArrayWithTwoDimensionsHasTwoNumbers) {
  Pair pair;
  pair.a.arrays = {array(ArrayDtype::int32, 2, 3, {0, 1, 2, 3, 4, 5})};
  pair.b.arrays = {array(ArrayDtype::int32, 2, 3, {0, 1, 2, 3, 9, 9})};
  EXPECT_THAT(pair.rows(),
              ElementsAre("arrays.chunk_indices (group 1, element [1, 1], 2 differ): 4 | 9"));
}

TEST(RowsApart, ADecisionInTheSameWordsNamesTheFieldThatDiffers) {
  Pair pair;
  pair.a.trace.scheduled = {{.request = kA, .num_output_placeholders = 1}};
  pair.b.trace.scheduled = {{.request = kA, .num_output_placeholders = 3}};
  const std::vector<DecisionPair> decisions = pair.decisions();
  ASSERT_THAT(decisions, SizeIs(1));
  EXPECT_EQ(decisions[0].subject, "schedule");
  EXPECT_EQ(decisions[0].a, decisions[0].b);
  EXPECT_EQ(decisions[0].differs, "scheduled.num_output_placeholders: A 1, B 3");
}

TEST(RowsApart, NoRowOfShippedScenariosReadsLikeAnother) {
  std::int64_t num_rows = 0;
  for (const char* name : {"all_mode_rows_with_drafts", "all_mode_boundary_by_accepted_drafts",
                           "mixed_gdn_batch", "preemption_and_resume", "shared_prefix_align"}) {
    for (const std::int32_t max_num_seqs : {0, 1}) {
      Scenario changed = shipped_scenario(name);
      if (max_num_seqs > 0) changed.settings.max_num_seqs = max_num_seqs;
      changed.settings.engine = EngineProfile::reference;
      const auto a = live_source(shipped_scenario(name));
      const auto b = live_source(changed);
      SessionDiff diff(*a, *b, IgnoreRules());
      const CollectedDiff collected = collect_diff(diff, *a, *b, {}).value();
      for (const CollectedStep& step : collected.steps) {
        std::set<std::tuple<std::string, std::string, std::string>> names;
        for (const CollectedField& field : step.fields) {
          ++num_rows;
          const std::string row = field.field + " (" + field.place + ")";
          EXPECT_TRUE(names.emplace(field.request, field.field, field.place).second)
              << name << " step " << step.step << " " << field.request << " " << row;
          EXPECT_NE(field.a.text(), field.b.text()) << name << " step " << step.step << " " << row;
        }
      }
      for (const DecisionPair& pair : collected.decisions)
        EXPECT_EQ(pair.a == pair.b, !pair.differs.empty()) << name << " " << pair.subject;
    }
  }
  EXPECT_GT(num_rows, 500);
}

using ::testing::Contains;
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

}  // namespace hybridscope::rows_apart_test
