#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sessions/plan/plan_file.h"
#include "sessions/plan/plan_run.h"
#include "sessions/plan/sweep.h"
#include "sessions/scenario/settings_json.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::plan_file_test {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kOne = "max_num_seqs=1";
constexpr const char* kTwo = "max_num_seqs=2";

PlanHeader header() {
  return {
      .program = "hybridscope 1 (build 2)",
      .model = "tiny-gdn",
      .layout = "0123",
      .traffic = "t.jsonl",
      .how_read = {.format = "mooncake", .load = {.users = 8, .think_us = 5'000'000, .seed = 3}},
      .limit = 100,
      .digest = "4567",
      .arrivals_us = 3'537'000'000,
      .settings = "{}",
      .sweeps = {"max_num_seqs=1,2"}};
}

PlanResult result(const std::string& name, std::int64_t steps) {
  PlanResult made{
      .name = name, .sizes = {.mamba_cache_mode = "align", .block_size = 8}, .num_changes = 2};
  std::int64_t value = steps;
  for (const PlanFigure& figure : plan_figures()) figure.value(made.figures) = value++;
  made.figures.worst_step = 1;
  made.points = {{.first_step = 1,
                  .time_us = 2,
                  .steps = 1,
                  .running = 4,
                  .waiting = 3,
                  .blocks = {5, 6, 7, 8},
                  .cached_blocks = 9,
                  .hit_tokens = 10,
                  .prompt_tokens = 11}};
  return made;
}

class PlanFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name = "plan.jsonl") const {
    return folder_.path() + "/" + name;
  }
  void append(const std::string& text) const { std::ofstream(path(), std::ios::app) << text; }
  TemporaryFolder folder_;
};

TEST_F(PlanFileTest, ResultsAreThereWhenItIsOpenedAgain) {
  {
    PlanFile file = PlanFile::open(path(), header()).value();
    ASSERT_TRUE(file.add(result(kOne, 1)).ok());
    PlanResult refused{.name = kTwo, .refused = "not possible: too large"};
    ASSERT_TRUE(file.add(refused).ok());
  }
  append("{\"name\": \"unfin");  // a crash
  const PlanFile file = PlanFile::open(path(), header()).value();
  EXPECT_THAT(file.contents().results,
              UnorderedElementsAre(
                  Pair(kOne, result(kOne, 1)),
                  Pair(kTwo, PlanResult{.name = kTwo, .refused = "not possible: too large"})));
  EXPECT_EQ(read_plan(path()).value().header, header());
}

TEST_F(PlanFileTest, AnotherPlanIsRefusedWithTheDifference) {
  (void)PlanFile::open(path(), header()).value();
  PlanHeader other = header();
  other.digest = "89ab";
  EXPECT_THAT(PlanFile::open(path(), other).error().message,
              HasSubstr("has another plan: content of the traffic: 4567, not 89ab"));
}

TEST_F(PlanFileTest, TwoProgramsDoNotWriteOneFile) {
  const PlanFile file = PlanFile::open(path(), header()).value();
  EXPECT_THAT(PlanFile::open(path(), header()).error().message,
              HasSubstr("another hybridscope does"));
}

TEST_F(PlanFileTest, ALineThatIsNoResultIsNamed) {
  (void)PlanFile::open(path(), header()).value();
  append("{\"name\": \"max_num_seqs=1\", \"figures\": {\"steps\": -1}}\n");
  EXPECT_THAT(read_plan(path()).error().message, HasSubstr("plan.jsonl:2: /figures/steps"));
  EXPECT_THAT(read_plan(path("none.jsonl")).error().message, HasSubstr("none.jsonl"));
}

TEST_F(PlanFileTest, AResultOfNoCombinationIsNamed) {
  (void)PlanFile::open(path(), header()).value();
  append("{\"name\": \"max_num_seqs=3\", \"refused\": \"not possible: x\"}\n");
  EXPECT_THAT(
      read_plan(path()).error().message,
      HasSubstr("plan.jsonl:2: /name: \"max_num_seqs=3\" (expected a combination of the sweeps: "
                "max_num_seqs=1,2)"));
}

TEST_F(PlanFileTest, ResultsUnderOtherStepTimesNeedAStepTime) {
  const std::string half = std::string(kOne) + std::string(kOtherStepTimes[0].suffix);
  PlanHeader timed = header();
  timed.step_time = "20000 + 30*prefill";
  ASSERT_TRUE(PlanFile::open(path("timed"), timed).value().add(result(half, 1)).ok());
  EXPECT_TRUE(read_plan(path("timed")).ok());
  ASSERT_TRUE(PlanFile::open(path("untimed"), header()).value().add(result(half, 1)).ok());
  EXPECT_THAT(read_plan(path("untimed")).error().message, HasSubstr("untimed:2: /name"));
}

TEST_F(PlanFileTest, AHeaderThatThisProgramDoesNotUnderstandIsNamed) {
  PlanHeader wrong = header();
  wrong.sweeps = {"max_num_sequences=1"};
  (void)PlanFile::open(path("sweeps"), wrong).value();
  EXPECT_THAT(read_plan(path("sweeps")).error().message, HasSubstr("sweeps:1: /sweeps: "));
  wrong = header();
  wrong.settings = "{\"max_num_seqs\": \"many\"}";
  (void)PlanFile::open(path("settings"), wrong).value();
  EXPECT_THAT(read_plan(path("settings")).error().message,
              HasSubstr("settings:1: /settings: /max_num_seqs"));
  wrong = header();
  wrong.step_time = "3 * steps";
  (void)PlanFile::open(path("time"), wrong).value();
  EXPECT_THAT(read_plan(path("time")).error().message, HasSubstr("time:1: /step_time: "));
}

TEST_F(PlanFileTest, StepsThatARunCannotHaveAreNamed) {
  PlanResult wrong = result(kOne, 5);
  wrong.figures.worst_step = 6;
  ASSERT_TRUE(PlanFile::open(path("worst"), header()).value().add(wrong).ok());
  EXPECT_THAT(read_plan(path("worst")).error().message,
              HasSubstr("worst:2: /figures/worst_step: 6 (expected 1 to 5"));
  wrong = result(kOne, 5);
  wrong.points.push_back(wrong.points.back());
  ASSERT_TRUE(PlanFile::open(path("points"), header()).value().add(wrong).ok());
  EXPECT_THAT(read_plan(path("points")).error().message,
              HasSubstr("points:2: /points/1: steps 1 to 1 (expected steps of 2 to 5)"));
}

TEST_F(PlanFileTest, ACombinationHasOneResult) {
  PlanFile file = PlanFile::open(path(), header()).value();
  ASSERT_TRUE(file.add(result(kOne, 1)).ok());
  ASSERT_TRUE(file.add(result(kOne, 1)).ok());
  EXPECT_TRUE(read_plan(path()).ok());
  ASSERT_TRUE(file.add(result(kOne, 2)).ok());
  EXPECT_THAT(read_plan(path()).error().message,
              HasSubstr("plan.jsonl:4: /name: \"max_num_seqs=1\" has another result in a line "
                        "before this one"));
}

TEST_F(PlanFileTest, CountsAreThoseThatADoubleHolds) {
  ASSERT_TRUE(PlanFile::open(path(), header()).value().add(result(kOne, (1LL << 53) + 1)).ok());
  EXPECT_THAT(read_plan(path()).error().message,
              HasSubstr("/figures/steps: expected an integer from 0 to 9007199254740992"));
}

TEST_F(PlanFileTest, OnlyWhatDidNotEndHasFiguresAndAReason) {
  PlanResult stuck = result(kOne, 5);
  stuck.refused = "did not end: from step 5 on no request could progress";
  ASSERT_TRUE(PlanFile::open(path("stuck"), header()).value().add(stuck).ok());
  EXPECT_EQ(read_plan(path("stuck")).value().results.at(kOne), stuck);
  stuck.refused = "not possible: too large";
  ASSERT_TRUE(PlanFile::open(path("refused"), header()).value().add(stuck).ok());
  EXPECT_THAT(read_plan(path("refused")).error().message, HasSubstr("refused:2: /figures: "));
}

TEST_F(PlanFileTest, PartsAreMergedUnlessTheyDisagree) {
  for (const auto& [file, name] : {std::pair("a", kOne), std::pair("b", kTwo)})
    ASSERT_TRUE(PlanFile::open(path(file), header()).value().add(result(name, 1)).ok());
  EXPECT_EQ(merge_plans({path("a"), path("b")}).value().results.size(), 2U);
  PlanFile file = PlanFile::open(path("c"), header()).value();
  ASSERT_TRUE(file.add(result(kOne, 2)).ok());
  EXPECT_THAT(merge_plans({path("a"), path("c")}).error().message,
              HasSubstr("has another result of max_num_seqs=1 than a file before it"));
}

using testing::ElementsAre;

std::vector<std::string> values_of(const std::string& text) {
  return parse_sweep(text).value().values;
}
std::string error_of(const std::string& text) { return parse_sweep(text).error().message; }

Sweep sweep_of(const std::vector<std::string>& texts, const EngineSettings& base = {}) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : texts) axes.push_back(parse_sweep(text).value());
  return Sweep::create(base, std::move(axes)).value();
}

TEST(Sweep, ValuesAreListedAsTheOptionTakesThem) {
  EXPECT_THAT(values_of("mamba_cache_mode=align,none"), ElementsAre("align", "none"));
  EXPECT_THAT(values_of("--max-num-seqs=64,8"), ElementsAre("64", "8"));
  EXPECT_THAT(values_of("kv-memory=40GiB,60GiB"), ElementsAre("40GiB", "60GiB"));
}

TEST(Sweep, ARangeCountsUpAndALongOneDoubles) {
  EXPECT_THAT(values_of("num_speculative_tokens=0..3"), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(values_of("max_num_seqs=64..512"), ElementsAre("64", "128", "256", "512"));
  EXPECT_THAT(values_of("max_num_seqs=64..100"), ElementsAre("64", "100"));  // the last is in
  EXPECT_THAT(values_of("max_num_seqs=8..32+8"), ElementsAre("8", "16", "24", "32"));
  EXPECT_THAT(values_of("max_num_seqs=1..64*4"), ElementsAre("1", "4", "16", "64"));
  EXPECT_THAT(values_of("max_num_seqs=2,1..3"), ElementsAre("2", "1", "3"));  // 2 once
}

TEST(Sweep, WhatIsNoSweepIsRefusedWithWhatIsExpected) {
  EXPECT_THAT(error_of("max_num_seqs"), HasSubstr("expected NAME=VALUE"));
  EXPECT_THAT(error_of("max_num_seq=1"), HasSubstr("there is no setting \"max_num_seq\""));
  EXPECT_THAT(error_of("max_num_seqs=0..3"), HasSubstr("max_num_seqs is 0"));
  EXPECT_THAT(error_of("max_num_seqs=3..1"), HasSubstr("3..1: 3 is above 1"));
  EXPECT_THAT(error_of("mamba_cache_mode=some"), HasSubstr("one of none, all, align"));
  EXPECT_THAT(error_of("cudagraph_capture_sizes=1,2"), HasSubstr("is a list itself"));
  EXPECT_THAT(error_of("max_num_seqs=none"), HasSubstr("max_num_seqs is \"none\""));
  EXPECT_THAT(error_of("max_num_seqs=default"), HasSubstr("an integer from 1 to 65536); a range"));
}

TEST(Sweep, AllCombinationsAreMadeAndTheLastAxisChangesFastest) {
  const Sweep sweep = sweep_of({"mamba_cache_mode=align,none", "max_num_seqs=1..3"});
  ASSERT_EQ(sweep.size(), 6);
  EXPECT_EQ(sweep.at(0).name, "mamba_cache_mode=align max_num_seqs=1");
  EXPECT_EQ(sweep.at(1).name, "mamba_cache_mode=align max_num_seqs=2");
  EXPECT_EQ(sweep.at(5).name, "mamba_cache_mode=none max_num_seqs=3");
  for (std::int64_t index = 0; index < 6; ++index)
    EXPECT_EQ(sweep.index_of(sweep.at(index)), index);
  EXPECT_EQ(sweep.called("mamba_cache_mode=none max_num_seqs=3"), sweep.at(5));
  EXPECT_EQ(sweep.called("mamba_cache_mode=none"), std::nullopt);
  const Sweep spaced = sweep_of({"kv_cache_memory_bytes=4,4 GiB", "max_num_seqs=1..3"});
  for (std::int64_t index = 0; index < spaced.size(); ++index)
    EXPECT_EQ(spaced.called(spaced.at(index).name), spaced.at(index));
  EXPECT_EQ(sweep_of({}).called("as given"), sweep_of({}).at(0));
  EXPECT_EQ(sweep_of({}).at(0).name, "as given");
}

TEST(Sweep, SpellingsOfOneValueAreOneValue) {
  EXPECT_THAT(values_of("kv_cache_memory_bytes=4GiB,4096MiB,5GiB"), ElementsAre("4GiB", "5GiB"));
  EXPECT_THAT(values_of("max_num_seqs=8,08,2x,02x"), ElementsAre("8", "2x"));
  EXPECT_THAT(values_of("prefix_cache_retention_interval=none,None,0"), ElementsAre("none", "0"));
}

// Without prefix caching nothing is kept.
TEST(Sweep, InModeNoneRetentionAndMatchUnitMakeNoFurtherCombinations) {
  EngineSettings base;
  base.block_size = 8;
  const Sweep sweep = sweep_of(
      {"mamba_cache_mode=align,none", "prefix_cache_retention_interval=0,2x", "max_num_seqs=2,4"},
      base);
  EXPECT_EQ(sweep.size(), 6);
  EXPECT_EQ(sweep.num_equal(), 2);
  EXPECT_EQ(sweep.at(5).name,
            "mamba_cache_mode=none prefix_cache_retention_interval=0 max_num_seqs=4");
  for (std::int64_t index = 0; index < 6; ++index) {
    EXPECT_EQ(sweep.index_of(sweep.at(index)), index);
    EXPECT_EQ(sweep.called(sweep.at(index).name), sweep.at(index));
  }
  EXPECT_EQ(sweep.called("mamba_cache_mode=none prefix_cache_retention_interval=2x max_num_seqs=4"),
            std::nullopt);
  EXPECT_EQ(sweep.index_of({.values = {1, 1, 1}, .name = {}}), 5);
  const EngineSettings none = sweep.settings(sweep.at(5), "tiny-gdn").value();
  EXPECT_EQ(none.enable_prefix_caching, false);
  EXPECT_EQ(none.prefix_cache_retention_interval, std::nullopt);
  // Where prefix caching is swept itself, mode none says nothing of it.
  EXPECT_EQ(sweep_of({"mamba_cache_mode=align,none", "prefix_cache_retention_interval=0,2x",
                      "enable_prefix_caching=true,false"})
                .size(),
            8);
}

// 0.24.0 caches no prefixes of hybrid models unless it is told to.
TEST(Sweep, ASweptModeTurnsPrefixCachingOnWhereTheReleaseDoesNot) {
  EngineSettings base;
  base.engine = EngineProfile::vllm(Release::v0_24_0);
  const auto caching = [&](std::int64_t index) {
    const Sweep sweep = sweep_of({"mamba_cache_mode=align,none"}, base);
    return sweep.settings(sweep.at(index), "tiny-gdn").value().enable_prefix_caching;
  };
  EXPECT_EQ(caching(0), true);
  EXPECT_EQ(caching(1), false);
  base.enable_prefix_caching = false;  // as asked for
  EXPECT_EQ(caching(0), false);
  base.enable_prefix_caching.reset();
  base.engine = EngineProfile::vllm(Release::v0_33_0);
  EXPECT_EQ(caching(0), std::nullopt);  // on by itself
}

TEST(Sweep, ACombinationSetsItsValuesOnTopOfTheRest) {
  EngineSettings base;
  base.block_size = 8;
  const Sweep sweep =
      sweep_of({"mamba_cache_mode=align,none", "prefix_cache_retention_interval=none,0,2x"}, base);
  const EngineSettings first = sweep.settings(sweep.at(0), "tiny-gdn").value();
  EXPECT_EQ(first.mamba_cache_mode, MambaCacheMode::align);
  EXPECT_EQ(first.prefix_cache_retention_interval, kRetainsAll);
  EXPECT_EQ(first.block_size, 8);
  EXPECT_EQ(sweep.settings(sweep.at(1), "tiny-gdn").value().prefix_cache_retention_interval, 0);
  EXPECT_EQ(sweep.settings(sweep.at(2), "tiny-gdn").value().prefix_cache_retention_interval, 16);
  EXPECT_EQ(sweep.settings(sweep.at(3), "tiny-gdn").value().mamba_cache_mode, MambaCacheMode::none);
}

// By itself tiny-gdn runs in mode align with 256 requests.
TEST(Sweep, AValueThatTheEngineHasByItselfIsNoChange) {
  EngineSettings base;
  base.num_gpu_blocks_override = 400;
  const Sweep sweep = sweep_of({"mamba_cache_mode=align,none", "max_num_seqs=256,64"}, base);
  const auto changes = [&](const char* name) {
    return sweep.num_changes(sweep.called(name).value(), "tiny-gdn");
  };
  EXPECT_EQ(changes("mamba_cache_mode=align max_num_seqs=256"), 0);
  EXPECT_EQ(changes("mamba_cache_mode=align max_num_seqs=64"), 1);
  EXPECT_EQ(changes("mamba_cache_mode=none max_num_seqs=64"), 2);
}

TEST(Sweep, TimesTheBlockSizeHasTheLimitOfTheSetting) {
  const Sweep sweep = sweep_of({"block_size=9223372036854775807x"});
  EXPECT_THAT(sweep.settings(sweep.at(0), "tiny-gdn").error().message,
              HasSubstr("block_size is 9223372036854775807 times the block size"));
}

TEST(Sweep, NoDraftsNeedNoMethod) {
  EngineSettings base;
  base.speculative_method = SpeculativeMethod::mtp;
  const Sweep sweep = sweep_of({"num_speculative_tokens=0,2"}, base);
  EXPECT_EQ(sweep.settings(sweep.at(0), "tiny-gdn").value().speculative_method,
            SpeculativeMethod::none);
  EXPECT_EQ(sweep.settings(sweep.at(1), "tiny-gdn").value().speculative_method,
            SpeculativeMethod::mtp);
}

TEST(Sweep, ASettingIsEitherSetOrSweptAndSweptOnce) {
  EngineSettings base;
  base.max_num_seqs = 4;
  const SweepAxis axis = parse_sweep("max_num_seqs=1..3").value();
  EXPECT_THAT(Sweep::create(base, {axis}).error().message, HasSubstr("both set and swept"));
  EXPECT_THAT(Sweep::create({}, {axis, axis}).error().message, HasSubstr("swept twice"));
}

}  // namespace

}  // namespace hybridscope::test::plan_file_test
