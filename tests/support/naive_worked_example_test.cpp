// Checks the table of the worked example number by number, for synchronous and asynchronous
// scheduling (semantics: async-worked-example).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/naive_bench.h"

namespace hybridscope::test::naive_worked_example_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Lists = std::vector<std::vector<int>>;

constexpr int A = 0;
constexpr int B = 1;

// Request, reported c, q and reported new ids [attention][mamba].
struct Scheduled {
  int request = -1;
  int c = 0;
  int q = 0;
  Lists new_block_ids;
  friend bool operator==(const Scheduled&, const Scheduled&) = default;
};

std::ostream& operator<<(std::ostream& out, const Scheduled& entry) {
  return out << "request " << entry.request << " c " << entry.c << " q " << entry.q << " new "
             << ::testing::PrintToString(entry.new_block_ids);
}

std::vector<Scheduled> scheduled(const NaiveStep& step) {
  std::vector<Scheduled> result;
  for (const NaiveScheduled& entry : step.scheduled)
    result.push_back({entry.request, entry.num_computed_tokens, entry.num_scheduled_tokens,
                      entry.new_block_ids});
  return result;
}

// c, known, ph of A after a schedule.
std::vector<int> after_schedule(const NaiveStep& step) {
  const NaiveScheduled& entry = step.scheduled.at(0);
  return {entry.num_computed_tokens + entry.num_scheduled_tokens, entry.num_tokens,
          entry.num_output_placeholders + 1 + entry.num_draft_tokens};
}

// c, known, ph of A after an update.
std::vector<int> after_update(const NaiveStep& step) {
  const NaiveCommitted& entry = step.committed.at(0);
  return {entry.num_computed_tokens, entry.num_tokens, entry.num_output_placeholders};
}

std::vector<int> last_of(const std::vector<int>& list, int count) {
  return {list.end() - count, list.end()};
}

// A: prompt 7, a = 1, 1, 2, 3, 1. B: prompt 5, max_tokens 4, a = 1, 3.
std::vector<NaiveStep> five_frames(bool async_scheduling, NaiveRunner runner) {
  Bench bench;
  bench.config.block_size = 4;
  bench.config.num_blocks = 24;
  bench.config.num_speculative_tokens = 2;
  bench.config.use_eagle = true;
  bench.config.max_num_batched_tokens = 16;
  bench.config.async_scheduling = async_scheduling;
  bench.config.runner = runner;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(7), .max_tokens = 50});
  engine.add_request({.prompt = prompt_of(5, 100), .max_tokens = 4});
  bench.accepted[B] = 3;
  std::vector<NaiveStep> steps;
  for (const int accepted : {1, 1, 2, 3, 1}) {
    bench.accepted[A] = accepted;
    steps.push_back(engine.step());
    EXPECT_THAT(texts(steps.back()), IsEmpty());
  }
  return steps;
}

TEST(NaiveWorkedExample, SynchronousScheduling) {
  const std::vector<NaiveStep> steps = five_frames(false, NaiveRunner::v1);
  EXPECT_THAT(scheduled(steps[0]), ElementsAre(Scheduled{A, 0, 7, Lists{{1, 2, 3}, {0, 4, 5, 6}}},
                                               Scheduled{B, 0, 5, Lists{{7, 8}, {0, 9, 10, 11}}}));
  EXPECT_THAT(steps[0].hashed, ElementsAre(1, 7));
  EXPECT_THAT(scheduled(steps[1]), ElementsAre(Scheduled{A, 7, 3, Lists{{}, {12}}},
                                               Scheduled{B, 5, 3, Lists{{13}, {}}}));
  EXPECT_THAT(steps[1].finished, ElementsAre(B));
  EXPECT_THAT(steps[1].free_queue,
              ElementsAre(11, 10, 9, 13, 8, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 7));
  EXPECT_THAT(scheduled(steps[2]), ElementsAre(Scheduled{A, 8, 3, Lists{{11}, {}}}));
  EXPECT_THAT(scheduled(steps[3]), ElementsAre(Scheduled{A, 10, 3, Lists{{}, {10}}}));
  EXPECT_THAT(scheduled(steps[4]), ElementsAre(Scheduled{A, 13, 3, Lists{{9}, {}}}));
  EXPECT_EQ(steps[2].scheduled[0].block_ids, (Lists{{1, 2, 3, 11}, {0, 4, 5, 6, 12}}));
  EXPECT_EQ(steps[4].scheduled[0].block_ids, (Lists{{1, 2, 3, 11, 9}, {0, 0, 5, 6, 12, 10}}));
  EXPECT_EQ(steps[4].scheduled[0].worker_table.at(1), (std::vector<int>{0, 4, 5, 6, 12, 10}));
  for (const NaiveStep& step : steps) EXPECT_EQ(step.committed_frame, step.step);
}

TEST(NaiveWorkedExample, AsynchronousScheduling) {
  const std::vector<NaiveStep> steps = five_frames(true, NaiveRunner::v1);
  EXPECT_THAT(scheduled(steps[0]), ElementsAre(Scheduled{A, 0, 7, Lists{{1, 2, 3}, {0, 4, 5, 6}}},
                                               Scheduled{B, 0, 5, Lists{{7, 8}, {0, 9, 10, 11}}}));
  EXPECT_THAT(steps[0].hashed, ElementsAre(1, 7));
  EXPECT_EQ(steps[0].committed_frame, std::nullopt);
  EXPECT_THAT(scheduled(steps[1]), ElementsAre(Scheduled{A, 7, 3, Lists{{}, {12}}},
                                               Scheduled{B, 5, 3, Lists{{13}, {}}}));
  EXPECT_EQ(steps[1].scheduled[1].num_output_placeholders, 1);
  EXPECT_THAT(after_schedule(steps[1]), ElementsAre(10, 7, 4));
  EXPECT_EQ(steps[1].committed_frame, 0);
  EXPECT_THAT(after_update(steps[1]), ElementsAre(10, 8, 3));

  EXPECT_THAT(scheduled(steps[2]), ElementsAre(Scheduled{A, 10, 3, Lists{{14}, {15}}},
                                               Scheduled{B, 8, 3, Lists{{16}, {17}}}));
  EXPECT_EQ(steps[2].scheduled[0].block_ids.at(1), (std::vector<int>{0, 4, 5, 6, 12, 15}));
  EXPECT_THAT(after_schedule(steps[2]), ElementsAre(13, 8, 6));
  EXPECT_THAT(steps[2].finished, ElementsAre(B));
  EXPECT_THAT(steps[2].free_queue,
              ElementsAre(17, 11, 10, 16, 13, 18, 19, 20, 21, 22, 23, 8, 7, 9));
  EXPECT_THAT(steps[2].hashed_after_schedule, ElementsAre(1, 2, 4, 7));
  EXPECT_THAT(steps[2].hashed, ElementsAre(1, 2, 4, 7, 8, 9));
  EXPECT_THAT(after_update(steps[2]), ElementsAre(11, 9, 3));

  EXPECT_THAT(scheduled(steps[3]), ElementsAre(Scheduled{A, 11, 3, Lists{{}, {}}}));
  EXPECT_THAT(after_schedule(steps[3]), ElementsAre(14, 9, 6));
  EXPECT_EQ(steps[3].scheduled[0].block_ids.at(1), (std::vector<int>{0, 0, 5, 6, 12, 15}));
  EXPECT_THAT(last_of(steps[3].free_queue, 1), ElementsAre(4));
  EXPECT_THAT(after_update(steps[3]), ElementsAre(13, 11, 3));
  EXPECT_EQ(steps[3].committed.at(1).result, NaiveReturn::left);

  EXPECT_THAT(scheduled(steps[4]), ElementsAre(Scheduled{A, 13, 3, Lists{{17}, {}}}));
}

// The table's "Worker, A, identical in both": here also for both runners.
class NaiveWorkedExampleWorker : public ::testing::TestWithParam<std::tuple<bool, NaiveRunner>> {};

TEST_P(NaiveWorkedExampleWorker, FollowsTheExactCount) {
  const auto [async_scheduling, runner] = GetParam();
  const std::vector<NaiveStep> steps = five_frames(async_scheduling, runner);
  std::vector<int> exact;
  std::vector<int> columns;
  std::vector<int> given;
  std::vector<int> after;
  std::vector<std::vector<NaiveCopy>> copies;
  for (const NaiveStep& step : steps) {
    const NaiveBatchRow& row = *std::find_if(step.rows.begin(), step.rows.end(),
                                             [](const auto& entry) { return entry.request == A; });
    exact.push_back(row.num_computed_tokens);
    columns.push_back(row.state_column);
    given.push_back(row.num_accepted_given);
    after.push_back(row.num_accepted_after);
    copies.emplace_back();
    for (const NaiveCopy& copy : step.copies)
      if (copy.request == A) copies.back().push_back(copy);
  }
  EXPECT_THAT(exact, ElementsAre(0, 7, 8, 10, 13));
  EXPECT_THAT(columns, ElementsAre(1, 2, 2, 3, 3));
  EXPECT_THAT(given, ElementsAre(1, 1, 1, 1, 3));
  EXPECT_THAT(after, ElementsAre(1, 1, 2, 3, 1));
  EXPECT_THAT(copies[1], ElementsAre(NaiveCopy{NaiveCopyKind::pre, A, 1, 2, 0},
                                     NaiveCopy{NaiveCopyKind::post, A, 2, 1, 0}));
  EXPECT_THAT(copies[2], IsEmpty());
  EXPECT_THAT(copies[3], ElementsAre(NaiveCopy{NaiveCopyKind::pre, A, 2, 3, 1},
                                     NaiveCopy{NaiveCopyKind::post, A, 3, 2, 1}));
  EXPECT_THAT(copies[4], IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Engines, NaiveWorkedExampleWorker,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(NaiveRunner::v1, NaiveRunner::v2)),
                         [](const auto& param_info) {
                           return std::string(std::get<0>(param_info.param) ? "async" : "sync") +
                                  (std::get<1>(param_info.param) == NaiveRunner::v1 ? "_v1"
                                                                                    : "_v2");
                         });

}  // namespace
}  // namespace hybridscope::test::naive_worked_example_test
