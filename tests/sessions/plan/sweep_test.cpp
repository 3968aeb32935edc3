#include "sessions/plan/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/scenario/setting_names.h"

namespace hybridscope::test::sweep_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
  EXPECT_THAT(values_of("max_num_seqs=8,none,default,2x,02x"), ElementsAre("8", "none", "2x"));
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
  EXPECT_EQ(first.prefix_cache_retention_interval, std::nullopt);  // "none" is no value of it
  EXPECT_EQ(first.block_size, 8);
  EXPECT_EQ(sweep.settings(sweep.at(1), "tiny-gdn").value().prefix_cache_retention_interval, 0);
  EXPECT_EQ(sweep.settings(sweep.at(2), "tiny-gdn").value().prefix_cache_retention_interval, 16);
  EXPECT_EQ(sweep.settings(sweep.at(3), "tiny-gdn").value().mamba_cache_mode, MambaCacheMode::none);
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
}  // namespace hybridscope::test::sweep_test
