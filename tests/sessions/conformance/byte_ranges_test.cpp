#include "sessions/conformance/vector_memory.h"

#include <gtest/gtest.h>

namespace hybridscope::byte_ranges_test {
namespace {

ByteRange read(std::size_t owner, std::int64_t begin, std::int64_t end) {
  return {.buffer = 0, .begin = begin, .end = end, .owner = owner, .written = false};
}

ByteRange write(std::size_t owner, std::int64_t begin, std::int64_t end) {
  return {.buffer = 0, .begin = begin, .end = end, .owner = owner, .written = true};
}

TEST(ByteRanges, ConflictWhenOneCopyWritesWhatAnotherReads) {
  EXPECT_TRUE(ranges_conflict({read(0, 0, 8), write(0, 8, 16), read(1, 12, 20)}));
}

TEST(ByteRanges, ConflictWhenTwoCopiesWriteTheSameByte) {
  EXPECT_TRUE(ranges_conflict({write(0, 0, 8), write(1, 7, 9)}));
}

TEST(ByteRanges, ReadingTheSameBytesIsNoConflict) {
  EXPECT_FALSE(ranges_conflict({read(0, 0, 8), read(1, 0, 8)}));
}

TEST(ByteRanges, ACopyMayOverlapItself) {
  EXPECT_FALSE(ranges_conflict({read(0, 4, 12), write(0, 0, 8)}));
}

TEST(ByteRanges, TouchingRangesAndEmptyOnesAreNoConflict) {
  EXPECT_FALSE(ranges_conflict({write(0, 0, 8), write(1, 8, 16), write(2, 4, 4)}));
}

TEST(ByteRanges, BuffersAreApart) {
  ByteRange other = write(1, 0, 8);
  other.buffer = 1;
  EXPECT_FALSE(ranges_conflict({write(0, 0, 8), other}));
}

TEST(ByteRanges, ALongRangeConflictsBehindShortOnes) {
  EXPECT_TRUE(ranges_conflict({write(0, 0, 100), read(1, 200, 201), read(2, 99, 100)}));
}

}  // namespace
}  // namespace hybridscope::byte_ranges_test
