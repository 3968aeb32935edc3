#include "sessions/scenario/scenario_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/token_sequence.h"
#include "sessions/text/name_hash.h"

namespace hybridscope::scenario_requests_test {
namespace {

using testing::ElementsAre;
using Source = PromptSegment::Source;

Scenario with(std::vector<ScenarioRequest> requests) {
  Scenario scenario;
  scenario.requests = std::move(requests);
  return scenario;
}

std::vector<PromptSegment> prompt_of(const Scenario& scenario, std::size_t index) {
  const auto resolved = resolve_requests(scenario);
  EXPECT_TRUE(resolved.ok());
  return resolved.value()[index].request.prompt;
}

TEST(NameHash, IsTheSameForEver) {
  EXPECT_EQ(request_key("A"), 13406563081047112832ULL);
  EXPECT_EQ(text_content("A"), 2978561798699062879ULL);
  EXPECT_EQ(text_content(""), 14249332807410773914ULL);
}

// Equal bytes are equal tokens, wherever they stand.
TEST(ScenarioRequests, ATextHasOneTokenAByte) {
  const auto requests =
      resolve_requests(with({{.id = "A", .prompt = {.tokens = 3, .text = "aba"}}}));
  const TokenSequence tokens(requests.value()[0].request.prompt, 1, 2);
  ASSERT_EQ(tokens.num_prompt_tokens(), 3);
  EXPECT_EQ(tokens.token(0), tokens.token(2));
  EXPECT_NE(tokens.token(0), tokens.token(1));
  EXPECT_EQ(tokens.token(1), prompt_token(kByteText, 'b'));
}

TEST(ScenarioRequests, AnUnsharedPromptIsATextOfItsOwn) {
  const Scenario scenario = with({{.id = "A", .prompt = {.tokens = 6}}});
  EXPECT_THAT(prompt_of(scenario, 0),
              ElementsAre(PromptSegment{Source::text, text_content("A"), 0, 6}));
}

TEST(ScenarioRequests, ANamedTextComesBeforeTheOwnRest) {
  const Scenario scenario =
      with({{.id = "A", .prompt = {.tokens = 22, .share = "system", .share_tokens = 14}}});
  EXPECT_THAT(prompt_of(scenario, 0),
              ElementsAre(PromptSegment{Source::text, text_content("system"), 0, 14},
                          PromptSegment{Source::text, text_content("A"), 14, 8}));
}

TEST(ScenarioRequests, SharingARequestTakesItsPromptThenItsOutput) {
  const Scenario scenario =
      with({{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 10},
            {.id = "B", .prompt = {.tokens = 22, .share = "A", .share_tokens = 14}}});
  EXPECT_THAT(prompt_of(scenario, 1),
              ElementsAre(PromptSegment{Source::text, text_content("A"), 0, 6},
                          PromptSegment{Source::output, request_key("A"), 6, 8},
                          PromptSegment{Source::text, text_content("B"), 14, 8}));
}

TEST(ScenarioRequests, SharedTokensAreTheOwnersTokens) {
  const Scenario scenario =
      with({{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 10},
            {.id = "B", .prompt = {.tokens = 22, .share = "A", .share_tokens = 14}}});
  const auto resolved = resolve_requests(scenario);
  const TokenSequence a(resolved.value()[0].request.prompt, 5, resolved.value()[0].request.key);
  const TokenSequence b(resolved.value()[1].request.prompt, 5, resolved.value()[1].request.key);
  for (std::int32_t p = 0; p < 14; ++p) EXPECT_EQ(a.token(p), b.token(p)) << p;
  for (std::int32_t p = 14; p < 24; ++p) EXPECT_NE(a.token(p), b.token(p)) << p;
}

TEST(ScenarioRequests, AShortShareEndsInsideThePrompt) {
  const Scenario scenario =
      with({{.id = "A", .prompt = {.tokens = 6}},
            {.id = "B", .prompt = {.tokens = 8, .share = "A", .share_tokens = 4}}});
  EXPECT_THAT(prompt_of(scenario, 1),
              ElementsAre(PromptSegment{Source::text, text_content("A"), 0, 4},
                          PromptSegment{Source::text, text_content("B"), 4, 4}));
}

TEST(ScenarioRequests, SharingFollowsChainsInAnyOrder) {
  const Scenario scenario =
      with({{.id = "C", .prompt = {.tokens = 20, .share = "B", .share_tokens = 13}},
            {.id = "B", .prompt = {.tokens = 12, .share = "A", .share_tokens = 9}, .max_tokens = 4},
            {.id = "A", .prompt = {.tokens = 6}, .max_tokens = 3}});
  EXPECT_THAT(prompt_of(scenario, 0),
              ElementsAre(PromptSegment{Source::text, text_content("A"), 0, 6},
                          PromptSegment{Source::output, request_key("A"), 6, 3},
                          PromptSegment{Source::text, text_content("B"), 9, 3},
                          PromptSegment{Source::output, request_key("B"), 12, 1},
                          PromptSegment{Source::text, text_content("C"), 13, 7}));
}

TEST(ScenarioRequests, JoinInOrderOfStepThenTimeThenPlace) {
  const Scenario scenario = with({{.id = "late", .prompt = {.tokens = 1}, .at_step = 3},
                                  {.id = "second", .prompt = {.tokens = 1}, .arrival_us = 5},
                                  {.id = "first", .prompt = {.tokens = 1}},
                                  {.id = "third", .prompt = {.tokens = 1}, .arrival_us = 5}});
  const auto resolved = resolve_requests(scenario);
  std::vector<std::string> names;
  for (const ArrivingRequest& arriving : resolved.value()) names.push_back(arriving.request.name);
  EXPECT_THAT(names, ElementsAre("first", "second", "third", "late"));
}

TEST(ScenarioRequests, ALongChainOfSharingIsResolvedWithoutRecursion) {
  std::vector<ScenarioRequest> requests = {{.id = "0", .prompt = {.tokens = 1}}};
  for (int i = 1; i < 20000; ++i)
    requests.push_back(
        {.id = std::to_string(i),
         .prompt = {.tokens = 1, .share = std::to_string(i - 1), .share_tokens = 1}});
  std::reverse(requests.begin(), requests.end());
  EXPECT_THAT(prompt_of(with(requests), 0),
              ElementsAre(PromptSegment{Source::text, text_content("0"), 0, 1}));
}

TEST(ScenarioRequests, SharingThatGrowsBeyondMemoryIsRefused) {
  std::vector<ScenarioRequest> requests = {{.id = "0", .prompt = {.tokens = 1}}};
  for (int i = 1; i < 4000; ++i)
    requests.push_back(
        {.id = std::to_string(i),
         .prompt = {.tokens = i + 1, .share = std::to_string(i - 1), .share_tokens = i}});
  const auto resolved = resolve_requests(with(requests));
  ASSERT_FALSE(resolved.ok());
  EXPECT_EQ(resolved.error().message,
            "/requests/2828/prompt/share: sharing makes more than 4000000 prompt pieces in all");
}

TEST(ScenarioRequests, OneThatJoinsARunSharesAsOneOfTheFileDoes) {
  Scenario scenario;
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 9},
                       {.id = "B", .prompt = {.tokens = 12, .share = "A", .share_tokens = 10}},
                       {.id = "C", .prompt = {.tokens = 4, .share = "text", .share_tokens = 3}}};
  const auto requests = resolve_requests(scenario).value();
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
    EXPECT_EQ(resolve_request(scenario.requests[i], requests).value().prompt,
              requests[i].request.prompt);
  EXPECT_EQ(resolve_request({.id = "D", .prompt = {.tokens = 16, .share = "A", .share_tokens = 16}},
                            requests)
                .error()
                .message,
            "request \"D\": 16 tokens of request \"A\", whose sequence ends at 6 prompt + 9 output "
            "tokens");
}

TEST(ScenarioRequests, AStepBecomesCommandsInAFixedOrder) {
  const ScriptStep step = {.step = 3,
                           .budget = 5,
                           .accept = {{"A", 2}},
                           .drafts = {{"B", 0}},
                           .preempt = {"B"},
                           .abort = {"A"},
                           .reset_prefix_cache = PrefixCacheReset::preempting_running};
  const auto commands =
      script_commands(step, [](std::string_view id) { return RequestId{id == "A" ? 0 : 1}; });
  ASSERT_EQ(commands.size(), 6U);
  EXPECT_TRUE(std::get<ResetPrefixCache>(commands[0]).reset_running_requests);
  EXPECT_EQ(std::get<AbortRequest>(commands[1]).request, RequestId{0});
  EXPECT_EQ(std::get<PreemptRequest>(commands[2]).request, RequestId{1});
  EXPECT_EQ(std::get<SetStepBudget>(commands[3]).max_num_batched_tokens, 5);
  EXPECT_EQ(std::get<SetDraftTokens>(commands[4]).num_draft_tokens, 0);
  EXPECT_EQ(std::get<SetAcceptedTokens>(commands[5]).num_accepted_tokens, 2);
}

TEST(ScenarioRequests, ARequestThatHasNotJoinedGetsNoCommand) {
  const ScriptStep step = {.step = 3, .accept = {{"A", 2}}, .abort = {"A"}};
  EXPECT_TRUE(script_commands(step, [](std::string_view) { return RequestId{}; }).empty());
}

}  // namespace
}  // namespace hybridscope::scenario_requests_test
