// What the blocks of a session held at any step, from the session file alone.

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "storage/held_blocks.h"
#include "storage/session_reader.h"
#include "storage/step_history.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/property.h"

namespace hybridscope::test::held_blocks_test {
namespace {

using testing::HasSubstr;

constexpr BlockLimits kLimits = {.num_groups = 2, .num_blocks = 16};

StateWrite write_to(std::int32_t block, ContentKind content, std::int32_t num_tokens) {
  return {.event = {.kind = WriteKind::prefill,
                    .step = 3,
                    .ordinal = 7,
                    .request = {4},
                    .num_tokens = num_tokens},
          .content = content,
          .block = block,
          .fingerprint = 0xfedcba9876543210};
}

CacheEvent registered(std::int32_t block, std::int32_t num_tokens) {
  return {.kind = CacheEventKind::registered,
          .group = 1,
          .request = {2},
          .block = block,
          .num_tokens = num_tokens,
          .block_hash = 99};
}

std::vector<std::int32_t> label_tokens(const HeldBlock& block) {
  std::vector<std::int32_t> tokens;
  for (const RegisteredLabel& label : block.labels) tokens.push_back(label.num_tokens);
  return tokens;
}

TEST(HeldBlocks, KeepTheLastWriteOfEachContentUntilTheBlockIsGivenOut) {
  HeldBlocks blocks(16);
  blocks.apply(write_to(5, ContentKind::temporal, 8));
  blocks.apply(write_to(5, ContentKind::conv, 8));
  blocks.apply(write_to(5, ContentKind::temporal, 9));
  EXPECT_EQ(blocks.at(5).temporal.event.num_tokens, 9);
  EXPECT_EQ(blocks.at(5).conv.event.num_tokens, 8);
  EXPECT_EQ(blocks.at(5).attention.event.kind, WriteKind::never);
  EXPECT_EQ(blocks.num_held(), 2);
  blocks.apply(CacheEvent{.kind = CacheEventKind::allocated, .request = {}, .block = 5}, 4);
  EXPECT_EQ(blocks.at(5), HeldBlock());
}

TEST(HeldBlocks, AWithdrawnPrefixLeavesTheFirstOneAndThoseOfOtherLengths) {
  HeldBlocks blocks(16);
  for (const std::int32_t num_tokens : {24, 20, 22}) blocks.apply(registered(5, num_tokens), 6);
  blocks.apply({.kind = CacheEventKind::withdrawn, .request = {}, .block = 5, .num_tokens = 20}, 7);
  EXPECT_THAT(label_tokens(blocks.at(5)), testing::ElementsAre(24, 22));
  blocks.apply({.kind = CacheEventKind::withdrawn, .request = {}, .block = 5, .num_tokens = 24}, 7);
  EXPECT_THAT(label_tokens(blocks.at(5)), testing::ElementsAre(24, 22));
  blocks.apply({.kind = CacheEventKind::evicted, .request = {}, .block = 5}, 8);
  EXPECT_THAT(label_tokens(blocks.at(5)), testing::IsEmpty());
}

HeldBlocks some_blocks() {
  HeldBlocks blocks(16);
  blocks.apply(registered(5, 24), 6);
  blocks.apply(registered(5, 20), 6);
  blocks.apply(write_to(15, ContentKind::temporal, 8));
  blocks.apply(write_to(15, ContentKind::conv, -3));
  blocks.apply(write_to(2, ContentKind::attention, 100000));
  return blocks;
}

TEST(BlockKeyframe, GivesBackTheBlocks) {
  const HeldBlocks blocks = some_blocks();
  const auto decoded = decode_blocks(encode_blocks(blocks), kLimits, 5);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  for (std::int32_t block = 0; block < 16; ++block)
    EXPECT_EQ(decoded.value().at(block), blocks.at(block)) << block;
  EXPECT_EQ(decoded.value().at(15).temporal.fingerprint, 0xfedcba9876543210);
}

TEST(BlockKeyframe, BlocksBeyondWhatTheSessionHasAreAnError) {
  const auto blob = encode_blocks(some_blocks());
  EXPECT_FALSE(decode_blocks(blob, kLimits, 4).ok());  // request 4
  EXPECT_FALSE(decode_blocks(blob, {.num_groups = 2, .num_blocks = 15}, 5).ok());
  EXPECT_FALSE(decode_blocks(blob, {.num_groups = 1, .num_blocks = 16}, 5).ok());
  EXPECT_FALSE(decode_blocks({}, kLimits, 5).ok());
  EXPECT_EQ(decode_blocks(blob, kLimits, 4).error().kind, ErrorKind::corrupt);
}

TEST(BlockKeyframe, DamagedBytesAreAnErrorOrBlocksThatFit) {
  const auto blob = encode_blocks(some_blocks());
  check_property(300, [&] {
    auto damaged = blob;
    for (std::int32_t i = draw(1, 3); i > 0; --i)
      damaged[static_cast<std::size_t>(draw(0, static_cast<std::int32_t>(blob.size()) - 1))] =
          static_cast<std::uint8_t>(draw(0, 255));
    const auto decoded = decode_blocks(damaged, kLimits, 5);
    if (!decoded.ok()) return;
    for (std::int32_t block = 0; block < 16; ++block)
      for (const RegisteredLabel& label : decoded.value().at(block).labels)
        RC_ASSERT(label.request.value < 5 && label.group < 2);
  });
}

// Tokens of the prefixes that a block is registered as, the first registration first.
std::vector<std::int32_t> registered_tokens(const CheckState& state, std::int32_t block) {
  std::vector<std::int32_t> tokens;
  if (const BlockLabel& first = state.labels[static_cast<std::size_t>(block)]; first.registered)
    tokens.push_back(first.num_tokens);
  for (const auto& [labelled, label] : state.more_labels)
    if (labelled == block) tokens.push_back(label.num_tokens);
  return tokens;
}

// In step 6 block 5 is full: it gets the key of 24 tokens and, again, that of 20, where the prompt
// ended inside it.
TEST(HeldBlocksOfASession, LabelsAreThoseTheCheckerKnows) {
  const TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "run"};
  std::map<std::pair<std::int64_t, std::int32_t>, std::vector<std::int32_t>> expected;
  ASSERT_TRUE(
      record_run(shipped_scenario("../tests/gui/data/hits_inside_blocks"),
                 {.place = place,
                  .level = RecordLevel::blocks,
                  .watch =
                      [&](const StepRecord& record, const CheckState& state) {
                        for (std::int32_t block = 1; block < 32; ++block)
                          expected[{record.trace.step, block}] = registered_tokens(state, block);
                      }})
          .ok());
  const auto reader = SessionReader::open(place).value();
  for (const auto& [at, tokens] : expected)
    EXPECT_EQ(label_tokens(reader->held_blocks(at.first).value()->at(at.second)), tokens)
        << "step " << at.first << " block " << at.second;
  EXPECT_THAT((expected[{6, 5}]), testing::ElementsAre(24, 20));
}

// Some hundred steps, enough writes for several keyframes.
class LongHeldSession : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(record_run(synthetic_run(40), {.place = place_}).ok()); }
  void execute(const std::string& sql) {
    SQLite::Database(place_.file, SQLite::OPEN_READWRITE).exec(sql);
  }
  TemporaryFolder folder_;
  SessionPlace place_{.file = folder_ / "runs.db", .name = "run"};
};

TEST_F(LongHeldSession, BlocksHoldTheLastWriteInAnyOrderOfSteps) {
  ASSERT_GE(query_number(place_.file, "SELECT count(*) FROM block_keyframes"), 2);
  const auto reader = SessionReader::open(place_).value();
  const auto last = static_cast<std::int32_t>(reader->last_step());
  int num_written = 0;
  check_property(40, [&] {
    const std::int64_t step = draw(1, last);
    const HeldBlocks* held = reader->held_blocks(step).value();
    const std::int32_t block = draw(1, 200);
    for (const auto& [content, now] :
         {std::pair{ContentKind::temporal, held->at(block).temporal},
          std::pair{ContentKind::conv, held->at(block).conv},
          std::pair{ContentKind::attention, held->at(block).attention}}) {
      const StateWrite write = last_write(*reader, block, content, step);
      RC_ASSERT(now.event == write.event);
      RC_ASSERT(now.fingerprint == write.fingerprint);
      num_written += write.event.kind == WriteKind::never ? 0 : 1;
    }
  });
  EXPECT_GT(num_written, 5);
}

TEST_F(LongHeldSession, WithoutKeyframesTheBlocksHoldTheSame) {
  const auto reader = SessionReader::open(place_).value();
  const std::int64_t last = reader->last_step();
  const HeldBlocks with = *reader->held_blocks(last).value();
  execute("DELETE FROM block_keyframes");
  const auto again = SessionReader::open(place_).value();
  const HeldBlocks* without = again->held_blocks(last).value();
  for (std::int32_t block = 0; block < with.num_blocks(); ++block)
    ASSERT_EQ(without->at(block), with.at(block)) << block;
}

TEST_F(LongHeldSession, ADamagedKeyframeIsAnErrorThatNamesItsStep) {
  execute("UPDATE block_keyframes SET blocks = x'28b52ffd00'");
  const auto reader = SessionReader::open(place_).value();
  const auto held = reader->held_blocks(reader->last_step());
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.error().kind, ErrorKind::corrupt);
  EXPECT_THAT(held.error().message, HasSubstr("block_keyframes.blocks: the keyframe is damaged"));
  EXPECT_TRUE(reader->held_blocks(1).ok());
}

// Who wrote what a block holds, from the session file alone.

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

}  // namespace hybridscope::test::held_blocks_test
