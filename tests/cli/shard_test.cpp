#include "sessions/job/shared_work.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

namespace hybridscope::shard_test {
namespace {

using testing::HasSubstr;

EnvironmentLookup lookup_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::string() : it->second;
  };
}

TEST(Shard, FollowsFromTheNameAloneAndIsTheSameOnEveryMachine) {
  EXPECT_EQ(shard_of("plain decode", 1), 1);
  EXPECT_EQ(shard_of("plain decode", 3), 3);
  EXPECT_EQ(shard_of("plain decode", 5), 5);
  EXPECT_EQ(shard_of("v2 slots", 2), 2);
  EXPECT_EQ(shard_of("v2 slots", 7), 6);
  EXPECT_EQ(shard_of("align boundary by decode", 7), 7);
}

TEST(Shard, EveryShardOfAThousandNamesIsUsed) {
  std::map<std::int64_t, int> names;
  for (int i = 0; i < 1000; ++i) ++names[shard_of("scenario " + std::to_string(i), 7)];
  ASSERT_EQ(names.size(), 7u);
  for (const auto& [shard, count] : names) {
    EXPECT_GE(shard, 1);
    EXPECT_LE(shard, 7);
    EXPECT_GT(count, 100) << shard;  // 143 each if they were even
  }
}

TEST(Shard, IsWrittenAsIOfN) {
  EXPECT_EQ(parse_shard("2/7").value(), (Shard{.index = 2, .count = 7}));
  EXPECT_EQ(parse_shard("1/1").value(), (Shard{.index = 1, .count = 1}));
  EXPECT_EQ(shard_text({.index = 2, .count = 7}), "2/7");
}

TEST(Shard, AnythingElseIsRefusedWithWhatIsExpected) {
  for (const char* text : {"", "/", "1", "0/2", "3/2", "-1/2", "1/0", "1/-2", "+1/2", "1/2/3",
                           "1 /2", "1/2 ", "0x1/2", "1/9999999", "99999999999999999999/2"}) {
    const auto shard = parse_shard(text);
    ASSERT_FALSE(shard.ok()) << text;
    EXPECT_THAT(shard.error().message, HasSubstr("expected I/N with I from 1 to N")) << text;
  }
}

TEST(Shard, EnvironmentOfGoogleTestAndBazelCountsFromZero) {
  EXPECT_EQ(
      shard_of_environment(lookup_of({{"GTEST_TOTAL_SHARDS", "4"}, {"GTEST_SHARD_INDEX", "0"}}))
          .value(),
      (Shard{.index = 1, .count = 4}));
  EXPECT_EQ(shard_of_environment(lookup_of({{"TEST_TOTAL_SHARDS", "4"}, {"TEST_SHARD_INDEX", "3"}}))
                .value(),
            (Shard{.index = 4, .count = 4}));
  EXPECT_EQ(shard_of_environment(lookup_of({})).value(), std::nullopt);
}

TEST(Shard, GoogleTestsVariablesComeBeforeThoseOfBazel) {
  EXPECT_EQ(shard_of_environment(lookup_of({{"GTEST_TOTAL_SHARDS", "2"},
                                            {"GTEST_SHARD_INDEX", "1"},
                                            {"TEST_TOTAL_SHARDS", "3"},
                                            {"TEST_SHARD_INDEX", "0"}}))
                .value(),
            (Shard{.index = 2, .count = 2}));
}

TEST(Shard, HalfAnEnvironmentAndIndicesOutOfRangeAreRefused) {
  using Variables = std::map<std::string, std::string>;
  for (const Variables& variables :
       {Variables{{"GTEST_TOTAL_SHARDS", "4"}}, Variables{{"GTEST_SHARD_INDEX", "0"}},
        Variables{{"GTEST_TOTAL_SHARDS", "4"}, {"GTEST_SHARD_INDEX", "4"}},
        Variables{{"GTEST_TOTAL_SHARDS", "0"}, {"GTEST_SHARD_INDEX", "0"}},
        Variables{{"GTEST_TOTAL_SHARDS", "two"}, {"GTEST_SHARD_INDEX", "0"}},
        Variables{{"GTEST_TOTAL_SHARDS", "2"}, {"GTEST_SHARD_INDEX", "-1"}}}) {
    const auto shard = shard_of_environment(lookup_of(variables));
    ASSERT_FALSE(shard.ok());
    EXPECT_THAT(shard.error().message, HasSubstr("GTEST_SHARD_INDEX is"));
  }
}

}  // namespace
}  // namespace hybridscope::shard_test
