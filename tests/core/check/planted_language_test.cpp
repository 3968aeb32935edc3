// Rules about what a language model on the engine's decisions holds and says: state-differs,
// logits-differ, acceptance-differs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/language/language_findings.h"
#include "sessions/run/spoken_words.h"
#include "tests/core/check/expected_finding.h"
#include "tests/core/check/planted.h"
#include "tests/core/check/speaking_engine.h"
#include "tests/support/property.h"

namespace hybridscope::test::planted_language_test {
namespace {

class SpeakingRun {
 public:
  explicit SpeakingRun(const SmallEngine& small, HybridModel model = small_language_model())
      : speaking_(small, std::move(model)) {}

  void add(const AddRequest& request) { (void)speaking_.engine().add_request(request).value(); }
  void apply(const Command& command) { (void)speaking_.engine().apply(command); }
  void step(const Plant& plant = {}) {
    StepTrace trace = speaking_.engine().step();
    if (plant) plant(trace, arrays_);
    last_ = speaking_.follow(trace);
    found_.append(last_, trace.step, speaking_.checker().state(), findings_);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  void finish() {
    while (speaking_.has_steps()) step();
  }
  std::span<const Finding> findings() const { return findings_; }
  LanguageRun& language() { return speaking_.language(); }
  const LanguageStep& last() const { return last_; }

 private:
  SpeakingEngine speaking_;
  LanguageFindings found_;
  std::vector<Finding> findings_;
  LanguageStep last_;
  OwnedArrays arrays_;
};

// K = 2, 6 prompt tokens. Step 2 accepts all three tokens: S(7), S(8), S(9) in columns 1, 2, 3.
SpeakingRun verify_rows() {
  SpeakingRun run({.num_speculative_tokens = 2});
  run.add(request_of(6, 12, 1));
  run.steps(1);
  run.apply(SetAcceptedTokens{kA, 3});
  return run;
}

TEST(PlantedLanguage, ARightRunSaysWhatTheLoneRunSays) {
  for (const MambaCacheMode mode :
       {MambaCacheMode::none, MambaCacheMode::align, MambaCacheMode::all}) {
    SpeakingRun run({.mode = mode, .num_speculative_tokens = 2});
    run.add(request_of(20, 9, 1));
    run.add(request_of(6, 12, 2));
    run.finish();
    EXPECT_TRUE(run.findings().empty());
    const std::vector<SpokenText> texts = run.language().texts();
    ASSERT_EQ(texts.size(), 2U);
    EXPECT_EQ(texts[0].tokens.size(), 9U);
    EXPECT_EQ(texts[1].tokens.size(), 12U);
    for (const SpokenText& text : texts) EXPECT_TRUE(text.alone.empty());
  }
}

// All modes say the same.
TEST(PlantedLanguage, TheTextDoesNotDependOnTheCacheMode) {
  std::vector<std::vector<std::int32_t>> said;
  for (const MambaCacheMode mode :
       {MambaCacheMode::none, MambaCacheMode::align, MambaCacheMode::all}) {
    SpeakingRun run({.mode = mode});
    run.add(request_of(20, 9, 1));
    run.finish();
    said.push_back(said_ids(run.language().texts()[0]));
  }
  EXPECT_EQ(said[0], said[1]);
  EXPECT_EQ(said[0], said[2]);
}

// Step 3 continues S(9); with a count of 2 it reads S(8).
TEST(PlantedLanguage, AWrongCountReadsAnotherState) {
  SpeakingRun run = verify_rows();
  run.step();
  EXPECT_TRUE(run.findings().empty());
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto counts = arrays.edit(mamba_of(trace).num_accepted_tokens);
    ASSERT_EQ(counts[0], 3);
    counts[0] = 2;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::state_differs,
                                           .step = 3,
                                           .request = 0,
                                           .row = 0,
                                           .group = 1,
                                           .content = ContentKind::temporal,
                                           .column = 2,
                                           .expected = 9,
                                           .detail = "read"}}));
}

// The row of step 2 continues a block that nobody wrote.
TEST(PlantedLanguage, AMissingCopyIsFoundWhereTheRowReads) {
  SpeakingRun run({});
  run.add(request_of(20, 6, 1));
  run.steps(1);
  run.step([](StepTrace& trace, OwnedArrays&) { trace.pre_copies.clear(); });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::state_differs,
                                           .step = 2,
                                           .request = 0,
                                           .content = ContentKind::temporal,
                                           .block = 5,
                                           .expected = 16,
                                           .detail = "read"}}));
}

// The first block of attention is B's: keys and values of another request, in front of the layers
// whose states are compared.
TEST(PlantedLanguage, KeysAndValuesOfAnotherBlockChangeTheStatesAbove) {
  SpeakingRun run({});
  run.add(request_of(12, 9, 1));
  run.add(request_of(12, 9, 2));
  run.steps(2);
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto cols = static_cast<std::size_t>(trace.groups[0].block_table.cols);
    const auto table = arrays.edit(trace.groups[0].block_table);
    table[0] = table[cols];
  });
  ASSERT_EQ(run.findings().size(), 1U);
  EXPECT_EQ(run.findings()[0].rule, Rule::state_differs);
}

// Without recurrent layers above, only the logits tell.
TEST(PlantedLanguage, AttentionThatReadsAnotherBlock) {
  SpeakingRun run({}, [] {
    HybridModel model = small_language_model();
    std::swap(model.layers[0], model.layers[2]);
    return model;
  }());
  run.add(request_of(12, 9, 1));
  run.add(request_of(12, 9, 2));
  run.steps(2);
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto cols = static_cast<std::size_t>(trace.groups[0].block_table.cols);
    const auto table = arrays.edit(trace.groups[0].block_table);
    table[0] = table[cols];
  });
  ASSERT_EQ(run.findings().size(), 1U);
  EXPECT_EQ(run.findings()[0].rule, Rule::logits_differ);
  EXPECT_EQ(run.findings()[0].step, 3);
}

// Drafts of -1 run as token 0 and are never accepted.
TEST(PlantedLanguage, PlaceholdersThatTheEngineCountsAsAccepted) {
  SpeakingRun run = verify_rows();
  run.step([](StepTrace& trace, OwnedArrays&) {
    for (std::size_t i = 1; i < trace.tokens.size(); ++i)
      trace.tokens[i] = tagged_token(TokenKind::placeholder, 0);
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::acceptance_differs,
                                           .step = 2,
                                           .request = 0,
                                           .row = 0,
                                           .expected = 3,
                                           .seen = 1}}));
}

// Where the texts part, what the lone run goes on with is kept beside the run's.
TEST(PlantedLanguage, AWrongStateBecomesAnotherText) {
  SpeakingRun run = verify_rows();
  run.step();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(mamba_of(trace).num_accepted_tokens)[0] = 1;
  });
  run.finish();
  const SpokenText text = run.language().texts()[0];
  EXPECT_EQ(text.tokens.size(), 12U);
  EXPECT_EQ(text.alone.size(), 12U);
  EXPECT_NE(said_ids(text), text.alone);
  // The four tokens before the fault are the same.
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(text.tokens[i].id, text.alone[i]);
}

// Step 2 runs token 6 and drafts at 7 and 8; none is accepted, so another token comes at 7.
TEST(PlantedLanguage, RejectedDraftsStandWhereAnotherTokenCame) {
  SpeakingRun run({.num_speculative_tokens = 2});
  run.add(request_of(6, 12, 1));
  run.steps(1);
  run.apply(SetAcceptedTokens{kA, 1});
  run.step();
  const StepWords& words = run.last().words;
  ASSERT_EQ(words.tokens.size(), 1U);
  EXPECT_EQ(words.tokens[0].token.position, 7);
  ASSERT_EQ(words.rejected.size(), 2U);
  EXPECT_EQ(words.rejected[0].draft.position, 7);
  EXPECT_EQ(words.rejected[1].draft.position, 8);
  EXPECT_NE(words.rejected[0].draft.id, words.tokens[0].token.id);
  run.finish();
  EXPECT_EQ(run.language().texts()[0].rejected[0].step, 2);
}

TEST(PlantedLanguage, TokensComeWithTheMostProbableOnesOfBothRuns) {
  SpeakingRun run({});
  run.add(request_of(6, 3, 1));
  run.step();
  const SpokenToken token = run.last().words.tokens.at(0).token;
  ASSERT_EQ(token.likely.size(), 2U);
  EXPECT_EQ(token.likely[0].id, token.id);
  EXPECT_GT(token.likely[0].probability, token.likely[1].probability);
  EXPECT_EQ(token.likely, token.twin_likely);
}

// The row of step 2 reads a state and a conv window; each of its three tokens leaves one of each.
TEST(PlantedLanguage, ComparedStatesAreWhatRowsReadAndLeave) {
  SpeakingRun run = verify_rows();
  run.step();
  const std::vector<ComparedState>& compared = run.last().compared;
  ASSERT_EQ(compared.size(), 8U);
  EXPECT_TRUE(compared[0].is_read);
  EXPECT_TRUE(compared[1].is_read);
  for (std::size_t i = 2; i < 8; ++i) EXPECT_FALSE(compared[i].is_read);
  EXPECT_TRUE(run.last().states.empty());
}

// A language model runs whatever a changed trace says: nothing outside its memory is touched.

TEST(MutatedLanguage, AChangedTraceRunsToItsEnd) {
  const std::uint64_t seed = from_environment("HYBRIDSCOPE_SEED", 20261128);
  int planted = 0;
  for (std::uint64_t i = 0; i < num_cases(30) && !HasFailure(); ++i) {
    SCOPED_TRACE("HYBRIDSCOPE_SEED=" + std::to_string(seed + i));
    std::mt19937_64 random(seed + i);
    MutatedLanguageRun run(random);
    planted += run.run();
    EXPECT_GE(run.language().texts().size(), 2U);
  }
  EXPECT_GT(planted, 30);
}

}  // namespace

}  // namespace hybridscope::test::planted_language_test
