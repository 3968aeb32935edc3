// Which findings follow from which, whose accepted count a row runs with, and which write of a run
// a finding names.
#include "sessions/explain/finding_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/policy_table.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_finding.h"
#include "tests/sessions/explain/explained_run.h"

namespace hybridscope::finding_roots_test {
namespace {

constexpr RequestId kA{0};
constexpr RequestId kC{2};
constexpr RequestId kD{3};

// A wrong state that the request reads in the step, left by that write.
Finding wrong(RequestId request, std::int64_t step, WriteKind kind, std::int32_t written_in,
              RequestId writer) {
  Finding finding;
  finding.step = step;
  finding.request = request;
  finding.cause = {.kind = kind, .step = written_in, .request = writer};
  return finding;
}

TEST(FindingRoots, AStateThatAWrongRowLeftFollowsFromIt) {
  FindingRoots roots;
  EXPECT_EQ(roots.add(wrong(kC, 5, WriteKind::decode, 3, kC)), 0U);  // a good state, read wrongly
  EXPECT_EQ(roots.add(wrong(kC, 5, WriteKind::decode, 3, kC)), 0U);  // the same row's conv window
  EXPECT_EQ(roots.add(wrong(kC, 6, WriteKind::decode, 5, kC)), 0U);
  EXPECT_EQ(roots.add(wrong(kC, 9, WriteKind::decode, 6, kC)), 0U);
  EXPECT_EQ(roots.roots()[0].num_following, 3);
  EXPECT_EQ(following_words(roots.roots()[0]), "3 findings follow from it, to step 9");
  EXPECT_EQ(following_words(roots.roots()[0], 3), "3 findings follow from it, to step 9");
  EXPECT_EQ(following_words(roots.roots()[0], 2),
            "3 findings follow from it, to step 9; 2 of 3 shown");
}

TEST(FindingRoots, ACopyOfAWrongStateFollowsToo) {
  FindingRoots roots;
  roots.add(wrong(kC, 5, WriteKind::decode, 3, kC));
  EXPECT_EQ(roots.add(wrong(kC, 6, WriteKind::pre_copy, 6, kC)), 0U);
}

TEST(FindingRoots, AnotherRequestThatHitsAWrongBlockFollowsFromTheOneThatWroteIt) {
  FindingRoots roots;
  roots.add(wrong(kC, 5, WriteKind::decode, 3, kC));
  EXPECT_EQ(roots.add(wrong(kD, 8, WriteKind::decode, 5, kC)), 0U);
  EXPECT_EQ(roots.add(wrong(kD, 9, WriteKind::decode, 8, kD)), 0U);
}

TEST(FindingRoots, ARowBehindAWrongRowFollowsFromItWhateverItReads) {
  FindingRoots roots;
  roots.add(wrong(kC, 5, WriteKind::decode, 3, kC));
  EXPECT_EQ(roots.add(wrong(kC, 6, WriteKind::decode, 2, kC)), 0U);
  EXPECT_EQ(roots.add(wrong(kD, 6, WriteKind::decode, 2, kD)), 1U);
}

TEST(FindingRoots, AWriteOfBeforeTheFirstFindingIsReadWronglyOnItsOwn) {
  FindingRoots roots;
  roots.add(wrong(kC, 5, WriteKind::decode, 3, kC));
  EXPECT_EQ(roots.add(wrong(kA, 6, WriteKind::decode, 4, kA)), 1U);
  EXPECT_EQ(roots.add(wrong(kC, 7, WriteKind::decode, 2, kC)), 2U);
  EXPECT_EQ(following_words(roots.roots()[0]), "");
}

TEST(FindingRoots, WhoReadsABlockUnderAWrongLabelFollowsFromTheLabel) {
  Finding label = wrong(kC, 5, WriteKind::decode, 3, kC);
  label.rule = Rule::label_mismatch;
  label.group = 1;
  label.content = ContentKind::temporal;
  label.expected = 8;
  label.seen = 4;
  FindingRoots roots;
  EXPECT_EQ(roots.add(label), 0U);
  Finding hit = wrong(kD, 9, WriteKind::pre_copy, 9, kD);
  hit.group = 1;
  hit.content = ContentKind::temporal;
  hit.expected = 8;
  hit.seen = 4;
  EXPECT_EQ(roots.add(hit), 0U);
  hit.request = kA;
  hit.cause.request = kA;
  hit.seen = 5;  // another wrong state
  EXPECT_EQ(roots.add(hit), 1U);
}

TEST(FindingRoots, ABlockThatStaysWronglyRegisteredIsTheSameAgain) {
  Finding label = wrong(kC, 5, WriteKind::decode, 3, kC);
  label.rule = Rule::label_mismatch;
  label.block = 6;
  label.expected = 8;
  label.seen = 4;
  FindingRoots roots;
  EXPECT_EQ(roots.add(label), 0U);
  label.step = 6;
  EXPECT_EQ(roots.add(label), 0U);
  label.step = 9;
  EXPECT_EQ(roots.add(label), 0U);
  label.step = 11;
  label.block = 7;
  EXPECT_EQ(roots.add(label), 1U);
}

Finding of_rule(Rule rule, RequestId request, std::int64_t step) {
  Finding finding;
  finding.rule = rule;
  finding.request = request;
  finding.step = step;
  return finding;
}

TEST(FindingRoots, ARequestsFindingInTheNextStepFollowsWithoutAWriteToo) {
  FindingRoots roots;
  roots.add(of_rule(Rule::foreign_row_datum, kC, 4));
  EXPECT_EQ(roots.add(of_rule(Rule::read_of_unwritten_block, kC, 5)), 0U);
  EXPECT_EQ(roots.add(of_rule(Rule::read_of_unwritten_block, kC, 7)), 1U);
}

TEST(FindingRoots, ACountIsFoundAgainWhenTheFrameBehindTheNextOneReturns) {
  FindingRoots roots;
  roots.add(of_rule(Rule::rejected_draft_counted, kC, 4));
  EXPECT_EQ(roots.add(of_rule(Rule::metadata_inconsistent, kC, 6)), 0U);
  EXPECT_EQ(roots.add(of_rule(Rule::metadata_inconsistent, kC, 9)), 1U);
}

TEST(FindingRoots, WhatFollowsFromAWrongCountOfRowsBelongsToIt) {
  FindingRoots roots;
  Finding count = of_rule(Rule::metadata_inconsistent, {}, 4);
  count.group = 1;
  roots.add(count);
  Finding stale = of_rule(Rule::stale_persistent_array, {}, 4);
  stale.group = 1;
  EXPECT_EQ(roots.add(stale), 0U);
  Finding row = of_rule(Rule::foreign_row_datum, kC, 4);
  row.group = 1;
  EXPECT_EQ(roots.add(row), 0U);
  Finding unwritten = of_rule(Rule::read_of_unwritten_block, kD, 5);  // its row did not run
  unwritten.group = 1;
  EXPECT_EQ(roots.add(unwritten), 0U);
  unwritten.request = kA;
  unwritten.step = 7;
  EXPECT_EQ(roots.add(unwritten), 1U);
  row.group = 2;
  row.request = {4};
  EXPECT_EQ(roots.add(row), 2U);
}

TEST(FindingRoots, WhatTheCacheDoesWithABlockThatATableNamesWronglyFollowsFromTheTable) {
  FindingRoots roots;
  Finding table = of_rule(Rule::block_table_mismatch, kC, 3);
  table.block = 5;
  table.expected = 6;
  roots.add(table);
  Finding count = of_rule(Rule::reference_count, kD, 3);
  count.block = 6;
  EXPECT_EQ(roots.add(count), 0U);
  Finding hit = of_rule(Rule::hit_longer_than_group, kA, 9);
  hit.block = 5;
  EXPECT_EQ(roots.add(hit), 0U);
  hit.request = kD;
  hit.step = 12;
  hit.block = 7;
  EXPECT_EQ(roots.add(hit), 1U);
}

TEST(FindingRoots, AWriteIntoABlockThatAHitReadsInTheSameStepFollowsFromTheRead) {
  FindingRoots roots;
  Finding read = of_rule(Rule::read_of_unwritten_block, kD, 1);
  read.block = 2;
  roots.add(read);
  Finding write = of_rule(Rule::foreign_write, kA, 1);
  write.block = 2;
  EXPECT_EQ(roots.add(write), 0U);
  write.request = kC;
  write.step = 3;
  EXPECT_EQ(roots.add(write), 1U);
}

TEST(FindingRoots, SumsOfABatchFollowFromTheCountOfARequestInTheSameStep) {
  FindingRoots roots;
  roots.add(of_rule(Rule::metadata_inconsistent, kC, 3));
  EXPECT_EQ(roots.add(of_rule(Rule::metadata_inconsistent, {}, 3)), 0U);
}

TEST(FindingRoots, WhoseSampledTokensAreNotKnownIsWrongFromThenOn) {
  FindingRoots roots;
  Finding sampled = of_rule(Rule::metadata_inconsistent, kC, 3);
  sampled.detail = "sampled tokens";
  roots.add(sampled);
  EXPECT_EQ(roots.add(of_rule(Rule::attention_slot_unwritten, kC, 9)), 0U);
  EXPECT_EQ(roots.add(of_rule(Rule::attention_slot_unwritten, kD, 9)), 1U);
}

TEST(FindingRoots, WhatAPaddingRowLeftFollowsFromIt) {
  FindingRoots roots;
  Finding padding = of_rule(Rule::padded_row_not_null, {}, 6);
  padding.block = 4;
  roots.add(padding);
  Finding label = wrong({}, 6, WriteKind::decode, 6, {});
  label.rule = Rule::label_mismatch;
  label.block = 4;
  EXPECT_EQ(roots.add(label), 0U);
}

StepTrace step_with(std::int64_t step, RequestId request, std::int32_t count_before,
                    std::int32_t sampled) {
  StepTrace trace;
  trace.step = step;
  trace.scheduled.push_back({.request = request});
  RowTrace row;
  row.request = request;
  row.scheduled = 0;
  row.num_accepted_tokens_before = count_before;
  row.accepted_from = request;
  row.num_sampled_tokens = sampled;
  trace.rows.push_back(row);
  return trace;
}

TEST(OwnCounts, ARowsOwnCountIsWhatItsRequestsLastRowAccepted) {
  OwnCounts counts;
  EXPECT_EQ(counts.before(3, kC), std::nullopt);
  counts.take(step_with(3, kC, 1, 3));
  EXPECT_EQ(counts.before(4, kC), (OwnCount{.step = 3, .num_accepted_tokens = 3}));
  const StepTrace next = step_with(4, kC, 3, 1);
  EXPECT_EQ(count_origin_words(next, next.rows[0], counts.before(next.step, kC), numbered_names()),
            "own, of step 3");
  EXPECT_EQ(wrong_count_words(next, next.rows[0], counts.before(next.step, kC), numbered_names()),
            "");
}

TEST(OwnCounts, ACountThatWasLostSaysWhenAndWhatItWas) {
  OwnCounts counts;
  counts.take(step_with(3, kC, 1, 3));
  const StepTrace back = step_with(5, kC, 1, 1);
  EXPECT_EQ(count_origin_words(back, back.rows[0], counts.before(5, kC), numbered_names()),
            "1, own 3 of step 3");
  EXPECT_EQ(wrong_count_words(back, back.rows[0], counts.before(5, kC), numbered_names()),
            "r2's accepted count became 1 when it was skipped in step 4; its own is 3, of step 3");
}

TEST(OwnCounts, ACountOfAnotherRequestNamesIt) {
  OwnCounts counts;
  counts.take(step_with(3, kC, 1, 3));
  StepTrace next = step_with(4, kC, 1, 1);
  next.rows[0].accepted_from = kA;
  EXPECT_EQ(count_origin_words(next, next.rows[0], counts.before(next.step, kC), numbered_names()),
            "1 of r0, own 3 of step 3");
  EXPECT_EQ(wrong_count_words(next, next.rows[0], counts.before(next.step, kC), numbered_names()),
            "r2 runs with the accepted count of r0, 1; its own is 3, of step 3");
}

TEST(OwnCounts, ARequestThatIsAdmittedBeginsWithOne) {
  StepTrace trace = step_with(4, kC, 1, 1);
  trace.scheduled[0].admission = Admission::resumed;
  EXPECT_EQ(count_origin(trace, trace.rows[0], OwnCount{.step = 2, .num_accepted_tokens = 3}),
            CountOrigin::fresh);
}

// The reference pads a one-token prompt tail with placeholders and runs it as a prefill.
TEST(ExplainFinding, TellsWhichPrefillFoldedPlaceholders) {
  test::ExplainedRun run(test::engine_config({.mamba_type = MambaType::gdn_attention,
                                              .num_speculative_tokens = 2,
                                              .num_blocks = 40,
                                              .policies = reference_policies()}));
  run.add("A", 30, 30, 24);
  run.step(3);
  run.add("C", 17, 9, 16);
  run.step(5);
  std::vector<std::string> texts;
  for (const Finding& finding : run.findings())
    texts.push_back(explain_finding(finding, run.names()));
  EXPECT_THAT(texts, testing::Contains(testing::HasSubstr(
                         "holds the state of 19 tokens of C, expected 17; written by "
                         "the prefill of step 4")));
}

}  // namespace
}  // namespace hybridscope::finding_roots_test
