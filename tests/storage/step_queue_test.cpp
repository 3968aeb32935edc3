#include "storage/step_queue.h"

#include <gtest/gtest.h>

#include <future>

namespace hybridscope::test::step_queue_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

void push_steps(StepQueue& queue, int count) {
  for (int i = 0; i < count; ++i) queue.push(queue.take_free());
}

TEST(StepQueue, GivesStepsInOrderAndNoMoreThanAskedFor) {
  StepQueue queue({.max_steps = 8, .wake = 3});
  for (const int step : {1, 2, 3}) {
    auto queued = queue.take_free();
    queued->record.trace.step = step;
    queue.push(std::move(queued));
  }
  const StepQueue::Steps first = queue.take(seconds(10), 2);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0]->record.trace.step, 1);
  EXPECT_EQ(first[1]->record.trace.step, 2);
  const StepQueue::Steps rest = queue.take_queued(2);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0]->record.trace.step, 3);
  EXPECT_TRUE(queue.take_queued(2).empty());
}

TEST(StepQueue, AStepAloneIsGivenOnceItHasWaited) {
  StepQueue queue({.max_steps = 8, .wake = 4});
  push_steps(queue, 1);
  EXPECT_EQ(queue.take(milliseconds(20), 8).size(), 1U);
}

TEST(StepQueue, ThePusherWaitsWhileAllAreOnTheirWay) {
  StepQueue queue({.max_steps = 2, .wake = 1});
  push_steps(queue, 2);
  auto pusher = std::async(std::launch::async, [&] { push_steps(queue, 1); });
  // A real delay: only time shows that a thread goes on waiting.
  EXPECT_EQ(pusher.wait_for(milliseconds(50)), std::future_status::timeout);
  queue.give_back(queue.take(seconds(10), 1));
  EXPECT_EQ(pusher.wait_for(seconds(10)), std::future_status::ready);
}

TEST(StepQueue, StorageThatComesBackGoesRound) {
  StepQueue queue({.max_steps = 2, .wake = 1});
  auto queued = queue.take_free();
  const QueuedStep* address = queued.get();
  queue.push(std::move(queued));
  queue.give_back(queue.take(seconds(10), 1));
  EXPECT_EQ(queue.take_free().get(), address);
}

TEST(StepQueue, AfterAFailureNobodyWaits) {
  StepQueue queue({.max_steps = 2, .wake = 1});
  push_steps(queue, 2);
  auto pusher = std::async(std::launch::async, [&] { push_steps(queue, 100); });
  EXPECT_EQ(queue.take(seconds(10), 1).size(), 1U);  // is lost with what the writer met
  queue.fail({ErrorKind::io, "runs.db: disk full"});
  EXPECT_EQ(pusher.wait_for(seconds(10)), std::future_status::ready);
  EXPECT_EQ(queue.failure()->message, "runs.db: disk full");
  EXPECT_TRUE(queue.take_queued(8).empty());
}

TEST(StepQueue, ClosedItGivesWhatIsLeftThenNone) {
  StepQueue queue({.max_steps = 8, .wake = 4});
  push_steps(queue, 2);
  queue.close();
  EXPECT_EQ(queue.take(seconds(10), 8).size(), 2U);
  EXPECT_TRUE(queue.take(seconds(10), 8).empty());
}

}  // namespace
}  // namespace hybridscope::test::step_queue_test
