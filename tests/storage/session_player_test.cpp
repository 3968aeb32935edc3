#include "storage/session_player.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sessions/traffic/synthetic_traffic.h"
#include "tests/storage/drawn_run.h"
#include "tests/storage/record_lines.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/property.h"

namespace hybridscope::test::session_player_test {
namespace {

using Lines = std::vector<std::string>;

// A drawn run under reference may never end.
constexpr std::int64_t kMostSteps = 120;
constexpr int kMostBack = 100;

// What a run's tables were.
struct Tables {
  std::map<std::int64_t, Lines> scheduler;       // during the step, from the run's events
  std::map<std::int64_t, Lines> after_the_step;  // as the checker has them
  std::map<std::int64_t, Lines> worker;          // as given to the worker
};

Tables record(const RunPlan& plan, const Recording& recording) {
  Tables tables;
  const EngineConfig& config = plan.setup.config;
  const auto num_groups = static_cast<std::int32_t>(config.kv_cache_config.groups.size());
  BlockTableMirror scheduler(num_groups, config.kv_cache_config.num_blocks);
  WorkerTables worker(num_groups);
  Recording watched = recording;
  watched.watch = [&](const StepRecord& record, const CheckState& state) {
    const auto apply = [&](const std::vector<CacheEvent>& events) {
      for (const CacheEvent& event : events) {
        scheduler.apply(event);
        if (event.kind == CacheEventKind::table_dropped) worker.drop(event.request);
      }
    };
    apply(record.trace.cache_events);
    for (const WorkerTableChange& change : record.worker_changes) worker.apply(change);
    tables.scheduler[record.trace.step] = lines_of(scheduler);
    tables.worker[record.trace.step] = lines_of(worker);
    apply(record.trace.commit_events);
    tables.after_the_step[record.trace.step] = lines_of(state.tables);
  };
  const Status recorded = record_run(plan, watched);
  EXPECT_TRUE(recorded.ok()) << recorded.error().message;
  return tables;
}

// What is wrong with the player's current step; empty: nothing.
std::string fault_of(const SessionPlayer& player, const Tables& tables) {
  const std::int64_t step = player.step();
  if (player.record().trace.step != step) return "another record";
  if (lines_of(player.scheduler_tables()) != tables.scheduler.at(step)) return "scheduler's tables";
  if (lines_of(player.worker_tables()) != tables.worker.at(step)) return "worker's tables";
  BlockTableMirror after = player.scheduler_tables();
  for (const CacheEvent& event : player.record().trace.commit_events) after.apply(event);
  if (lines_of(after) != tables.after_the_step.at(step)) return "tables of the checker";
  return "";
}

// Forwards, backwards from the end, and to steps that jump to and fro.
std::string first_fault(const SessionPlace& place, const Tables& tables) {
  auto opened = SessionPlayer::open(place);
  if (!opened.ok()) return opened.error().message;
  SessionPlayer& player = *opened.value();
  const auto check = [&](const char* how) {
    const std::string fault = fault_of(player, tables);
    return fault.empty() ? "" : how + (" to step " + std::to_string(player.step()) + ": " + fault);
  };
  std::size_t seen = 0;
  while (step_forward(player)) {
    ++seen;
    if (std::string fault = check("forward"); !fault.empty()) return fault;
  }
  if (seen != tables.scheduler.size()) return std::to_string(seen) + " steps forward";
  std::vector<std::int64_t> steps;
  for (const auto& [step, lines] : tables.scheduler) steps.push_back(step);
  for (std::size_t i = 1; i < steps.size() && i <= kMostBack; ++i) {
    if (Status moved = player.go_to(steps[steps.size() - 1 - i]); !moved.ok())
      return moved.error().message;
    if (std::string fault = check("back"); !fault.empty()) return fault;
  }
  std::uint64_t random = 17;
  for (int i = 0; i < 40; ++i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    if (Status moved = player.go_to(steps[(random >> 33) % steps.size()]); !moved.ok())
      return moved.error().message;
    if (std::string fault = check("jump"); !fault.empty()) return fault;
  }
  return "";
}

class Player : public testing::TestWithParam<std::string> {};

TEST_P(Player, ShowsTheTablesOfEachStep) {
  const TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "run"};
  const Tables tables =
      record(shipped_scenario(GetParam()), {.place = place, .level = RecordLevel::blocks});
  EXPECT_EQ(first_fault(place, tables), "");
}

INSTANTIATE_TEST_SUITE_P(Shipped, Player, testing::ValuesIn(shipped_scenario_names()),
                         [](const auto& scenario) { return scenario.param; });

TEST(PlayerProperty, ShowsTheTablesOfDrawnRuns) {
  check_property(12, [] {
    const TemporaryFolder folder;
    const SessionPlace place{.file = folder / "runs.db", .name = "drawn"};
    const Tables tables = record(
        drawn_run(), {.place = place, .level = RecordLevel::blocks, .max_steps = kMostSteps});
    RC_ASSERT(first_fault(place, tables) == "");
  });
}

// Some hundred steps, enough changes for several keyframes.
class LongSession : public testing::Test {
 protected:
  void SetUp() override {
    tables_ = record(synthetic_run(120),
                     {.place = place_, .level = RecordLevel::blocks, .max_steps = 700});
  }
  TemporaryFolder folder_;
  SessionPlace place_{.file = folder_ / "runs.db", .name = "run"};
  Tables tables_;
};

TEST_F(LongSession, HasKeyframesAndPlays) {
  EXPECT_GE(query_number(place_.file, "SELECT count(*) FROM keyframes"), 2);
  EXPECT_EQ(first_fault(place_, tables_), "");
}

TEST_F(LongSession, PlaysWithoutKeyframesFromItsStart) {
  SQLite::Database(place_.file, SQLite::OPEN_READWRITE).exec("DELETE FROM keyframes");
  EXPECT_EQ(first_fault(place_, tables_), "");
}

TEST_F(LongSession, ADamagedKeyframeIsAnErrorAndThePlayerGoesOn) {
  SQLite::Database(place_.file, SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE keyframes SET tables = x'28b52ffd00' WHERE step = (SELECT max(step) FROM "
          "keyframes)");
  auto player = SessionPlayer::open(place_).value();
  const Status moved = player->go_to(player->reader().last_step());
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().kind, ErrorKind::corrupt);
  EXPECT_THAT(moved.error().message,
              testing::HasSubstr("keyframes.tables: the keyframe is damaged"));
  EXPECT_EQ(player->step(), 0);
  ASSERT_TRUE(player->go_to(100).ok());
  EXPECT_EQ(fault_of(*player, tables_), "");
}

TEST(SessionPlayer, StaysWhereItIsWhenThereIsNoSuchStep) {
  const TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "run"};
  record(shipped_scenario("plain_decode"), {.place = place});
  auto player = SessionPlayer::open(place).value();
  EXPECT_EQ(player->step(), 0);
  ASSERT_TRUE(player->go_to(2).ok());
  EXPECT_EQ(player->go_to(99).error().kind, ErrorKind::not_found);
  EXPECT_EQ(player->step(), 2);
  EXPECT_EQ(player->record().trace.step, 2);
}

TEST(SessionPlayer, LevelCountsHasNoTables) {
  const TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "run"};
  record(shipped_scenario("plain_decode"), {.place = place, .level = RecordLevel::counts});
  auto player = SessionPlayer::open(place).value();
  ASSERT_TRUE(player->go_to(3).ok());
  EXPECT_TRUE(player->scheduler_tables().requests().empty());
  EXPECT_TRUE(player->worker_tables().requests().empty());
}

}  // namespace
}  // namespace hybridscope::test::session_player_test
