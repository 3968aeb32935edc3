// Who wrote what a block holds, from the session file alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "storage/reader_impl.h"
#include "storage/session_reader.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::write_history_test {
namespace {

using testing::HasSubstr;

// The last write of each content, as the checker's memory has it after each step.
struct Held {
  std::int64_t step = 0;
  std::int32_t block = 0;
  ContentKind content = ContentKind::none;
  WriteEvent event;
};

std::vector<Held> held_after(std::int64_t step, const SymbolicState& state) {
  std::vector<Held> held;
  for (std::int32_t block = 1; block < state.num_blocks(); ++block) {
    held.push_back({step, block, ContentKind::temporal, state.temporal(block).event});
    held.push_back({step, block, ContentKind::conv, state.conv_event(block)});
    held.push_back({step, block, ContentKind::attention, state.attention(block).event});
  }
  return held;
}

class WriteHistoryOf : public testing::TestWithParam<const char*> {};

TEST_P(WriteHistoryOf, LastWriteIsTheOneTheCheckerKnows) {
  const TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "run"};
  std::vector<Held> held;
  ASSERT_TRUE(record_run(shipped_scenario(GetParam()),
                         {.place = place,
                          .watch =
                              [&](const StepRecord& record, const CheckState& state) {
                                const auto now = held_after(record.trace.step, state.state);
                                held.insert(held.end(), now.begin(), now.end());
                              }})
                  .ok());
  const auto reader = SessionReader::open(place).value();
  int num_written = 0;
  for (const Held& one : held) {
    const StateWrite found = last_write(*reader, one.block, one.content, one.step);
    num_written += one.event.kind == WriteKind::never ? 0 : 1;
    EXPECT_EQ(found.event, one.event) << "block " << one.block << " after step " << one.step;
  }
  EXPECT_GT(num_written, 10);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, WriteHistoryOf,
                         testing::Values("align_boundary_by_accepted_drafts",
                                         "eviction_under_pressure", "preemption_and_resume",
                                         "v2_slots"),
                         [](const auto& scenario) { return std::string(scenario.param); });

TEST(WriteChain, GoesFromACopyToWhatWasCopied) {
  const TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "run"};
  ASSERT_TRUE(
      record_run(shipped_scenario("align_boundary_by_accepted_drafts"), {.place = place}).ok());
  const auto reader = SessionReader::open(place).value();
  int num_chains = 0;
  for (std::int64_t step = 1; step <= reader->last_step(); ++step) {
    const StepRecord record = *reader->read(step).value();
    for (const StateWrite& write : record.writes) {
      if (write.content != ContentKind::temporal) continue;
      const auto chain = reader->write_chain(write.block, write.content, step).value().writes;
      ASSERT_FALSE(chain.empty());
      // A copy holds the very state that it was made from, a forward pass goes on from one of fewer
      // tokens; what wrote that is earlier.
      for (std::size_t i = 1; i < chain.size(); ++i) {
        const bool is_copy = chain[i - 1].event.kind == WriteKind::pre_copy ||
                             chain[i - 1].event.kind == WriteKind::post_copy;
        EXPECT_EQ(chain[i].fingerprint == chain[i - 1].fingerprint, is_copy);
        EXPECT_LE(chain[i].event.step, chain[i - 1].event.step);
      }
      EXPECT_EQ(chain.back().event.kind, WriteKind::prefill);
      num_chains += chain.size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(num_chains, 0);
}

// What SQLite has read so far: the pages that it found in its cache, and those that it did not.
int pages_read(SessionReader& reader) {
  sqlite3* const database = reader.impl().context.database;
  int hits = 0;
  int misses = 0;
  int unused = 0;
  sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_HIT, &hits, &unused, 1);
  sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_MISS, &misses, &unused, 1);
  return hits + misses;
}

// Many blocks were written or given out again after those that are looked up.
TEST(WriteHistory, LookingABlockUpReadsNoOtherBlocksHistory) {
  const TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "run"};
  ASSERT_TRUE(record_run(synthetic_run(40), {.place = place}).ok());
  const auto reader = SessionReader::open(place).value();
  const std::int64_t last = reader->last_step();
  ASSERT_GT(last, 100);
  int most = 0;
  for (std::int32_t block = 0; block < 200; ++block)
    for (const ContentKind content :
         {ContentKind::temporal, ContentKind::conv, ContentKind::attention}) {
      pages_read(*reader);
      (void)last_write(*reader, block, content, last);
      most = std::max(most, pages_read(*reader));
    }
  EXPECT_LT(most, 40);  // down three search trees
}

TEST(WriteChain, NeedsLevelFull) {
  const TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "run"};
  ASSERT_TRUE(
      record_run(shipped_scenario("plain_decode"), {.place = place, .level = RecordLevel::blocks})
          .ok());
  const auto reader = SessionReader::open(place).value();
  const auto chain = reader->write_chain(1, ContentKind::temporal, 2);
  ASSERT_FALSE(chain.ok());
  EXPECT_EQ(chain.error().kind, ErrorKind::invalid_input);
  EXPECT_THAT(chain.error().message, HasSubstr("level blocks"));
}

}  // namespace
}  // namespace hybridscope::test::write_history_test
