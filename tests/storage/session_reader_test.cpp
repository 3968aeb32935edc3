#include "storage/session_reader.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "sessions/explain/explain_decision.h"
#include "sessions/scenario/scenario_reader.h"
#include "storage/step_history.h"
#include "tests/storage/record_lines.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::session_reader_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kScenario = "preemption_and_resume";

// A recorded scenario of 20 steps.
class Reading : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(record_run(shipped_scenario(kScenario), {.place = place_}).ok());
  }
  std::unique_ptr<SessionReader> open() {
    auto reader = SessionReader::open(place_);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(reader).value();
  }
  // The message of reading this step after `sql` has changed the file.
  std::string read_after(const std::string& sql, std::int64_t step) {
    SQLite::Database(place_.file, SQLite::OPEN_READWRITE)
        .exec("PRAGMA ignore_check_constraints = 1; " + sql);
    const auto reader = open();
    const auto read = reader->read(step);
    if (read.ok()) return "no error";
    EXPECT_EQ(read.error().kind, ErrorKind::corrupt);
    return read.error().message;
  }

  TemporaryFolder folder_;
  SessionPlace place_{.file = folder_ / "runs.db", .name = "a run"};
};

TEST_F(Reading, KnowsWhatTheSessionIs) {
  const auto reader = open();
  EXPECT_EQ(reader->info().header.name, "a run");
  EXPECT_EQ(reader->info().header.level, RecordLevel::full);
  EXPECT_EQ(reader->info().header.config.num_speculative_tokens,
            shipped_scenario(kScenario).setup.config.num_speculative_tokens);
  EXPECT_EQ(reader->title(), place_.file + ":a run");
  EXPECT_EQ(reader->first_step(), 1);
  EXPECT_EQ(reader->last_step(), 20);
  EXPECT_EQ(reader->num_requests(), 2);
  EXPECT_EQ(reader->request_name({0}), "A");
  EXPECT_EQ(reader->request_name({1}), "B");
  EXPECT_EQ(reader->request_name({2}), "");
  EXPECT_EQ(reader->request_name({-1}), "");
}

TEST_F(Reading, AnyOrderOfStepsGivesTheSameSteps) {
  const auto in_order = open();
  std::vector<std::vector<std::string>> lines(21);
  for (std::size_t step = 1; step <= 20; ++step)
    lines[step] = lines_of(*in_order->read(static_cast<std::int64_t>(step)).value());
  const auto reader = open();
  for (const std::size_t step : {20U, 1U, 2U, 2U, 9U, 8U, 10U, 14U, 3U, 4U, 5U, 20U}) {
    EXPECT_EQ(lines_of(*reader->read(static_cast<std::int64_t>(step)).value()), lines[step])
        << step;
    EXPECT_TRUE(reader->read_schedule(static_cast<std::int64_t>(step % 7 + 1)).ok());
  }
}

TEST_F(Reading, AScheduleHasTheRowsAndRequestsOfTheStepAndNoBlocksCopiesOrArrays) {
  const auto whole = open();
  const auto reader = open();
  for (const std::int64_t step : {20, 1, 2, 9, 8, 10, 14}) {
    StepRecord expected = *whole->read(step).value();
    StepTrace& trace = expected.trace;
    trace.graph = {};
    trace.uniform_decode = StepTrace().uniform_decode;
    trace.commands.clear();
    trace.groups.clear();
    trace.cache_events.clear();
    trace.commit_events.clear();
    trace.pre_copies = trace.post_copies = {};
    expected.worker_changes.clear();
    expected.findings.clear();
    expected.arrays.clear();
    expected.writes.clear();
    EXPECT_THAT(lines_of(*reader->read_schedule(step).value()),
                testing::ElementsAreArray(lines_of(expected)))
        << step;
  }
  EXPECT_EQ(reader->read_schedule(21).error().kind, ErrorKind::not_found);
}

TEST_F(Reading, StepsThatWereNotRecordedAreAnError) {
  const auto reader = open();
  const auto kept = lines_of(*reader->read(7).value());
  for (const std::int64_t step : {0, -5, 21, 1000}) {
    const auto read = reader->read(step);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().kind, ErrorKind::not_found);
    EXPECT_THAT(read.error().message, AllOf(HasSubstr("runs.db"), HasSubstr("steps 1 to 20")));
  }
  EXPECT_EQ(lines_of(*reader->read(7).value()), kept);
}

// As a disk does that fails for a moment.
TEST_F(Reading, AfterAReadThatFailedTheNextOneIsWhole) {
  const auto in_order = open();
  const auto seventh = lines_of(*in_order->read(7).value());
  const auto reader = open();
  ASSERT_TRUE(reader->read(4).ok());
  sqlite3* database = reader->impl().file.database().getHandle();
  sqlite3_progress_handler(
      database, 1, [](void*) { return 1; }, nullptr);
  EXPECT_FALSE(reader->read(5).ok());
  EXPECT_FALSE(reader->read(6).ok());
  sqlite3_progress_handler(database, 0, nullptr, nullptr);
  const auto read = reader->read(7);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(lines_of(*read.value()), seventh);
}

TEST_F(Reading, FindsNeighboursAcrossGaps) {
  SQLite::Database database(place_.file, SQLite::OPEN_READWRITE);
  database.exec("PRAGMA foreign_keys = ON");
  database.exec("DELETE FROM steps WHERE step IN (5, 6)");
  const auto reader = open();
  EXPECT_EQ(reader->step_at_or_before(6).value(), 4);
  EXPECT_EQ(reader->step_at_or_before(7).value(), 7);
  EXPECT_EQ(reader->step_at_or_before(0).value(), 0);
  EXPECT_EQ(reader->step_after(4).value(), 7);
  EXPECT_EQ(reader->step_after(20).value(), 0);
  EXPECT_EQ(reader->read(5).error().kind, ErrorKind::not_found);
}

TEST_F(Reading, DamagedRowsAreAnErrorWithTableColumnAndStep) {
  EXPECT_EQ(read_after("UPDATE block_events SET kind = 99 WHERE step = 3 AND ordinal = 0", 3),
            place_.file + ": session 'a run': step 3: block_events.kind: 99, expected 0 to 11");
}

struct Damage {
  const char* name;
  const char* sql;
  const char* message;
};

class Damaged : public Reading, public testing::WithParamInterface<Damage> {};

TEST_P(Damaged, IsAnError) {
  EXPECT_THAT(read_after(GetParam().sql, 3), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, Damaged,
    testing::Values(
        Damage{"EnumCode", "UPDATE graph_padding SET reason = -1 WHERE step = 3",
               "step 3: graph_padding.reason: -1, expected 0 to 9"},
        Damage{"Request", "UPDATE rows SET request = 2 WHERE step = 3",
               "step 3: rows.request: 2, expected -1 to 1"},
        Damage{"MissingRow", "DELETE FROM graph_padding WHERE step = 3",
               "step 3: graph_padding has no row"},
        Damage{"MissingDigests", "DELETE FROM digests WHERE step = 3",
               "step 3: steps.commands: NULL, expected an integer"},
        Damage{"GapInOrdinals", "DELETE FROM block_events WHERE step = 3 AND ordinal = 0",
               "step 3: block_events.ordinal: 1, expected 0"},
        Damage{"RowNumber", "UPDATE rows SET row = 7 WHERE step = 3 AND scheduled = 0",
               "step 3: rows.row: 0 is missing below 8"},
        Damage{"RowWithoutClass", "UPDATE rows SET row_class = NULL WHERE step = 3",
               "step 3: rows.row_class: NULL, expected an integer"},
        Damage{"Block", "UPDATE block_events SET block = 1000000 WHERE step = 3 AND ordinal = 0",
               "step 3: block_events.block: 1000000, expected 0 to "},
        Damage{
            "HugeNumber", "UPDATE steps SET num_running = 9223372036854775807 WHERE step = 3",
            "step 3: steps.num_running: 9223372036854775807, expected -2147483648 to 2147483647"},
        Damage{"Flag", "UPDATE steps SET budget_overridden = 2 WHERE step = 3",
               "step 3: steps.budget_overridden: 2, expected 0 to 1"},
        Damage{"Group", "UPDATE step_groups SET grp = 40 WHERE step = 3 AND grp = 1",
               "step 3: step_groups.grp: 40, expected 1"},
        Damage{"Elements",
               "UPDATE metadata_arrays SET elements = x'010203' WHERE step = 3 AND ordinal = 0",
               "step 3: metadata_arrays.elements: 3 bytes, expected"},
        Damage{"WriteContent", "UPDATE write_events SET content = 4 WHERE step = 3 AND place = 0",
               "step 3: write_events.content: 4, expected 0 to 3"}),
    [](const auto& damage) { return damage.param.name; });

TEST_F(Reading, UnknownRuleIsAnError) {
  EXPECT_THAT(
      read_after("INSERT INTO findings SELECT session, 3, 0, 'error', 'no-such-rule', 0, 0, 0, 0, "
                 "0, 0, 0, 0, '', 0, 0, 0, 0, 0, '' FROM sessions",
                 3),
      HasSubstr("step 3: findings.rule: 'no-such-rule' is not a rule of this version"));
}

TEST_F(Reading, ASessionThatIsNotThereIsAnError) {
  const auto reader = SessionReader::open({.file = place_.file, .name = "other"});
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().kind, ErrorKind::not_found);
}

TEST_F(Reading, APlanThatCannotBeReadIsAnError) {
  SQLite::Database(place_.file, SQLite::OPEN_READWRITE).exec("UPDATE sessions SET plan = '{'");
  const auto reader = SessionReader::open(place_);
  ASSERT_FALSE(reader.ok());
  EXPECT_THAT(reader.error().message, HasSubstr("runs.db: plan of session 'a run'"));
}

TEST_F(Reading, SeesTheFileAsItWasWhenItWasOpened) {
  const auto reader = open();
  SQLite::Database(place_.file, SQLite::OPEN_READWRITE).exec("DELETE FROM steps WHERE step = 20");
  EXPECT_TRUE(reader->read(20).ok());
  EXPECT_EQ(open()->last_step(), 19);
}

// Level blocks leaves out decisions that change nothing; those that set an accepted count to 1 and
// copy nothing it keeps. In sessions of programs before version 5 it did not.
TEST(OwnCount, IsTheSameAtLevelsBlocksAndFullAndNotKnownWithoutTheResets) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "runs.db";
  for (const std::string& name : test::shipped_scenario_names()) {
    const RunPlan plan = test::shipped_scenario(name);
    if (plan.setup.config.num_speculative_tokens == 0) continue;
    for (const RecordLevel level : {RecordLevel::blocks, RecordLevel::full})
      ASSERT_TRUE(
          test::record_run(
              plan, {.place = {file, name + std::string(record_level_name(level))}, .level = level})
              .ok());
    const auto full = SessionReader::open({file, name + "full"}).value();
    const auto blocks = SessionReader::open({file, name + "blocks"}).value();
    for (std::int64_t step = 1; step <= full->last_step() + 1; ++step)
      for (std::int32_t request = 0; request < full->num_requests(); ++request)
        ASSERT_EQ(blocks->own_count({request}, step), full->own_count({request}, step))
            << name << ", step " << step << ", request " << request;
  }
  test::execute(file, "UPDATE sessions SET keeps_count_resets = 0");
  const std::string name = "starved_request";
  EXPECT_EQ(SessionReader::open({file, name + "blocks"}).value()->own_count({0}, 3), std::nullopt);
  EXPECT_NE(SessionReader::open({file, name + "full"}).value()->own_count({0}, 3), std::nullopt);
}

TEST(OwnCount, IsWhatTheLastOfAllRowsBeforeTheStepLeft) {
  const TemporaryFolder folder;
  for (const std::string& name : shipped_scenario_names()) {
    const SessionPlace place{.file = folder / "runs.db", .name = name};
    ASSERT_TRUE(record_run(shipped_scenario(name), {.place = place}).ok());
    const auto all = SessionReader::open(place).value();
    const auto reader = SessionReader::open(place).value();
    std::map<std::int32_t, OwnCount> last;
    for (std::int64_t step = all->first_step(); step > 0; step = all->step_after(step).value()) {
      const StepTrace& trace = all->read(step).value()->trace;
      for (const RowTrace& row : trace.rows) {
        const auto known = last.find(row.request.value);
        EXPECT_EQ(reader->own_count(row.request, step),
                  known == last.end() ? std::nullopt : std::optional(known->second))
            << name << ", step " << step << ", request " << row.request.value;
      }
      for (std::size_t row = 0; row < trace.rows.size(); ++row)
        last[trace.rows[row].request.value] = own_count_left(trace, row);
    }
  }
}

// B waits until A has ended.
std::unique_ptr<SessionReader> reader_of_a_wait(const TemporaryFolder& folder,
                                                std::int64_t num_tokens_of_a) {
  const SessionPlace place{.file = folder / "runs.db", .name = "a run"};
  const std::string scenario = fmt::format(
      R"({{"version": 1, "model": "tiny-mamba2", "settings": {{"max_num_seqs": 1,
      "block_size": 8, "num_gpu_blocks_override": 128, "max_model_len": 256}}, "requests": [
      {{"id": "A", "prompt": 6, "max_tokens": {}}}, {{"id": "B", "prompt": 6}}]}})",
      num_tokens_of_a);
  const auto plan = plan_scenario(parse_scenario({.text = scenario, .file = "s.json"}).value(), "");
  EXPECT_TRUE(record_run(plan.value(), {.place = place}).ok());
  return SessionReader::open(place).value();
}

// That `work` takes.
std::int64_t sqlite_operations(SessionReader& reader, const std::function<void()>& work) {
  std::int64_t operations = 0;
  sqlite3_progress_handler(
      reader.impl().file.database().getHandle(), 1,
      [](void* count) { return ++*static_cast<std::int64_t*>(count), 0; }, &operations);
  work();
  return operations;
}

std::int64_t admission_of_b(SessionReader& reader) {
  std::int64_t admitted = 0;
  const auto note = [&](const RequestChange& change) {
    if (change.request == RequestId{1} && change.kind == RequestChange::Kind::is_admitted)
      admitted = change.step;
  };
  EXPECT_TRUE(reader.each_request_change(0, note).ok());
  return admitted;
}

std::int64_t sqlite_operations_to_know_counts_after_waiting(std::int64_t num_tokens_of_a) {
  const TemporaryFolder folder;
  const auto reader = reader_of_a_wait(folder, num_tokens_of_a);
  const std::int64_t admitted = admission_of_b(*reader);
  EXPECT_GT(admitted, num_tokens_of_a);
  return sqlite_operations(*reader,
                           [&] { EXPECT_EQ(reader->own_count({1}, admitted), std::nullopt); });
}

// Of a step only the rows of what it admits and what ends in it are read.
TEST(RequestChanges, TakeNoSearchThroughTheStepsBetween) {
  const auto operations = [](std::int64_t num_tokens_of_a) {
    const TemporaryFolder folder;
    const auto reader = reader_of_a_wait(folder, num_tokens_of_a);
    return sqlite_operations(*reader, [&] { admission_of_b(*reader); });
  };
  EXPECT_LT(operations(200), 10 * operations(20));
}

TEST(OwnCount, OfARequestThatHasWaitedTakesNoSearchThroughTheStepsInWhichItWaited) {
  EXPECT_EQ(sqlite_operations_to_know_counts_after_waiting(200),
            sqlite_operations_to_know_counts_after_waiting(20));
}

TEST(OwnCount, TellsThePostCopyThatTheRuleMakesAndTheRowLacked) {
  const TemporaryFolder folder;
  const std::string scenario = R"({"version": 1, "model": "tiny-mamba2", "settings": {
      "mamba_cache_mode": "align", "num_gpu_blocks_override": 32, "block_size": 16,
      "max_model_len": 64, "async_scheduling": false,
      "speculative_config": {"method": "mtp", "num_speculative_tokens": 3},
      "policies": {"backward_post_copy": "suppressed"}},
      "requests": [{"id": "A", "prompt": 14, "max_tokens": 6}],
      "script": [{"step": 2, "accept": {"A": 3}}]})";
  const auto plan = plan_scenario(parse_scenario({.text = scenario, .file = "s.json"}).value(), "");
  for (const RecordLevel level : {RecordLevel::blocks, RecordLevel::full}) {
    const SessionPlace place{.file = folder / "runs.db",
                             .name = std::string(record_level_name(level))};
    ASSERT_TRUE(record_run(plan.value(), {.place = place, .level = level}).ok());
    const auto reader = SessionReader::open(place).value();
    EXPECT_EQ(reader->own_count({0}, 2)->missing_copy, std::nullopt);
    const auto missing = reader->own_count({0}, 3)->missing_copy;
    ASSERT_TRUE(missing.has_value());
    EXPECT_EQ(missing->aligned_new_computed, 16);
    EXPECT_EQ(missing->num_tokens_running_state, 15);
    EXPECT_EQ(missing->dst_col, 0);
  }
}

TEST(EmptySession, HasNoSteps) {
  const TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "empty"};
  const RunPlan plan = shipped_scenario("plain_decode");
  {
    auto writer = SessionWriter::begin(place, header_of(plan, RecordLevel::blocks), {});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer.value()->finish(SessionStatus::stopped, "").ok());
  }
  const auto reader = SessionReader::open(place);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(reader.value()->first_step(), 0);
  EXPECT_EQ(reader.value()->last_step(), 0);
  EXPECT_EQ(reader.value()->next_stamp().value(), nullptr);
}

}  // namespace
}  // namespace hybridscope::test::session_reader_test
