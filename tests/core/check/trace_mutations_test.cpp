// One number of one step's trace is changed, anywhere: some rule notices, then or later.
#include "tests/core/check/trace_mutations.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/cpu/cpu_state_backend.h"
#include "tests/core/check/checked_runs.h"

namespace hybridscope::test::trace_mutations_test {
namespace {

// Plants one mutation, each kind of number as likely as the other; its name, "" if there was none.
std::string plant_one(StepTrace& trace, OwnedArrays& arrays, Random& random) {
  const std::vector<TraceMutation> mutations = trace_mutations(trace, arrays, random);
  std::map<std::string, std::vector<const TraceMutation*>> by_name;
  for (const TraceMutation& mutation : mutations) by_name[mutation.name].push_back(&mutation);
  if (by_name.empty()) return "";
  auto kind = by_name.begin();
  std::advance(kind, below(random, static_cast<std::int32_t>(by_name.size())));
  kind->second[static_cast<std::size_t>(
                   below(random, static_cast<std::int32_t>(kind->second.size())))]
      ->plant();
  return kind->first;
}

TEST(TraceMutations, EachIsFound) {
  std::set<std::string> names;
  int missed = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    const SmallEngine small = random_engine(random);
    PlantedRun run(small, below(random, 2) == 0 ? CheckScope::step : CheckScope::all);
    const std::int32_t num_requests = 2 + below(random, 4);
    for (std::int32_t r = 0; r < num_requests; ++r) run.add(random_request(random));
    run.steps(below(random, 12));
    if (run.engine().num_unfinished() == 0) continue;
    std::string name;
    run.step(
        [&](StepTrace& trace, OwnedArrays& arrays) { name = plant_one(trace, arrays, random); });
    run.finish();
    if (name.empty()) continue;
    names.insert(name);
    EXPECT_FALSE(run.findings().empty()) << "seed " << seed << ": " << name;
    if (run.findings().empty() && ++missed == 5) break;
  }
  EXPECT_GT(names.size(), 90u);
}

// The mirror follows any trace that can be executed.
TEST(TraceMutations, BytesAreAsWrongAsSymbolicState) {
  int planted = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    EngineConfig config = engine_config(random_engine(random));
    for (KVCacheGroup& group : config.kv_cache_config.groups)
      if (auto* mamba = std::get_if<MambaSpec>(&group.spec)) mamba->page_size_bytes = 256;
    const auto backend =
        CpuStateBackend::create(make_state_memory(config.kv_cache_config, {}).value());
    PlantedRun run(CheckScope::step, config);
    run.keep_state_in(*backend.value());
    for (std::int32_t r = 0; r < 3; ++r) run.add(random_request(random));
    run.steps(below(random, 12));
    if (run.engine().num_unfinished() == 0) continue;
    std::string name;
    run.step(
        [&](StepTrace& trace, OwnedArrays& arrays) { name = plant_one(trace, arrays, random); });
    run.finish();
    planted += name.empty() ? 0 : 1;
    for (const Finding& finding : run.findings())
      ASSERT_NE(finding.rule, Rule::state_bytes_wrong)
          << "seed " << seed << ": " << name << ": " << describe(finding);
  }
  EXPECT_GT(planted, 250);
}

}  // namespace
}  // namespace hybridscope::test::trace_mutations_test
