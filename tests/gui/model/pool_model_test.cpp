#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/live_run.h"
#include "gui/model/pool_model.h"
#include "gui/model/prefix_cache_model.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::pool_model_test {
namespace {

std::unique_ptr<LiveRun> scenario(const std::string& name) {
  return LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" +
                                            name + ".json"))
      .value();
}

std::int32_t number(const PoolModel& pool, CellRole role) {
  return pool.num_by_role[static_cast<std::size_t>(role)];
}

// 16 blocks; step 1 gives A blocks 1 (attention) and 2, 3 (running and draft state).
TEST(PoolModel, TellsHeldFromFreeBlocks) {
  const auto run = scenario("align_boundary_by_accepted_drafts");
  ASSERT_TRUE(run->forward().value());
  const PoolModel pool = make_pool_model(*run);
  EXPECT_EQ(pool.cells.size(), 16u);
  EXPECT_EQ(number(pool, CellRole::null_block), 1);
  EXPECT_EQ(number(pool, CellRole::held), 3);
  EXPECT_EQ(number(pool, CellRole::free_block), 12);
  EXPECT_EQ(pool.cells[0].role, CellRole::null_block);
  EXPECT_TRUE(pool.cells[1].changed);
  EXPECT_FALSE(pool.cells[9].changed);
}

// Step 6 evicts all that A left in the cache but one block.
TEST(PoolModel, CountsAreToldInWords) {
  const auto run = scenario("eviction_under_pressure");
  ASSERT_TRUE(run->go_to(6).ok());
  const PoolModel pool = make_pool_model(*run);
  EXPECT_EQ(counts_words(pool), "8 held (6 cached, 0 shared), 1 free (1 cached)");
  EXPECT_EQ(queue_words(pool), "Free queue, given out next from the left (1 block):");
}

TEST(PoolModel, TheQueueBeginsWithWhatIsGivenOutNext) {
  const auto run = scenario("align_boundary_by_accepted_drafts");
  ASSERT_TRUE(run->forward().value());
  const PoolModel pool = make_pool_model(*run);
  ASSERT_TRUE(pool.queue_known);
  EXPECT_EQ(pool.queue_length, 12u);
  EXPECT_EQ(pool.queue.front(), 4);
}

// A finishes in the last step: its blocks 1, 2 and 3 are free then, 1 and 2 can still be hit.
TEST(PoolModel, IsThatOfTheEndOfTheStep) {
  const auto run = scenario("align_boundary_by_accepted_drafts");
  while (run->forward().value()) {
  }
  const PoolModel pool = make_pool_model(*run);
  EXPECT_EQ(pool.references[2], 0);
  EXPECT_EQ(pool.queue_length, 15u);
  EXPECT_EQ(counts_words(pool), "0 held (0 cached, 0 shared), 15 free (2 cached)");
}

TEST(PoolModel, FreeBlocksAreThoseOfTheQueueInEveryStepOfEveryScenario) {
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    const auto run = LiveRun::create(test::plan_of_file(path)).value();
    while (run->forward().value()) {
      const PoolModel pool = make_pool_model(*run);
      ASSERT_EQ(static_cast<std::size_t>(pool.num_free), pool.queue_length);
      ASSERT_EQ(pool.num_held + pool.num_free + 1, run->config().kv_cache_config.num_blocks);
    }
  }
}

TEST(PoolModel, AQueueThatIsCutSaysHowManyBlocksAreLeftOut) {
  EXPECT_EQ(queue_shown(10, 10, 10.0F, 2.0F), 10u) << "all fit";
  EXPECT_EQ(queue_shown(10, 10, 9.9F, 2.0F), 7u) << "two cells for the words";
  EXPECT_EQ(queue_shown(200, 5000, 1000.0F, 2.0F), 200u) << "no more are kept";
  EXPECT_EQ(queue_shown(10, 10, 1.0F, 2.0F), 0u);
  EXPECT_EQ(left_out_words(3), "... 3 more");
}

// The first block that a step gives out, where nothing entered or left the queue before.
TEST(PoolModel, TheNextStepGivesOutTheFrontOfTheQueue) {
  int num_given_out = 0;
  for (const std::string& path : test::shipped_scenarios()) {
    const auto run = LiveRun::create(test::plan_of_file(path)).value();
    std::vector<std::int32_t> queue;
    while (run->forward().value()) {
      for (const CacheEvent& event : run->view().trace.cache_events) {
        if (event.kind == CacheEventKind::touched || event.kind == CacheEventKind::freed ||
            event.kind == CacheEventKind::free_due)
          break;
        if (event.kind != CacheEventKind::allocated) continue;
        if (!queue.empty()) {
          EXPECT_EQ(event.block, queue.front()) << path << " " << run->step();
          ++num_given_out;
        }
        break;
      }
      queue = make_pool_model(*run).queue;
    }
  }
  EXPECT_GT(num_given_out, 20);
}

// A holds 1 in the attention group and 2, 3 in the other one.
TEST(PoolModel, ABlockSaysWhoseItIs) {
  const auto run = scenario("align_boundary_by_accepted_drafts");
  ASSERT_TRUE(run->forward().value());
  const PoolModel pool = make_pool_model(*run);
  EXPECT_EQ(to_text(owner_words(pool, run->names(), 1)), "A 0:0");
  EXPECT_EQ(to_text(owner_words(pool, run->names(), 3)), "A 1:1");
  EXPECT_EQ(to_text(owner_words(pool, run->names(), 4)), "");
  EXPECT_EQ(pool.first_owner[3], (PoolOwner{{0}, 1, 1}));
  EXPECT_THAT(describe_block(*run, pool, 3),
              testing::Contains(Fact{"held by", "A, group 1 (mamba2), column 1"}));
}

TEST(PoolModel, ASharedBlockSaysHowManyHaveIt) {
  const auto run = scenario("shared_prefix_align");
  ASSERT_TRUE(run->go_to(3).ok());
  const PoolModel pool = make_pool_model(*run);
  EXPECT_EQ(to_text(owner_words(pool, run->names(), 1)), "A 0:0 +1");
}

// Profile reference: registered in step 2 as what it does not hold.
TEST(PoolModel, ABlockStaysWrongInLaterSteps) {
  const auto run = test::reference_at("two_prompts_share_a_budget", 3);
  EXPECT_EQ(make_pool_model(*run).cells[6].state, CellState::wrong);
  ASSERT_TRUE(run->go_to(1).ok());
  EXPECT_EQ(make_pool_model(*run).cells[6].state, CellState::written);
}

using testing::HasSubstr;

// Step 3: B shares 16 of its 20 tokens with A and finds both groups' blocks; C shares 8 and finds
// the attention block, but no state after 8 tokens.
TEST(PrefixCacheModel, TellsPerGroupWhatWasThereAndWhyNotMore) {
  const auto run = LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                                      "/scenarios/shared_prefix_align.json"))
                       .value();
  ASSERT_TRUE(run->go_to(3).ok());
  const auto cards = make_prefix_cache_model(run->view(), nullptr);
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(cards[0].name, "B");
  EXPECT_EQ(cards[0].num_tokens, 20);
  EXPECT_EQ(cards[0].num_hit_tokens, 16);
  EXPECT_THAT(cards[0].words, HasSubstr("hit of 16 tokens, at most 19"));
  EXPECT_EQ(cards[1].num_hit_tokens, 0);
  ASSERT_EQ(cards[1].groups.size(), 2u);
  EXPECT_EQ(cards[1].groups[0].present_length, 8);
  EXPECT_THAT(cards[1].groups[0].words, HasSubstr("cut to 0, because another group has no more"));
  EXPECT_EQ(cards[1].groups[1].name, "group 1 (mamba2)");
  EXPECT_EQ(cards[1].groups[1].present_length, 0);
  EXPECT_EQ(cards[1].groups[1].miss_token, 0);
  EXPECT_EQ(cards[1].groups[1].words, "has no state: the state after 8 tokens is not there");
}

std::unique_ptr<LiveRun> shared_prefix_run() {
  return LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                            "/scenarios/shared_prefix_align.json"))
      .value();
}

TEST(PrefixCacheModel, TellsOfALiveRunWhatWasInCommonAndWhyItWasLost) {
  const auto run = shared_prefix_run();
  ASSERT_TRUE(run->go_to(3).ok());
  const auto cards = make_prefix_cache_model(run->view(), run->cache_report());
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(cards[0].num_common_tokens, 16);
  EXPECT_THAT(cards[0].lost, testing::IsEmpty());
  EXPECT_EQ(cards[1].num_common_tokens, 8);
  EXPECT_EQ(cards[1].shared,
            "C, admitted in step 3, has 20 tokens, 8 of them in common with A; hit 0, 8 computed "
            "again.");
  ASSERT_EQ(cards[1].lost.size(), 1u);
  EXPECT_THAT(cards[1].lost[0], HasSubstr("Tokens 1..8 (state missing)"));
}

TEST(PrefixCacheModel, ASelectedRequestThatWasAdmittedBeforeIsToldToo) {
  const auto run = shared_prefix_run();
  ASSERT_TRUE(run->go_to(3).ok());
  const RequestId c = run->find_request("C");
  EXPECT_FALSE(find_earlier_lookup(run->view(), run->cache_report(), c));
  ASSERT_TRUE(run->go_to(4).ok());
  const auto earlier = find_earlier_lookup(run->view(), run->cache_report(), c);
  ASSERT_TRUE(earlier.has_value());
  EXPECT_THAT(earlier->shared, HasSubstr("C, admitted in step 3"));
  ASSERT_EQ(earlier->lost.size(), 1u);
  EXPECT_FALSE(find_earlier_lookup(run->view(), run->cache_report(), RequestId{}));
  EXPECT_FALSE(find_earlier_lookup(run->view(), nullptr, c));
  ASSERT_TRUE(run->go_to(2).ok());
  EXPECT_FALSE(find_earlier_lookup(run->view(), run->cache_report(), c));
}

TEST(PrefixCacheModel, GoingBackTellsTheSame) {
  const auto run = shared_prefix_run();
  ASSERT_TRUE(run->go_to(6).ok());
  ASSERT_TRUE(run->go_to(3).ok());
  const auto cards = make_prefix_cache_model(run->view(), run->cache_report());
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(cards[1].num_common_tokens, 8);
}

// An edit in step 3 lets D come in step 5, with 12 tokens of A's: reasons behind the edit are those
// of the edited run.
TEST(PrefixCacheModel, AnEditForgetsTheReasonsBehindIt) {
  const auto run = shared_prefix_run();
  ASSERT_TRUE(run->go_to(6).ok());
  RunPlan plan = *run->plan();
  ArrivingRequest d = plan.requests.front();
  d.at_step = 5;
  d.request.name = "D";
  d.request.key = 99;
  d.request.prompt = {
      {.content = plan.requests.front().request.prompt.front().content, .length = 12}};
  plan.requests.push_back(d);
  ASSERT_TRUE(run->continue_with(plan, 3));
  ASSERT_TRUE(run->go_to(5).ok());
  ASSERT_NE(run->cache_report(), nullptr);
  const auto cards = make_prefix_cache_model(run->view(), run->cache_report());
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_EQ(cards[0].name, "D");
  EXPECT_EQ(cards[0].num_common_tokens, 12);
  EXPECT_THAT(cards[0].lost[0], HasSubstr("Token 12 (last token)"));
  EXPECT_EQ(run->cache_report()->lookups().size(), 4u);
}

TEST(PrefixCacheModel, TheSmallestCacheablePrefixIsKnownOfAnyRun) {
  EXPECT_EQ(smallest_prefix_line(shared_prefix_run()->config()),
            "Smallest cacheable prefix: 8 tokens, of a prompt of at least 9 (hits end on multiples "
            "of 8).");
}

using testing::ElementsAre;

// Blocks of 8. A has a prompt of 30 tokens; C, in step 6, shares 18 of them and has 30 too.
RunPlan plan_with(const std::string& interval) {
  return test::plan_of_text(fmt::format(R"({{
    "version": 1, "name": "retention", "model": "tiny-mamba2",
    "settings": {{"engine": "vllm-0.30.0", "mamba_cache_mode": "align", "block_size": 8,
      "num_gpu_blocks_override": 40, "max_model_len": 64, "async_scheduling": false{}}},
    "requests": [
      {{"id": "A", "prompt": 30, "max_tokens": 3}},
      {{"id": "C", "prompt": {{"tokens": 30, "share": "A", "share_tokens": 18}}, "max_tokens": 3,
       "at_step": 6}}]}})",
                                        interval));
}

std::unique_ptr<LiveRun> run_at(const std::string& interval, std::int64_t step) {
  auto run = LiveRun::create(plan_with(interval)).value();
  EXPECT_TRUE(run->go_to(step).ok());
  return run;
}

std::vector<std::string> lines(const RetentionModel& model) {
  std::vector<std::string> lines;
  for (const PromptBoundary& boundary : model.boundaries)
    lines.push_back(fmt::format("{} {}: {}", boundary.num_tokens,
                                boundary.kept ? "kept" : "dropped", boundary.why));
  return lines;
}

TEST(RetentionModel, Interval0KeepsTheEndOfThePrompt) {
  const auto run = run_at("", 1);
  const auto model = make_retention_model(*run, run->find_request("A"));
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->words, "Retention interval 0 keeps only the end of the prompt, 24.");
  EXPECT_EQ(model->num_prompt_tokens, 30);
  EXPECT_THAT(
      lines(*model),
      ElementsAre("8 dropped: interval 0 keeps no state but those where a known hit can end",
                  "16 dropped: interval 0 keeps no state but those where a known hit can end",
                  "24 kept: the end of the prompt"));
  EXPECT_EQ(model->dropped,
            "Dropped: 8, 16: interval 0 keeps no state but those where a known hit can end.");
}

// C finds A's attention blocks up to 16 tokens and no state there: others share that prefix.
TEST(RetentionModel, AJunctionIsKeptToo) {
  const auto run = run_at("", 6);
  const auto model = make_retention_model(*run, run->find_request("C"));
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->words,
            "Retention interval 0 keeps only the end of the prompt, 24, and the junction at 16.");
  EXPECT_THAT(
      lines(*model),
      ElementsAre("8 dropped: interval 0 keeps no state but those where a known hit can end",
                  "16 kept: the junction", "24 kept: the end of the prompt"));
}

TEST(RetentionModel, AnIntervalKeepsItsMultiples) {
  const auto run = run_at(R"(, "prefix_cache_retention_interval": 16)", 1);
  const auto model = make_retention_model(*run, run->find_request("A"));
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->words,
            "Retention interval 16 keeps only multiples of 16 and the end of the prompt, 24.");
  EXPECT_THAT(lines(*model),
              ElementsAre("8 dropped: no multiple of 16, and no other boundary that is kept",
                          "16 kept: a multiple of 16", "24 kept: the end of the prompt"));
}

TEST(RetentionModel, WithoutAnIntervalEveryStateIsKept) {
  const auto run = test::scenario_at("shared_prefix_align", 3);
  const auto model = make_retention_model(*run, run->find_request("B"));
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->words, "No retention interval is set: every state is kept.");
  EXPECT_THAT(lines(*model),
              ElementsAre("8 kept: every state is kept", "16 kept: every state is kept"));
  EXPECT_EQ(model->dropped, "");
}

TEST(RetentionModel, NothingIsSaidOfARequestThatWasNotAdmitted) {
  const auto run = run_at("", 6);
  EXPECT_TRUE(make_retention_model(*run, run->find_request("C")).has_value());
  ASSERT_TRUE(run->go_to(3).ok());
  EXPECT_FALSE(make_retention_model(*run, run->find_request("C")).has_value());
  EXPECT_FALSE(make_retention_model(*run, RequestId{}).has_value());
}

}  // namespace

}  // namespace hybridscope::pool_model_test
