// One number of one step's trace is changed, anywhere: some rule notices, then or later.
#include "tests/core/check/trace_mutations.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/core/check/random_runs.h"

namespace hybridscope::test {
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

}  // namespace
}  // namespace hybridscope::test
