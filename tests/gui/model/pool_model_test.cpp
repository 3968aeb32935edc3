#include "gui/model/pool_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/live_run.h"
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

}  // namespace
}  // namespace hybridscope::pool_model_test
