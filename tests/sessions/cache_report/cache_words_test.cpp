#include "sessions/cache_report/cache_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sessions/cache_report/cache_report_run.h"

namespace hybridscope::cache_words_test {
namespace {

using test::explain_shipped;
using test::explain_text;
using test::scenario_text;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(CacheWords, TheSmallestPrefixSaysWhereItComesFrom) {
  const auto plain = explain_shipped("shared_prefix_align");
  EXPECT_EQ(smallest_prefix_words(plain->cache().rules(), plain->config()),
            "smallest cacheable prefix: 8 tokens, of a prompt of at least 9 (hits end on multiples "
            "of 8)");
  const auto drafts = explain_shipped("multi_turn_with_drafts");
  EXPECT_EQ(smallest_prefix_words(drafts->cache().rules(), drafts->config()),
            "smallest cacheable prefix: 8 tokens, of a prompt of at least 9 (hits end on multiples "
            "of 4 and the draft model has 4 tokens computed again)");
  const auto off = explain_shipped("groups_of_different_block_size");
  EXPECT_EQ(smallest_prefix_words(off->cache().rules(), off->config()),
            "smallest cacheable prefix: none, prefix caching is off: mode none keeps no states");
}

TEST(CacheWords, ALookupSaysWhatIsInCommonWithWhom) {
  const auto run = explain_shipped("shared_prefix_align");
  EXPECT_EQ(lookup_words(run->lookup("A"), run->names()),
            "A, admitted in step 1, has 20 tokens; no request before it begins alike, so there is "
            "nothing to hit.");
  EXPECT_EQ(lookup_words(run->lookup("B"), run->names()),
            "B, admitted in step 3, has 20 tokens, 16 of them in common with A; hit 16, 0 computed "
            "again.");
  const auto resumed = explain_shipped("preemption_and_resume");
  EXPECT_EQ(lookup_words(resumed->lookup("B"), resumed->names()),
            "B, resumed in step 14, has 13 tokens, 13 of them in common with its own earlier run; "
            "hit 0, 13 computed again.");
}

TEST(CacheWords, ReasonsAreListedFromTheOneThatLostMost) {
  EXPECT_EQ(lost_words({0, 1, 7, 0, 0, 16, 0}),
            "state missing 16, block granularity 7, last token 1");
  EXPECT_EQ(lost_words({}), "");
}

TEST(CacheWords, AMissingStateNamesTheStatesAround) {
  const auto run = explain_shipped("shared_prefix_align");
  EXPECT_THAT(run->sentences("B"), IsEmpty());
  EXPECT_THAT(
      run->sentences("C"),
      ElementsAre("Tokens 1..8 (state missing): attention has or had them, but no recurrent "
                  "state was kept at a multiple of 8 in there; the last one before is none, "
                  "the next one of A is after 16 tokens."));
}

TEST(CacheWords, TheGridAndTheDraftModelSayHowMuchTheyTake) {
  const auto run = explain_shipped("multi_turn_with_drafts");
  EXPECT_THAT(
      run->sentences("B"),
      ElementsAre("Tokens 13..14 (block granularity): a hit ends on a multiple of 4 tokens; "
                  "the next boundary is 16.",
                  "Tokens 9..12 (eagle drop): the draft model needs the hidden states of "
                  "the last 4 tokens that are found, so they are computed again."));
}

TEST(CacheWords, AnEvictionSaysWhenAndForWhom) {
  const auto run = explain_shipped("eviction_under_pressure");
  const LookupReport& c = run->lookup("C");
  ASSERT_EQ(run->sentences("C").size(), 2u);
  EXPECT_EQ(run->sentences("C")[0],
            "Token 9 (last token): the last known token is always computed, because its logits are "
            "needed.");
  EXPECT_THAT(run->sentences("C")[1],
              testing::StartsWith(
                  "Tokens 1..8 (evicted): the state after token 8 (group 1 (mamba2), "
                  "block " +
                  std::to_string(c.evicted_state.block) + ") was there until step " +
                  std::to_string(c.evicted_state.step) + ", when the block was given to B"));
}

// A has a prompt of 18 tokens and answers with 16; B repeats 28 of them, C 42 of B's.
std::string retained(const std::string& engine, const std::string& more = "") {
  return scenario_text(R"("mamba_cache_mode": "align", "block_size": 8,
                          "enable_prefix_caching": true, "engine": ")" +
                           engine + "\"" + more,
                       R"({"id": "A", "prompt": 18, "max_tokens": 16},
                          {"id": "B", "at_step": 22, "max_tokens": 12,
                           "prompt": {"tokens": 34, "share": "A", "share_tokens": 28}},
                          {"id": "C", "at_step": 44, "max_tokens": 2,
                           "prompt": {"tokens": 50, "share": "B", "share_tokens": 42}})");
}

// 18 tokens end in the block of 16; the state after 24 was there when A's answer had passed it.
TEST(CacheWords, AStateThatRetentionLeftOutSaysWhatItKeeps) {
  for (const char* engine :
       {"vllm-0.29.0", "vllm-0.30.0", "vllm-0.31.0", "vllm-0.32.0", "vllm-0.33.0"})
    EXPECT_THAT(explain_text(retained(engine))->sentences("B"),
                testing::Contains(
                    "Tokens 17..24 (state missing): attention has or had them, but the state of A "
                    "after 24 tokens was not kept: retention interval 0 keeps only the end of the "
                    "prompt, 16; the last one before is the state after 16 tokens."))
        << engine;
  for (const char* engine :
       {"vllm-0.24.0", "vllm-0.25.1", "vllm-0.26.0", "vllm-0.27.1", "vllm-0.28.0"}) {
    EXPECT_THAT(explain_text(retained(engine))->sentences("B"),
                ElementsAre(testing::StartsWith("Tokens 25..28 (block granularity)")))
        << engine;
    EXPECT_EQ(explain_text(retained(engine, R"(, "prefix_cache_retention_interval": 0)"))
                  ->lookup("B")
                  .unkept_state.num_tokens,
              24)
        << engine;
  }
}

TEST(CacheWords, RetentionNamesItsGridAndTheJunction) {
  const EngineConfig config = [] {
    EngineConfig made;
    made.prefix_cache_retention_interval = 32;
    return made;
  }();
  LookupReport report;
  report.step = 9;
  report.common = {32, RequestId{0}};
  report.num_hit_tokens = 16;
  report.last_state = 16;
  report.lost[static_cast<std::size_t>(MissReason::state_missing)] = 16;
  report.unkept_state = {.num_tokens = 24,
                         .kept = {{KeptFor::prompt_end, 16}, {KeptFor::junction, 40}}};
  const CacheRules rules{.caching = true, .grid = 8, .block_size = 8, .has_states = true};
  const auto named = explain_shipped("shared_prefix_align");
  EXPECT_THAT(
      loss_sentences(report, rules, config, named->names()),
      ElementsAre("Tokens 17..32 (state missing): attention has or had them, but the state of A "
                  "after 24 tokens was not kept: retention interval 32 keeps only multiples of 32, "
                  "the end of the prompt, 16, and the junction at 40; the last one before is the "
                  "state after 16 tokens."));
  report.unkept_state = {.num_tokens = 24, .checkpoint = true, .kept = {}};
  EXPECT_THAT(
      loss_sentences(report, rules, config, named->names())[0],
      testing::HasSubstr("but the state of A after 24 tokens, a checkpoint inside its prefill, was "
                         "not kept: retention interval 32 keeps only multiples of 32; "));
  EngineConfig none = config;
  none.prefix_cache_retention_interval = 0;
  EXPECT_THAT(loss_sentences(report, rules, none, named->names())[0],
              testing::HasSubstr("retention interval 0 keeps none of a prompt this short; "));
  report.unkept_state.kept = {{KeptFor::prompt_end, 16}, {KeptFor::junction, 24}};
  EXPECT_THAT(loss_sentences(report, rules, none, named->names())[0],
              testing::HasSubstr("retention interval 0 keeps only the end of the prompt, 16, and "
                                 "the junction at 24; "));
}

// A's prompt of 21 tokens leaves a key after 20, in a block that ends at 24.
constexpr const char* kInsideBlocks = R"({"id": "A", "prompt": 21, "max_tokens": 6},
    {"id": "C", "at_step": 16, "max_tokens": 2,
     "prompt": {"tokens": 25, "share": "A", "share_tokens": 21}},
    {"id": "D", "at_step": 20, "max_tokens": 2,
     "prompt": {"tokens": 25, "share": "A", "share_tokens": 19}})";

// A model whose layers store no state inside a chunk.
std::string with_gdn(std::string text) {
  const std::string mamba2 = "tiny-mamba2";
  return text.replace(text.find(mamba2), mamba2.size(), "tiny-gdn");
}

TEST(CacheWords, AHitInsideABlockSaysHowFarAndWhatCoarserUnitsGive) {
  for (const char* engine : {"vllm-0.26.0", "vllm-0.27.1", "vllm-0.28.0", "vllm-0.29.0",
                             "vllm-0.30.0", "vllm-0.31.0", "vllm-0.32.0", "vllm-0.33.0"}) {
    const auto run = explain_text(with_gdn(scenario_text(
        R"("mamba_cache_mode": "align", "enable_prefix_caching": true, "block_size": 8, )"
        R"("prefix_match_unit": 2, "engine": ")" +
            std::string(engine) + "\"",
        kInsideBlocks)));
    const LookupReport& c = run->lookup("C");
    EXPECT_EQ(c.num_hit_tokens, 20) << engine;
    EXPECT_EQ(
        inside_block_words(c, run->cache().rules(), run->config()),
        "The hit ends 4 tokens into a block of 8, because prefix_match_unit is 2; the request "
        "gets a copy of that block and writes on in it.")
        << engine;
    EXPECT_THAT(run->coarser("C"),
                ElementsAre("With prefix_match_unit 4 the hit is 20 tokens, as many.",
                            "With prefix_match_unit 8, which ends hits at the ends of blocks, the "
                            "hit is 16 tokens, 4 fewer."))
        << engine;
    EXPECT_THAT(run->sentences("C"),
                ElementsAre("Token 21 (block granularity): a hit ends on a multiple of 2 tokens; "
                            "the next boundary is 22."))
        << engine;
    // 19 tokens reach 3 tokens into the block: its key after 20 tokens does not serve them.
    EXPECT_THAT(run->sentences("D"),
                ElementsAre("Token 19 (block granularity): a hit ends on a multiple of 2 tokens; "
                            "the next boundary is 20.",
                            "Tokens 17..18 (block granularity): they had been computed, but inside "
                            "a block of 8 tokens only the end of a prompt has a key; none of this "
                            "block is of tokens that are in common."))
        << engine;
    EXPECT_EQ(inside_block_words(run->lookup("D"), run->cache().rules(), run->config()), "");
    EXPECT_THAT(run->coarser("D"), IsEmpty());
  }
}

// R1 computed all 8 tokens 100 steps before: only its last hash boundary, 8, has a key, and R2,
// which has to compute its last token, can use keys of at most 7 tokens.
TEST(CacheWords, WhatWasComputedInsideABlockIsNotCalledNotYetComputed) {
  for (const char* engine :
       {"safe", "vllm-0.26.0", "vllm-0.27.1", "vllm-0.28.0", "vllm-0.30.0", "vllm-0.31.0"}) {
    const auto run = explain_text(with_gdn(scenario_text(
        R"("mamba_cache_mode": "align", "enable_prefix_caching": true, "block_size": 8,
           "prefix_match_unit": 2,
           "speculative_config": {"method": "mtp", "num_speculative_tokens": 1}, "engine": ")" +
            std::string(engine) + "\"",
        R"({"id": "R1", "prompt": {"tokens": 8, "share": "P", "share_tokens": 8}, "max_tokens": 1},
           {"id": "R2", "prompt": {"tokens": 8, "share": "P", "share_tokens": 8}, "max_tokens": 1,
            "at_step": 101})")));
    const LookupReport& report = run->lookup("R2");
    EXPECT_EQ(report.num_hit_tokens, 0) << engine;
    EXPECT_EQ(report.lost_to(MissReason::not_computed), 0) << engine;
    EXPECT_EQ(report.lost_to(MissReason::block_granularity), 5) << engine;
    EXPECT_THAT(
        run->sentences("R2"),
        ElementsAre("Token 8 (last token): the last known token is always computed, because "
                    "its logits are needed.",
                    "Token 7 (block granularity): a hit ends on a multiple of 2 tokens; the "
                    "next boundary is 8.",
                    "Tokens 5..6 (eagle drop): the draft model needs the hidden states of "
                    "the last 2 tokens that are found, so they are computed again.",
                    "Tokens 1..4 (block granularity): they had been computed, but inside a "
                    "block of 8 tokens only the end of a prompt has a key; that of this "
                    "block is after token 8, and this look-up can use keys of at most 7 "
                    "tokens."))
        << engine;
  }
}

TEST(CacheWords, KeysThatLookAheadSayWhichTokenTheyCover) {
  const auto run = explain_text(
      scenario_text(R"("mamba_cache_mode": "align", "block_size": 8, "engine": "vllm-0.33.0",
                       "speculative_config": {"num_speculative_tokens": 1})",
                    R"({"id": "A", "prompt": 20},
                       {"id": "B", "at_step": 30, "max_tokens": 2,
                        "prompt": {"tokens": 24, "share": "A", "share_tokens": 16}})"));
  EXPECT_EQ(smallest_prefix_words(run->cache().rules(), run->config()),
            "smallest cacheable prefix: 9 tokens, of a prompt of at least 9 (hits end on multiples "
            "of 8 and a block's key covers the 1 token after it)");
  EXPECT_THAT(run->sentences("B"),
              testing::Contains("Tokens 9..16 (eagle drop): for the draft model the key of a block "
                                "covers the 1 token after it too, and those are not in common."));
}

TEST(CacheWords, AChangeSaysWhatTheHitBecomes) {
  const auto run = explain_shipped("shared_prefix_align");
  EXPECT_EQ(
      change_sentence({.kind = ChangeKind::more_shared_tokens, .amount = 8, .num_hit_tokens = 16},
                      run->lookup("C")),
      "With 8 more shared tokens the hit is 16 tokens instead of 0.");
  EXPECT_EQ(change_sentence({.kind = ChangeKind::keep_states, .amount = 24, .num_hit_tokens = 24},
                            {.num_hit_tokens = 16}),
            "With prefix_cache_retention_interval 24 the hit is 24 tokens instead of 16, 8 more.");
  EXPECT_EQ(change_sentence({.kind = ChangeKind::match_unit, .amount = 4, .num_hit_tokens = 20},
                            {.num_hit_tokens = 16}),
            "With prefix_match_unit 4 the hit is 20 tokens instead of 16, 4 more.");
}

}  // namespace
}  // namespace hybridscope::cache_words_test
