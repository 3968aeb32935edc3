#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sessions/traffic/traffic_load.h"
#include "storage/keyframe.h"
#include "storage/session_player.h"
#include "tests/storage/record_lines.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/property.h"

namespace hybridscope::test::session_player_test {
namespace {

using Lines = std::vector<std::string>;
using testing::ElementsAre;
using testing::IsEmpty;

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

constexpr BlockLimits kLimits = {.num_groups = 2, .num_blocks = 16};

CacheEvent column_set(std::int32_t request, std::int32_t column, std::int32_t block) {
  return {.kind = CacheEventKind::column_set,
          .group = 0,
          .request = {request},
          .column = column,
          .block = block};
}

SessionTables some_tables() {
  SessionTables tables(kLimits);
  tables.apply(column_set(4, 0, 15));
  tables.apply(column_set(4, 2, 3));
  tables.apply(column_set(0, 0, 15));
  tables.apply({.kind = CacheEventKind::free_deferred, .request = {}, .block = 7});
  tables.apply(WorkerTableChange{.request = {4}, .group = 1, .column = 1, .block = -1});
  tables.apply(WorkerTableChange{.request = {2}, .group = 0, .column = 0, .block = 2000000000});
  return tables;
}

TEST(Keyframe, GivesBackTheTables) {
  const SessionTables tables = some_tables();
  const auto decoded = decode_tables(encode_tables(tables), kLimits, 5);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_THAT(decoded.value().scheduler.block_ids({4}, 0), ElementsAre(15, 0, 3));
  EXPECT_EQ(decoded.value().scheduler.holders(15), 2);
  EXPECT_EQ(decoded.value().scheduler.deferred(7), 1);
  EXPECT_THAT(decoded.value().worker.block_ids({4}, 1), ElementsAre(0, -1));
  EXPECT_EQ(lines_of(decoded.value().scheduler), lines_of(tables.scheduler));
  EXPECT_EQ(lines_of(decoded.value().worker), lines_of(tables.worker));
}

TEST(Keyframe, TablesBeyondWhatTheSessionHasAreAnError) {
  const auto blob = encode_tables(some_tables());
  EXPECT_FALSE(decode_tables(blob, kLimits, 4).ok());  // request 4
  EXPECT_FALSE(decode_tables(blob, {.num_groups = 2, .num_blocks = 15}, 5).ok());
  EXPECT_FALSE(decode_tables(blob, {.num_groups = 1, .num_blocks = 16}, 5).ok());
  EXPECT_FALSE(decode_tables({}, kLimits, 5).ok());
  EXPECT_EQ(decode_tables(blob, kLimits, 4).error().kind, ErrorKind::corrupt);
}

TEST(Keyframe, DamagedBytesAreAnErrorOrTablesThatFit) {
  const auto blob = encode_tables(some_tables());
  check_property(300, [&] {
    auto damaged = blob;
    for (std::int32_t i = draw(1, 3); i > 0; --i)
      damaged[static_cast<std::size_t>(draw(0, static_cast<std::int32_t>(blob.size()) - 1))] =
          static_cast<std::uint8_t>(draw(0, 255));
    if (one_in(4)) damaged.resize(static_cast<std::size_t>(draw(0, 12)));
    const auto decoded = decode_tables(damaged, kLimits, 5);
    if (!decoded.ok()) return;
    for (const RequestId request : decoded.value().scheduler.requests())
      RC_ASSERT(request.value < 5);
  });
}

TEST(KeyframeMaker, IsDueAfterEnoughChangesWithTheTablesAsTheStepFoundThem) {
  KeyframeMaker maker({.num_groups = 1, .num_blocks = 8192});
  StepRecord record;
  for (std::int32_t column = 0; column < kKeyframeChanges - 1; ++column)
    record.trace.cache_events.push_back(column_set(0, column, column + 1));
  EXPECT_THAT(maker.add(record).tables, IsEmpty());
  record.trace.cache_events.clear();
  record.worker_changes = {{.request = {0}, .group = 0, .column = 0, .block = 1}};
  EXPECT_THAT(maker.add(record).tables, IsEmpty());
  record.worker_changes.clear();
  record.trace.commit_events = {
      {.kind = CacheEventKind::table_dropped, .group = 0, .request = {0}}};
  const auto decoded =
      decode_tables(maker.add(record).tables, {.num_groups = 1, .num_blocks = 8192}, 1);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded.value().scheduler.block_ids({0}, 0).size(), 4095U);
  EXPECT_THAT(decoded.value().worker.block_ids({0}, 0), ElementsAre(1));
  EXPECT_THAT(maker.add(record).tables, IsEmpty());
}

}  // namespace
}  // namespace hybridscope::test::session_player_test
