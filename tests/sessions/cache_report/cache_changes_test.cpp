// Each reported change is made by hand in the scenario's text and run: the hit must become as long
// as reported, and one token, step or block less must not suffice.
#include "sessions/cache_report/cache_changes.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "sessions/scenario/scenario_reader.h"
#include "tests/sessions/cache_report/cache_report_run.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::cache_changes_test {
namespace {

using test::explain_text;
using test::scenario_text;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

CacheChange change(ChangeKind kind, std::int64_t amount, std::int32_t hit) {
  return {.kind = kind, .amount = amount, .num_hit_tokens = hit};
}

constexpr const char* kAlign8 = R"("mamba_cache_mode": "align", "block_size": 8)";

std::int32_t hit_of_b(const std::string& settings, const std::string& requests) {
  return explain_text(scenario_text(settings, requests))->lookup("B").num_hit_tokens;
}

std::string sharing(int shared, int b_tokens = 20, int at_step = 3) {
  return fmt::format(R"({{"id": "A", "prompt": 20, "max_tokens": 2}},
      {{"id": "B", "prompt": {{"tokens": {}, "share": "A", "share_tokens": {}}}, "at_step": {}}})",
                     b_tokens, shared, at_step);
}

// A keeps the state after 16 tokens alone: 13 in common are 3 too few.
TEST(CacheChanges, AFewMoreSharedTokensReachTheNextState) {
  const auto changes = explain_text(scenario_text(kAlign8, sharing(13)))->changes("B");
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes.front(), change(ChangeKind::more_shared_tokens, 3, 16));
  EXPECT_EQ(hit_of_b(kAlign8, sharing(16)), 16);
  EXPECT_EQ(hit_of_b(kAlign8, sharing(15)), 0);
}

TEST(CacheChanges, WithDraftsTheBlockBehindCountsToo) {
  const std::string settings =
      std::string(kAlign8) + R"(, "speculative_config": {"num_speculative_tokens": 1})";
  const auto changes = explain_text(scenario_text(settings, sharing(13, 24, 6)))->changes("B");
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes.front(), change(ChangeKind::more_shared_tokens, 3, 8));
  EXPECT_EQ(hit_of_b(settings, sharing(16, 24, 6)), 8);
  EXPECT_EQ(hit_of_b(settings, sharing(15, 24, 6)), 0);
}

TEST(CacheChanges, ARepeatedPromptNeedsOneTokenMore) {
  const auto requests = [](int tokens) {
    return fmt::format(R"({{"id": "A", "prompt": 8}},
        {{"id": "B", "prompt": {{"tokens": {}, "share": "A", "share_tokens": 8}}, "at_step": 3}})",
                       tokens);
  };
  EXPECT_THAT(explain_text(scenario_text(kAlign8, requests(8)))->changes("B"),
              Contains(change(ChangeKind::longer_prompt, 1, 8)));
  EXPECT_EQ(hit_of_b(kAlign8, requests(9)), 8);
}

// A computes its 16th token in step 11. A B that joins then waits for the block until step 12.
TEST(CacheChanges, WhatIsStillToBeComputedIsThereLater) {
  const auto requests = [](int at_step) {
    return fmt::format(R"({{"id": "A", "prompt": 6, "max_tokens": 14}},
        {{"id": "B", "prompt": {{"tokens": 20, "share": "A", "share_tokens": 16}}, "at_step": {}}})",
                       at_step);
  };
  const auto changes = explain_text(scenario_text(kAlign8, requests(6)))->changes("B");
  EXPECT_THAT(changes, Contains(change(ChangeKind::later, 5, 16)));
  EXPECT_EQ(hit_of_b(kAlign8, requests(11)), 16);
  EXPECT_EQ(hit_of_b(kAlign8, requests(10)), 8);
}

TEST(CacheChanges, EvictedBlocksNeedAFewMoreBlocks) {
  const auto requests = R"({"id": "A", "prompt": 9, "max_tokens": 2},
      {"id": "B", "prompt": 20, "max_tokens": 2, "at_step": 5},
      {"id": "C", "prompt": {"tokens": 9, "share": "A", "share_tokens": 9}, "at_step": 8})";
  const auto with_blocks = [&](std::int64_t blocks) {
    return explain_text(fmt::format(
        R"({{"version": 1, "model": "tiny-mamba2", "settings": {{"mamba_cache_mode": "align",
            "block_size": 4, "num_gpu_blocks_override": {}, "async_scheduling": false}},
            "requests": [{}]}})",
        blocks, requests));
  };
  const auto run = with_blocks(10);
  ASSERT_GT(run->lookup("C").lost_to(MissReason::evicted), 0);
  const auto changes = run->changes("C");
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes.front().kind, ChangeKind::more_blocks);
  const std::int64_t more = changes.front().amount;
  EXPECT_EQ(with_blocks(10 + more)->lookup("C").num_hit_tokens, changes.front().num_hit_tokens);
  EXPECT_GT(changes.front().num_hit_tokens, run->lookup("C").num_hit_tokens);
  EXPECT_EQ(with_blocks(10 + more - 1)->lookup("C").num_hit_tokens,
            run->lookup("C").num_hit_tokens);
}

// No state after 8 tokens: shorter chunks and mode all leave one there.
TEST(CacheChanges, AMissingStateIsKeptByShorterChunksAndByModeAll) {
  const std::string requests = sharing(8);
  EXPECT_THAT(
      explain_text(scenario_text(kAlign8, requests))->changes("B"),
      ElementsAre(change(ChangeKind::more_shared_tokens, 8, 16),
                  change(ChangeKind::shorter_chunks, 8, 8), change(ChangeKind::mode_all, 0, 8)));
  EXPECT_EQ(hit_of_b(std::string(kAlign8) + R"(, "long_prefill_token_threshold": 8)", requests), 8);
  EXPECT_EQ(hit_of_b(R"("mamba_cache_mode": "all", "block_size": 8)", requests), 8);
}

// 16 in common: K=1 serves 8 of them, K=0 all, because A's first chunk then goes to token 16.
TEST(CacheChanges, WithoutDraftsTheDroppedBlockIsServed) {
  const std::string requests = sharing(16, 24, 6);
  const auto changes =
      explain_text(scenario_text(std::string(kAlign8) +
                                     R"(, "speculative_config": {"num_speculative_tokens": 1})",
                                 requests))
          ->changes("B");
  EXPECT_THAT(changes, Contains(change(ChangeKind::no_drafts, 0, 16)));
  EXPECT_EQ(hit_of_b(kAlign8, requests), 16);
}

// 12 of A's 14 tokens: blocks of 8 serve 8; of 7 A keeps a state after 14 alone; 6 is the largest
// that serves more.
TEST(CacheChanges, SmallerBlocksServeMoreOfTheTail) {
  const std::string requests = R"({"id": "A", "prompt": 14},
      {"id": "B", "prompt": {"tokens": 20, "share": "A", "share_tokens": 12}, "at_step": 3})";
  EXPECT_THAT(explain_text(scenario_text(kAlign8, requests))->changes("B"),
              Contains(change(ChangeKind::smaller_blocks, 6, 12)));
  EXPECT_EQ(hit_of_b(R"("mamba_cache_mode": "align", "block_size": 6)", requests), 12);
  EXPECT_EQ(hit_of_b(R"("mamba_cache_mode": "align", "block_size": 7)", requests), 0);
}

// A's answer passed 24 tokens, but interval 0 kept the state after 16 alone. 24 is the longest
// interval that keeps it; 16 does not.
TEST(CacheChanges, ALongRetentionIntervalKeepsTheStateThatWasLeftOut) {
  const std::string requests = R"({"id": "A", "prompt": 18, "max_tokens": 16},
      {"id": "B", "prompt": {"tokens": 34, "share": "A", "share_tokens": 28}, "at_step": 22})";
  const auto with = [&](const std::string& interval) {
    return std::string(kAlign8) + R"(, "engine": "vllm-0.33.0")" + interval;
  };
  EXPECT_THAT(explain_text(scenario_text(with(""), requests))->changes("B"),
              Contains(change(ChangeKind::keep_states, 24, 24)));
  EXPECT_EQ(hit_of_b(with(""), requests), 16);
  EXPECT_EQ(hit_of_b(with(R"(, "prefix_cache_retention_interval": 24)"), requests), 24);
  EXPECT_EQ(hit_of_b(with(R"(, "prefix_cache_retention_interval": 32)"), requests), 16);
}

// Where every state is kept, an interval cannot help.
TEST(CacheChanges, WithoutAnIntervalNoneIsTried) {
  for (const CacheChange& one : explain_text(scenario_text(kAlign8, sharing(8)))->changes("B"))
    EXPECT_NE(one.kind, ChangeKind::keep_states);
}

// A's prompt of 21 tokens leaves a key after 20 only if hash blocks have 4 tokens or fewer.
TEST(CacheChanges, AFinerMatchUnitHitsInsideABlock) {
  const std::string requests = R"({"id": "A", "prompt": 21, "max_tokens": 6},
      {"id": "B", "prompt": {"tokens": 25, "share": "A", "share_tokens": 21}, "at_step": 16})";
  const auto with = [&](const char* release) {
    return fmt::format(R"({}, "enable_prefix_caching": true, "engine": "{}")", kAlign8, release);
  };
  for (const char* release : {"vllm-0.26.0", "vllm-0.30.0", "vllm-0.33.0"}) {
    EXPECT_THAT(explain_text(scenario_text(with(release), requests))->changes("B"),
                Contains(change(ChangeKind::match_unit, 4, 20)))
        << release;
    EXPECT_EQ(hit_of_b(with(release) + R"(, "prefix_match_unit": 4)", requests), 20) << release;
    EXPECT_EQ(hit_of_b(with(release), requests), 16) << release;
  }
  // 0.25.1 has no hits inside blocks.
  for (const CacheChange& one :
       explain_text(scenario_text(with("vllm-0.25.1"), requests))->changes("B"))
    EXPECT_NE(one.kind, ChangeKind::match_unit);
}

TEST(CacheChanges, CachingHasToBeOn) {
  const std::string requests = sharing(17);
  EXPECT_THAT(
      explain_text(scenario_text(R"("mamba_cache_mode": "none", "block_size": 8)", requests))
          ->changes("B"),
      ElementsAre(change(ChangeKind::mode_all, 0, 16), change(ChangeKind::caching_on, 0, 16)));
  EXPECT_EQ(hit_of_b(kAlign8, requests), 16);
  EXPECT_EQ(hit_of_b(R"("mamba_cache_mode": "all", "block_size": 8)", requests), 16);
}

// The state after 8 tokens, which align does not keep: B's hit under mode none needs mode all.
TEST(CacheChanges, CachingIsTriedInBothModes) {
  EXPECT_THAT(
      explain_text(scenario_text(R"("mamba_cache_mode": "none", "block_size": 8)", sharing(8)))
          ->changes("B"),
      ElementsAre(change(ChangeKind::mode_all, 0, 8)));
}

// 3 steps later and 40 tokens more are changes of one request; the fewer come first.
TEST(CacheChanges, TheSmallestIsTheOneThatTouchesLeast) {
  std::vector<CacheChange> changes = {
      change(ChangeKind::no_drafts, 0, 16),          change(ChangeKind::mode_all, 0, 24),
      change(ChangeKind::smaller_blocks, 4, 12),     change(ChangeKind::shorter_chunks, 64, 16),
      change(ChangeKind::more_blocks, 1, 16),        change(ChangeKind::later, 3, 8),
      change(ChangeKind::more_shared_tokens, 40, 48)};
  std::ranges::sort(changes, is_smaller_change);
  EXPECT_THAT(
      changes,
      ElementsAre(change(ChangeKind::later, 3, 8), change(ChangeKind::more_shared_tokens, 40, 48),
                  change(ChangeKind::more_blocks, 1, 16),
                  change(ChangeKind::shorter_chunks, 64, 16),
                  change(ChangeKind::smaller_blocks, 4, 12), change(ChangeKind::mode_all, 0, 24),
                  change(ChangeKind::no_drafts, 0, 16)));
}

// 24 tokens in common, no state on the way: chunks of 8 and of 16 leave one, of 24 they do not.
TEST(CacheChanges, ChunksAreAsLongAsTheyMayBe) {
  const std::string requests = R"({"id": "A", "prompt": 40, "max_tokens": 2},
      {"id": "B", "prompt": {"tokens": 40, "share": "A", "share_tokens": 24}, "at_step": 6})";
  const auto threshold = [&](int tokens) {
    return hit_of_b(fmt::format(R"({}, "long_prefill_token_threshold": {})", kAlign8, tokens),
                    requests);
  };
  EXPECT_EQ(hit_of_b(kAlign8, requests), 0);
  EXPECT_THAT(explain_text(scenario_text(kAlign8, requests))->changes("B"),
              Contains(change(ChangeKind::shorter_chunks, 24, 24)));
  EXPECT_EQ(threshold(24), 24);
}

TEST(CacheChanges, NothingIsTriedWhereNothingWasLost) {
  EXPECT_THAT(explain_text(scenario_text(kAlign8, sharing(16)))->changes("B"), IsEmpty());
}

TEST(CacheChanges, NothingIsToldThatCouldNotBeTried) {
  const auto run = explain_text(scenario_text(kAlign8, sharing(13)));
  ChangeSearch search(run->plan(), 2);
  EXPECT_THAT(search.find({.report = run->lookup("B"), .request = "B", .other = "A"}), IsEmpty());
  EXPECT_TRUE(search.exhausted());
}

TEST(CacheChanges, AreToldInAFewWords) {
  EXPECT_EQ(change_words(change(ChangeKind::more_shared_tokens, 92, 0)), "92 more shared tokens");
  EXPECT_EQ(change_words(change(ChangeKind::more_shared_tokens, 1, 0)), "1 more shared token");
  EXPECT_EQ(change_words(change(ChangeKind::longer_prompt, 1, 0)), "a prompt longer by 1 token");
  EXPECT_EQ(change_words(change(ChangeKind::later, 3, 0)), "3 steps later");
  EXPECT_EQ(change_words(change(ChangeKind::more_blocks, 7, 0)), "7 more blocks");
  EXPECT_EQ(change_words(change(ChangeKind::no_drafts, 0, 0)), "K = 0");
  EXPECT_EQ(change_words(change(ChangeKind::smaller_blocks, 16, 0)), "block_size 16");
  EXPECT_EQ(change_words(change(ChangeKind::keep_states, 24, 0)),
            "prefix_cache_retention_interval 24");
  EXPECT_EQ(change_words(change(ChangeKind::match_unit, 4, 0)), "prefix_match_unit 4");
}

// Of a setting, written into the scenario and read again as `run` reads it; empty: of a request.
std::optional<EngineSettings> with_change(EngineSettings settings, const CacheChange& change,
                                          const EngineConfig& config) {
  const auto amount = static_cast<std::int32_t>(change.amount);
  switch (change.kind) {
    case ChangeKind::more_blocks:
      settings.num_gpu_blocks_override = config.kv_cache_config.num_blocks + amount;
      return settings;
    case ChangeKind::shorter_chunks:
      settings.long_prefill_token_threshold = amount;
      return settings;
    case ChangeKind::smaller_blocks:
      settings.block_size = amount;
      settings.mamba_block_size.reset();
      return settings;
    case ChangeKind::mode_all:
    case ChangeKind::caching_on:
      settings.mamba_cache_mode =
          change.kind == ChangeKind::mode_all ? MambaCacheMode::all : MambaCacheMode::align;
      settings.enable_prefix_caching = true;
      return settings;
    case ChangeKind::keep_states:
      settings.prefix_cache_retention_interval = amount;
      return settings;
    case ChangeKind::match_unit: settings.prefix_match_unit = amount; return settings;
    default: return std::nullopt;
  }
}

// What is suggested starts under that profile, and gives the hit that was promised.
TEST(CacheChanges, EverySettingThatIsSuggestedRunsAsItWasPromised) {
  int num_suggested = 0;
  for (const char* engine : {"safe", "vllm-0.26.0", "vllm-0.33.0"})
    for (const std::string& file : test::shipped_scenarios()) {
      Scenario scenario = read_scenario_file(file).value();
      scenario.settings.engine = parse_engine_profile(engine);
      auto plan = plan_scenario(scenario, file);
      if (!plan.ok()) continue;
      const test::CacheReportRun run(std::move(plan).value());
      for (const LookupReport& report : run.cache().lookups()) {
        const std::string name = run.names().request(report.request);
        for (const CacheChange& suggested : run.changes(name)) {
          const auto settings = with_change(scenario.settings, suggested, run.config());
          if (!settings || &run.lookup(name) != &report) continue;
          ++num_suggested;
          Scenario changed = scenario;
          changed.settings = *settings;
          auto again = parse_scenario({write_scenario(changed), "changed.json"});
          ASSERT_TRUE(again.ok()) << file << engine << again.error().message;
          auto changed_plan = plan_scenario(again.value(), "changed.json");
          ASSERT_TRUE(changed_plan.ok()) << file << engine << changed_plan.error().message;
          const test::CacheReportRun changed_run(std::move(changed_plan).value());
          EXPECT_EQ(changed_run.lookup(name).num_hit_tokens, suggested.num_hit_tokens)
              << file << " under " << engine << ", " << name << ": " << change_words(suggested);
          EXPECT_GT(suggested.num_hit_tokens, report.num_hit_tokens);
        }
      }
    }
  EXPECT_GT(num_suggested, 10);
}

}  // namespace
}  // namespace hybridscope::cache_changes_test
