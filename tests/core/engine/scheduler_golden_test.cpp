// golden/scheduler.jsonl: whole runs of the scheduler; after each call every field is compared.
#include <gtest/gtest.h>

#include <string>

#include "tests/core/caching/golden_config.h"
#include "tests/core/engine/scheduler_replay.h"

namespace hybridscope::test {
namespace {

// null in new_block_ids says "no new block in any group" and has to be null here too.
std::string difference_in_new_block_ids(const Json& expected, const Json& got) {
  if (!expected.contains("scheduled_cached_reqs")) return {};
  const Json& ids = expected["scheduled_cached_reqs"]["new_block_ids"];
  const Json& seen = got["scheduled_cached_reqs"]["new_block_ids"];
  return ids == seen ? "" : "/new_block_ids: expected " + ids.dump() + ", got " + seen.dump();
}

// Empty when the case equals the reference.
std::string first_difference_of(const Json& test_case) {
  auto manager = KVCacheManager::create(config_from_golden(test_case.at("config")), nullptr);
  const Json& expected = test_case.at("output");
  const bool init_error = expected.contains("error") ||
                          (expected.contains("init") && expected["init"].contains("error"));
  if (!manager.ok() || init_error)
    return !manager.ok() && init_error ? "" : "init: error expected or found, not both";

  SchedulerReplay replay(test_case.at("config"), std::move(manager).value());
  const Json& results = expected.at("results");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Json& call = test_case.at("calls")[i];
    const Json result = replay.run(call);
    std::string text = first_difference(results[i], result);
    if (text.empty()) text = difference_in_new_block_ids(results[i], result);
    if (!text.empty())
      return "call " + std::to_string(i) + " " + call.at("op").get<std::string>() + text;
  }
  return {};
}

TEST(SchedulerGolden, EveryCallEqualsTheReference) {
  HS_NEED_GOLDEN();
  int failures = 0;
  int passed = 0;
  const int cases = for_each_case("scheduler.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    const std::string difference = first_difference_of(test_case);
    passed += difference.empty() ? 1 : 0;
    failures += difference.empty() ? 0 : 1;
    EXPECT_EQ(difference, "") << test_case.at("id");
  });
  EXPECT_GT(cases, 0);
  EXPECT_EQ(passed, cases);
}

}  // namespace
}  // namespace hybridscope::test
