// What was recorded is what is read, field by field, at each level.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/session_reader.h"
#include "tests/storage/drawn_run.h"
#include "tests/storage/record_lines.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/property.h"

namespace hybridscope::test::session_round_trip_test {
namespace {

using RecordLines = std::vector<std::vector<std::string>>;  // [steps]

// More than any scenario has; a drawn run under reference may never end.
constexpr std::int64_t kMostSteps = 300;

// Records the plan; the lines of each record as it was handed over.
RecordLines record(const RunPlan& plan, const SessionPlace& place, RecordLevel level) {
  RecordLines recorded;
  const Status status = record_run(plan, {.place = place,
                                          .level = level,
                                          .max_steps = kMostSteps,
                                          .watch = [&](const StepRecord& step, const auto&) {
                                            recorded.push_back(lines_of(step));
                                          }});
  EXPECT_TRUE(status.ok()) << status.error().message;
  return recorded;
}

RecordLines read_all(const SessionPlace& place) {
  RecordLines lines;
  auto source = open_session_source(place);
  EXPECT_TRUE(source.ok()) << source.error().message;
  while (source.ok()) {
    const auto stamp = source.value()->next();
    EXPECT_TRUE(stamp.ok()) << stamp.error().message;
    if (!stamp.ok() || stamp.value() == nullptr) break;
    const auto read = source.value()->record();
    EXPECT_TRUE(read.ok()) << read.error().message;
    if (!read.ok()) break;
    EXPECT_EQ(read.value()->trace.step, stamp.value()->step);
    EXPECT_EQ(read.value()->digests, stamp.value()->digests);
    EXPECT_EQ(read.value()->counts, stamp.value()->counts);
    lines.push_back(lines_of(*read.value()));
  }
  return lines;
}

std::string first_difference(const RecordLines& recorded, const RecordLines& read) {
  for (std::size_t step = 0; step < std::min(recorded.size(), read.size()); ++step)
    for (std::size_t i = 0; i < std::max(recorded[step].size(), read[step].size()); ++i) {
      const std::string left = i < recorded[step].size() ? recorded[step][i] : "nothing";
      const std::string right = i < read[step].size() ? read[step][i] : "nothing";
      if (left != right) return recorded[step][0] + ": recorded " + left + ", read " + right;
    }
  if (recorded.size() != read.size())
    return std::to_string(recorded.size()) + " steps recorded, read " + std::to_string(read.size());
  return "";
}

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, EachLevelGivesBackWhatItKeeps) {
  const TemporaryFolder folder;
  const RunPlan plan = shipped_scenario(GetParam());
  for (const RecordLevel level : {RecordLevel::full, RecordLevel::blocks, RecordLevel::counts}) {
    const SessionPlace place{.file = folder / "runs.db",
                             .name = std::string(record_level_name(level))};
    const RecordLines recorded = record(plan, place, level);
    EXPECT_FALSE(recorded.empty());
    EXPECT_EQ(first_difference(recorded, read_all(place)), "") << place.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, RoundTrip, testing::ValuesIn(shipped_scenario_names()),
                         [](const auto& scenario) { return scenario.param; });

TEST(RoundTripProperty, DrawnRunsComeBackAsTheyWereRecorded) {
  check_property(12, [] {
    const TemporaryFolder folder;
    const SessionPlace place{.file = folder / "runs.db", .name = "drawn"};
    const RecordLines recorded = record(drawn_run(), place, RecordLevel::full);
    RC_ASSERT(first_difference(recorded, read_all(place)) == "");
  });
}

}  // namespace
}  // namespace hybridscope::test::session_round_trip_test
