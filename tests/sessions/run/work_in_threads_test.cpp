#include "sessions/run/work_in_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace hybridscope::test::work_in_threads_test {
namespace {

using ::testing::ElementsAre;

using Found = Result<std::optional<std::size_t>>;

TEST(WorkInThreads, DoesEachPieceOnce) {
  for (const std::int32_t threads : {1, 4}) {
    std::vector<std::size_t> taken;
    const auto done = work_in_threads<std::size_t>(
        threads, 5, [](std::size_t i) -> Found { return std::optional(i); },
        [&](std::size_t value) {
          taken.push_back(value);
          return Status(Ok{});
        });
    EXPECT_TRUE(done.value());
    std::ranges::sort(taken);
    EXPECT_THAT(taken, ElementsAre(0, 1, 2, 3, 4));
  }
}

TEST(WorkInThreads, EndsWhenAPieceGivesNothing) {
  std::size_t taken = 0;
  const auto done = work_in_threads<std::size_t>(
      1, 5,
      [](std::size_t i) -> Found {
        if (i == 2) return std::optional<std::size_t>();
        return std::optional(i);
      },
      [&](std::size_t) {
        ++taken;
        return Status(Ok{});
      });
  EXPECT_FALSE(done.value());
  EXPECT_EQ(taken, 2U);
}

TEST(WorkInThreads, AnErrorOfEitherSideIsTheAnswer) {
  const auto fine = [](std::size_t i) -> Found { return std::optional(i); };
  const auto take = [](std::size_t) { return Status(Ok{}); };
  EXPECT_EQ(work_in_threads<std::size_t>(
                3, 50,
                [](std::size_t) -> Found {
                  return Error{ErrorKind::device, "lost"};
                },
                take)
                .error()
                .message,
            "lost");
  EXPECT_EQ(work_in_threads<std::size_t>(3, 50, fine,
                                         [](std::size_t) {
                                           return Status(Error{ErrorKind::io, "full"});
                                         })
                .error()
                .message,
            "full");
}

TEST(WorkInThreads, AnExceptionGoesOnInTheCaller) {
  EXPECT_THROW((void)work_in_threads<std::size_t>(
                   3, 50, [](std::size_t) -> Found { throw std::runtime_error("broken"); },
                   [](std::size_t) { return Status(Ok{}); }),
               std::runtime_error);
}

}  // namespace
}  // namespace hybridscope::test::work_in_threads_test
