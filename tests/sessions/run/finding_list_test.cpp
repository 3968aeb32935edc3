// What a run says at its end in words: findings, waiting requests, and texts of a language model.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sessions/run/checked_run.h"
#include "sessions/run/finding_baseline.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/run_summary.h"
#include "sessions/run/spoken_words.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::finding_list_test {
namespace {

using testing::HasSubstr;

constexpr RequestId kA{0};
constexpr RequestId kC{2};

Finding wrong(Rule rule, std::int64_t step, RequestId request) {
  Finding finding;
  finding.rule = rule;
  finding.step = step;
  finding.request = request;
  return finding;
}

FindingList list_of(const std::vector<Finding>& findings) {
  FindingList list;
  for (const Finding& finding : findings) {
    StepTrace trace;
    trace.step = finding.step;
    list.add(trace, {&finding, 1}, {}, numbered_names());
  }
  return list;
}

TEST(FindingList, SaysHowFarTheDamageOfEachRequestWent) {
  const FindingList list =
      list_of({wrong(Rule::running_state_wrong, 4, kC), wrong(Rule::label_mismatch, 6, kA),
               wrong(Rule::running_state_wrong, 9, kC)});
  EXPECT_EQ(list.format_by_request(),
            "  r2: 2 findings, steps 4 to 9, first running-state-wrong\n"
            "  r0: 1 finding, step 6, first label-mismatch\n");
  EXPECT_EQ(list.by_request_json()[0],
            nlohmann::ordered_json({{"request", "r2"},
                                    {"findings", 2},
                                    {"first_step", 4},
                                    {"last_step", 9},
                                    {"first_rule", "running-state-wrong"}}));
}

TEST(FindingList, CountsTheDamageBeyondTheFindingsThatAreKept) {
  const FindingList list =
      list_of(std::vector<Finding>(25, wrong(Rule::running_state_wrong, 4, kC)));
  EXPECT_EQ(list.kept().size(), 20U);
  EXPECT_EQ(list.by_request().front().found, 25);
}

TEST(FindingList, FindingsAboutNoRequestAreToldAsSuchAndWarningsNotAtAll) {
  const FindingList list =
      list_of({wrong(Rule::label_mismatch, 1, {}), wrong(Rule::label_mismatch, 2, {}),
               wrong(Rule::chunk_off_grid, 3, kA)});
  EXPECT_EQ(list.format_by_request(),
            "  no request: 2 findings, steps 1 to 2, first label-mismatch\n");
}

TEST(FindingList, AFewRequestsAreListedAndTheRestIsCounted) {
  std::vector<Finding> findings;
  for (std::int32_t id = 0; id < 23; ++id)
    findings.push_back(wrong(Rule::running_state_wrong, 1, RequestId{id}));
  EXPECT_TRUE(list_of(findings).format_by_request().ends_with("\n  3 requests more\n"));
}

// 25 findings of one request behind the first; 19 of them are kept.
TEST(FindingList, AListThatHasNotAllOfAChainSaysSo) {
  const FindingList list =
      list_of(std::vector<Finding>(26, wrong(Rule::running_state_wrong, 4, kC)));
  EXPECT_THAT(list.format_roots(),
              HasSubstr("\n  25 findings follow from it, to step 4; 19 of 25 shown:\n"));
}

// The first finding of a chain has a line of its own.
TEST(FindingList, FindingsThatDifferOnlyInTheirGroupAreOneLine) {
  std::vector<Finding> findings(4, wrong(Rule::running_state_wrong, 4, kC));
  for (std::int32_t i = 0; i < 4; ++i) {
    findings[static_cast<std::size_t>(i)].group = i;
    findings[static_cast<std::size_t>(i)].block = 10 + i;
    findings[static_cast<std::size_t>(i)].content = ContentKind::temporal;
  }
  const FindingList list = list_of(findings);
  EXPECT_THAT(list.format_roots(), HasSubstr("\n  3 findings follow from it, to step 4:\n"
                                             "    running-state-wrong: step 4 r2 groups 1 to 3: "));
  EXPECT_NE(list.kept()[1].line, "");
  EXPECT_EQ(list.kept()[2].line, "");
  EXPECT_EQ(list.kept()[3].line, "");
  EXPECT_EQ(list.kept()[3].json->at("group"), 3);
}

// Readers leave out the lines of expected findings: what is not expected has to be in another one.
TEST(FindingList, WhatIsExpectedHasLinesOfItsOwn) {
  std::vector<Finding> findings(4, wrong(Rule::running_state_wrong, 4, kC));
  for (std::int32_t i = 0; i < 4; ++i) {
    findings[static_cast<std::size_t>(i)].group = i;
    findings[static_cast<std::size_t>(i)].block = 10 + i;
    findings[static_cast<std::size_t>(i)].content = ContentKind::temporal;
  }
  StepTrace trace;
  trace.step = 4;
  FindingList list;
  list.add(
      trace, findings, [](const Finding& finding) { return finding.group == 1; }, numbered_names());
  ASSERT_EQ(list.kept().size(), 4U);
  EXPECT_TRUE(list.kept()[1].expected);
  EXPECT_THAT(list.kept()[1].line, HasSubstr("step 4 r2 group 1"));
  EXPECT_FALSE(list.kept()[2].expected);
  EXPECT_THAT(list.kept()[2].line, HasSubstr("step 4 r2 groups 2 and 3"));
  EXPECT_EQ(list.kept()[3].line, "");
}

TEST(FindingList, StatesBehindAStaleArrayAreSaidToComeFromFreshOnes) {
  FindingList list = list_of({wrong(Rule::stale_persistent_array, 21, {})});
  EXPECT_THAT(list.format_left_out(),
              HasSubstr("from step 21 on states were computed from the arrays of each step"));
  list.set_runs_replays();
  EXPECT_EQ(list.format_left_out(), "");
  EXPECT_EQ(list_of({wrong(Rule::label_mismatch, 1, kA)}).fresh_arrays_note(), "");
}

TEST(FindingList, OneFindingNeedsNoSummary) {
  EXPECT_EQ(list_of({wrong(Rule::label_mismatch, 1, kA)}).format_by_request(), "");
}

Finding found(std::string_view detail, std::int64_t step) {
  Finding finding;
  finding.rule = Rule::rejected_draft_counted;
  finding.detail = detail;
  finding.step = step;
  finding.request = RequestId{0};
  return finding;
}

TEST(FindingBaseline, VariantsOfARuleAreToldApart) {
  FindingBaseline known;
  known.add("a", found("computed tokens after the step", 7), numbered_names());
  EXPECT_TRUE(known.has("a", found("computed tokens after the step", 7), numbered_names()));
  EXPECT_FALSE(known.has("a", found("appended tokens of a valid frame", 7), numbered_names()));
  EXPECT_FALSE(known.has("a", found("computed tokens after the step", 8), numbered_names()));
}

TEST(FindingBaseline, ALineHasTheVariantBehindTheRule) {
  FindingBaseline known;
  known.add("a", found("computed tokens after the step", 7), numbered_names());
  known.add("a", found("computed tokens after the step", 8), numbered_names());
  known.add("a", found("", 9), numbered_names());
  EXPECT_EQ(known.num_steps(), 3);
  EXPECT_EQ(known.text(), R"({
  "version": 1,
  "findings": [
    {"run":"a","rule":"rejected-draft-counted","request":"r0","steps":[9]},
    {"run":"a","rule":"rejected-draft-counted","detail":"computed tokens after the step","request":"r0","steps":[[7,8]]}
  ]
}
)");
}

// Three requests decode with two drafts each, which takes 9 of the 16 tokens of a step: 7 are left,
// and A's first block has 8. Of each request's drafts none is accepted.
RunPlan plan_of(int max_num_batched_tokens, int decode_tokens, const std::string& script = "") {
  const std::string text = fmt::format(
      R"({{"version": 1, "name": "n", "teaches": "t", "model": "tiny-mamba2",
          "settings": {{"mamba_cache_mode": "align", "block_size": 8, "max_model_len": 128,
                       "num_gpu_blocks_override": 128, "max_num_batched_tokens": {},
                       "async_scheduling": false, "acceptance_rate": 0,
                       "speculative_config": {{"method": "mtp", "num_speculative_tokens": 2}}}},
          "requests": [{{"id": "D1", "prompt": 5, "max_tokens": {}}},
                       {{"id": "D2", "prompt": 5, "max_tokens": {}}},
                       {{"id": "D3", "prompt": 5, "max_tokens": {}}},
                       {{"id": "A", "prompt": 30, "max_tokens": 2, "at_step": 3}}]{}}})",
      max_num_batched_tokens, decode_tokens, decode_tokens, decode_tokens, script);
  return plan_scenario(parse_scenario({text, "test.json"}).value(), "test.json").value();
}

std::optional<Starvation> starvation_of(const RunPlan& plan, std::int64_t max_rows = 100'000) {
  CheckedRun run = CheckedRun::create(plan).value();
  StarvationWatch watch(run.engine().config());
  while (!run.has_ended()) watch.add(run.step().value().trace);
  return find_starvation(run.plan(), watch, make_names(run.engine()), max_rows);
}

TEST(StarvedRequests, ARequestThatWaitsForABlocksWorthOfBudgetIsNamedWithWhatEndsIt) {
  const RunPlan plan = plan_of(16, 56);
  const auto starvation = starvation_of(plan);
  ASSERT_TRUE(starvation.has_value());
  ASSERT_EQ(starvation->requests.size(), 1U);
  EXPECT_EQ(starvation->requests[0].name, "A");
  EXPECT_EQ(starvation->requests[0].waited.num_steps, 54);
  EXPECT_EQ(starvation->requests[0].waited.most_tokens_left, 7);
  EXPECT_EQ(starvation->max_num_batched_tokens, 17);
  EXPECT_EQ(starvation->words(plan.setup.config),
            "A got no token in 54 steps (3 to 56): what was left of max_num_batched_tokens 16, at "
            "most 7 tokens, reached no end of a block of 8; with max_num_batched_tokens 17 no "
            "request waits so");
}

TEST(StarvedRequests, WithThatBudgetNobodyStarvesAndWithOneTokenLessSomebodyDoes) {
  EXPECT_FALSE(starvation_of(plan_of(17, 56)).has_value());
  EXPECT_TRUE(starvation_of(plan_of(16, 56)).has_value());
}

TEST(StarvedRequests, AFewStepsAreAWaitForOnesTurn) {
  EXPECT_FALSE(starvation_of(plan_of(16, 9)).has_value());  // 7 steps
  EXPECT_TRUE(starvation_of(plan_of(16, 10)).has_value());  // 8 steps
}

TEST(StarvedRequests, ABudgetThatIsSetForAStepIsNotTheEngines) {
  std::string script = R"(, "script": [)";
  for (int step = 3; step <= 60; ++step)
    script += fmt::format(R"({}{{"step": {}, "budget": 16}})", step == 3 ? "" : ", ", step);
  EXPECT_FALSE(starvation_of(plan_of(64, 56, script + "]")).has_value());
}

TEST(StarvedRequests, NoSettingIsNamedThatWasNotTried) {
  const RunPlan plan = plan_of(16, 56);
  const auto starvation = starvation_of(plan, 0);
  ASSERT_TRUE(starvation.has_value());
  EXPECT_FALSE(starvation->max_num_batched_tokens.has_value());
  EXPECT_TRUE(starvation->words(plan.setup.config).ends_with("reached no end of a block of 8"));
  EXPECT_FALSE(starvation_of(plan, 20)->max_num_batched_tokens.has_value());
}

// One step of a language model in words.
// Texts of two runs.

SpokenText two_tokens(std::int32_t first, std::int32_t second) {
  SpokenText text{.request = RequestId{0}, .prompt = {'k', '='}, .tokens = {}, .alone = {}};
  text.tokens.push_back({.step = 3, .position = 2, .id = first, .twin_id = '7'});
  text.tokens.push_back({.step = 4, .position = 3, .id = second, .twin_id = '.'});
  return text;
}

SpokenWords words_of(SpokenText text) {
  return spoken_words({std::move(text)}, 256, numbered_names());
}

TEST(SpokenWords, BytesAreShownAsTextAndOthersEscaped) {
  EXPECT_EQ(tokens_as_text(std::vector<std::int32_t>{'a', '\n', '"', 0xF3}, 256), R"(a\n\"\xf3)");
}

TEST(SpokenWords, TokensOfAnotherVocabularyAreNumbers) {
  EXPECT_EQ(tokens_as_text(std::vector<std::int32_t>{12, 7, 40}, 64), "12 7 40");
}

TEST(SpokenWords, ATextThatIsAsAloneIsOneLine) {
  EXPECT_EQ(format_spoken(words_of(two_tokens('7', '.'))), "r0: \"k=\" -> \"7.\", as alone\n");
}

TEST(SpokenWords, TextsThatPartAreShownOneBelowTheOther) {
  SpokenText text = two_tokens('7', '3');
  text.alone = {'7', '.'};
  text.tokens[1].divergence = 2;
  text.tokens[1].margin = 2;
  EXPECT_EQ(format_spoken(words_of(text)),
            "r0: \"k=\" -> \"73\"\n"
            "  alone: \"7.\"\n"
            "  parts from the lone run at token 2 (step 4): \"3\" for \".\", margin 2; KL 1 on "
            "average, 2 "
            "at most, at token 2\n");
}

TEST(SpokenWords, ATextWithTokensOfAPromptSaysSo) {
  SpokenText text = two_tokens('7', '3');
  text.is_forced = true;
  EXPECT_EQ(format_spoken(words_of(text)),
            "r0: \"k=\" -> \"73\", some tokens were given by a prompt that came before them\n");
}

TEST(SpokenWords, JsonHasBothTextsAndTheirFirstDifference) {
  SpokenText text = two_tokens('7', '3');
  text.alone = {'7', '.'};
  const auto json = spoken_to_json(words_of(text));
  EXPECT_EQ(json[0]["text"], "73");
  EXPECT_EQ(json[0]["alone"], "7.");
  EXPECT_EQ(json[0]["first_difference"], 1);
  EXPECT_EQ(spoken_to_json(words_of(two_tokens('7', '.')))[0]["first_difference"], nullptr);
}

const SpeechInfo kInfo{.weights = "tiny", .vocab_size = 256, .layers = {}};

StepSpeech step() {
  return {.step = 3,
          .words = {.tokens = {{kA, {.step = 3, .id = 'k', .twin_id = 'k'}},
                               {kA, {.step = 3, .id = '?', .twin_id = '='}}},
                    .rejected = {{kA, {3, 4, 'x'}}}},
          .compared = {{kA, 1, 4, StateKind::temporal, true}}};
}

TEST(SpeechWords, SayWhatEachRequestSaysAndRejects) {
  EXPECT_EQ(explain_speech(step(), kInfo, numbered_names()),
            "\nLanguage model tiny, form recurrent\n"
            "  r0 says \"k?\", a lone run there \"k=\"; rejected drafts \"x\"\n"
            "  1 state compared with lone runs: all equal in every bit\n");
  EXPECT_EQ(explain_speech({}, kInfo, numbered_names()), "");
}

TEST(SpeechWords, NameTheStatesThatDiffer) {
  StepSpeech wrong = step();
  wrong.words = {};
  for (int i = 0; i < 13; ++i)
    wrong.states.push_back({.request = kA,
                            .layer = i,
                            .is_read = true,
                            .block = 4,
                            .num_tokens = 23,
                            .num_elements = 4096,
                            .largest = 0.0661});
  const std::string words = explain_speech(wrong, kInfo, numbered_names());
  EXPECT_NE(words.find("block 4, layer 0: the temporal state that a row of r0 read differs from"),
            std::string::npos);
  EXPECT_NE(words.find("by at most 0.0661, in 4,096"), std::string::npos) << words;
  EXPECT_NE(words.find("... and 1 more"), std::string::npos);
}

// Byte i is said in step i + 1.
SpokenText said(std::string_view words) {
  SpokenText text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text.tokens.push_back({.step = static_cast<std::int64_t>(i + 1), .id = words[i]});
  return text;
}

SpokenWords words(std::vector<std::string> names, std::vector<SpokenText> texts) {
  return {.vocab_size = 256, .requests = std::move(names), .texts = std::move(texts)};
}

TEST(TextDifferences, AreTheFirstTokenThatDiffersOfEachRequest) {
  const auto differing = differing_texts(words({"A", "B"}, {said("7.3"), said("same")}),
                                         words({"B", "A"}, {said("same"), said("7.9.")}));
  ASSERT_EQ(differing.size(), 1U);
  EXPECT_EQ(differing[0].request, "A");
  EXPECT_EQ(differing[0].first, 2U);
  EXPECT_EQ(differing[0].a, "7.3");
  EXPECT_EQ(differing[0].token_begins, 2U);
  EXPECT_EQ(text_difference_words(differing[0]),
            "A: the texts part at token 3 (step 3 of A, step 3 of B): \"3\" and \"9\"");
}

TEST(TextDifferences, ATextThatEndsEarlierIsAnotherOne) {
  const auto differing = differing_texts(words({"A"}, {said("7.")}), words({"A"}, {said("7.3")}));
  ASSERT_EQ(differing.size(), 1U);
  EXPECT_EQ(text_difference_words(differing[0]),
            "A: the texts part at token 3 (A has ended, step 3 of B): nothing and \"3\"");
}

// Ids are separated by spaces; the third begins behind "55 1 ".
TEST(TextDifferences, ATokenBeginsBehindTheWordsOfThoseBeforeIt) {
  const auto ids = [](std::vector<std::int32_t> tokens) {
    SpokenText text;
    for (const std::int32_t id : tokens) text.tokens.push_back({.step = 1, .id = id});
    return SpokenWords{.vocab_size = 64, .requests = {"A"}, .texts = {text}};
  };
  const auto differing = differing_texts(ids({55, 1, 7}), ids({55, 1, 10, 3}));
  ASSERT_EQ(differing.size(), 1U);
  EXPECT_EQ(differing[0].token_begins, 5U);
  EXPECT_EQ(differing[0].b.substr(5, differing[0].token_b.size()), "10");
  EXPECT_EQ(differing_texts(ids({7}), ids({10})).at(0).token_begins, 0U);
}

TEST(TextDifferences, RequestsOfOneRunAreLeftOut) {
  EXPECT_TRUE(differing_texts(words({"A"}, {said("7")}), words({"B"}, {said("8")})).empty());
}

}  // namespace
}  // namespace hybridscope::finding_list_test
