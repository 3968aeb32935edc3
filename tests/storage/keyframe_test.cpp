#include "storage/keyframe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/storage/record_lines.h"
#include "tests/support/property.h"

namespace hybridscope::test::keyframe_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
}  // namespace hybridscope::test::keyframe_test
