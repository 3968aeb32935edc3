// The worked examples of docs/semantics/runner.md that go through the whole engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/engine/engine.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::worked_examples_test {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

constexpr RequestId A{0}, B{1};

Ids scheduler_list(const Engine& engine, RequestId request, std::int32_t group) {
  const auto ids = engine.kv_cache().block_ids(request, group);
  return {ids.begin(), ids.end()};
}

// The first `columns` columns of the request's row in the worker's table.
Ids worker_row(const StepTrace& trace, RequestId request, std::int32_t group,
               std::int32_t columns) {
  Ids ids;
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    if (trace.rows[r].request == request)
      for (std::int32_t column = 0; column < columns; ++column)
        ids.push_back(trace.groups[static_cast<std::size_t>(group)].block_table.at(
            static_cast<std::int32_t>(r), column));
  return ids;
}

// One mamba group, B = 4, K = 2; the running column goes from 1 to 3
// (semantics: worker-block-table).
TEST(WorkedExamples, TheWorkerKeepsWhatTheSchedulerMovesAway) {
  Engine engine =
      Engine::create(
          engine_config({.block_size = 4, .num_speculative_tokens = 2, .num_attention_groups = 0}))
          .value();
  engine.add_request(request_of(14, 9, 1)).value();
  engine.apply(SetStepBudget{8}).value();
  EXPECT_THAT(worker_row(engine.step(), A, 0, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(scheduler_list(engine, A, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(worker_row(engine.step(), A, 0, 6), ElementsAre(0, 1, 2, 3, 2, 4));
  EXPECT_THAT(scheduler_list(engine, A, 0), ElementsAre(0, 1, 0, 3, 2, 4));
}

// What the example lists for one request and frame (semantics: async-worked-example).
struct Part {
  std::int32_t c = 0;
  std::int32_t q = 0;
  Ids new_attention = {};
  Ids new_mamba = {};
  friend bool operator==(const Part&, const Part&) = default;
};

void PrintTo(const Part& part, std::ostream* out) {
  *out << "c " << part.c << " q " << part.q << " new " << testing::PrintToString(part.new_attention)
       << testing::PrintToString(part.new_mamba);
}

struct CopyText {
  bool post = false;
  std::int32_t src_col = -1;
  std::int32_t dst_col = -1;
  std::int32_t bias = -1;
  friend bool operator==(const CopyText&, const CopyText&) = default;
};

EngineConfig example_config(bool asynchronous) {
  EngineConfig config = engine_config({.block_size = 4,
                                       .num_speculative_tokens = 2,
                                       .num_blocks = 24,
                                       .max_num_batched_tokens = 16});
  config.async_scheduling = asynchronous;
  return config;
}

// Align, B = 4, K = 2, an attention and a mamba group, 24 blocks, budget 16
// (semantics: async-worked-example).
// A: prompt 7, a = 1,1,2,3,1. B: prompt 5, 4 output tokens, a = 1,3.
class WorkedExample : public testing::Test {
 protected:
  explicit WorkedExample(bool asynchronous) : run_(example_config(asynchronous)) {
    run_.add(request_of(7, 9, 1));
    run_.add(request_of(5, 4, 2));
  }

  const StepTrace& frame(std::int32_t a_of_A, std::int32_t a_of_B = 0) {
    for (const RequestId request : {A, B})
      for (const std::int32_t group : {0, 1})
        before_[request.value][group] = length(request, group);
    run_.engine().apply(SetAcceptedTokens{A, a_of_A}).value();
    if (a_of_B > 0) run_.engine().apply(SetAcceptedTokens{B, a_of_B}).value();
    return trace_ = &run_.step(), *trace_;
  }

  std::size_t length(RequestId request, std::int32_t group) {
    return run_.engine().kv_cache().block_ids(request, group).size();
  }

  // New ids are read from the worker's rows, which the engine only appends to.
  Part part(RequestId request, Ids lengths) const {
    for (const ScheduledTrace& s : trace_->scheduled) {
      if (s.request != request) continue;
      Part result{.c = s.num_computed_tokens, .q = s.num_scheduled_tokens};
      for (const std::int32_t group : {0, 1}) {
        Ids ids = worker_row(*trace_, request, group, lengths[static_cast<std::size_t>(group)]);
        const std::size_t first = before_[request.value][group];
        (group == 0 ? result.new_attention : result.new_mamba)
            .assign(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
      }
      return result;
    }
    return {};
  }

  std::vector<CopyText> copies(RequestId request) const {
    std::vector<CopyText> result;
    for (const CopyLaunch* launch : {&trace_->pre_copies, &trace_->post_copies})
      for (const CopyDecisionTrace& entry : launch->decisions)
        if (entry.request == request && entry.decision.copies())
          result.push_back({launch == &trace_->post_copies, entry.decision.src_col,
                            entry.decision.dst_col, entry.decision.accept_token_bias});
    return result;
  }

  std::int32_t running_column(RequestId request) const {
    for (const CopyDecisionTrace& entry : trace_->pre_copies.decisions)
      if (entry.request == request) return entry.decision.dst_col;
    return -1;
  }

  Ids hashed() {
    const BlockPool& pool = run_.engine().kv_cache().pool();
    Ids ids;
    for (std::int32_t block = 1; block < pool.num_blocks(); ++block)
      if (pool.key(block).block_hash != 0) ids.push_back(block);
    return ids;
  }

  CheckedEngine run_;
  const StepTrace* trace_ = nullptr;
  std::size_t before_[2][2] = {};
};

class SyncExample : public WorkedExample {
 protected:
  SyncExample() : WorkedExample(false) {}
};

TEST_F(SyncExample, BlockIdsHashesAndCopiesOfFiveFrames) {
  frame(1, 1);
  EXPECT_EQ(part(A, {3, 4}), (Part{0, 7, {1, 2, 3}, {0, 4, 5, 6}}));
  EXPECT_EQ(part(B, {2, 4}), (Part{0, 5, {7, 8}, {0, 9, 10, 11}}));
  EXPECT_THAT(hashed(), ElementsAre(1, 7));
  EXPECT_EQ(running_column(A), 1);

  frame(1, 3);
  EXPECT_EQ(part(A, {3, 5}), (Part{7, 3, {}, {12}}));
  EXPECT_EQ(part(B, {3, 4}), (Part{5, 3, {13}, {}}));
  EXPECT_EQ(running_column(A), 2);
  EXPECT_THAT(copies(A), ElementsAre(CopyText{false, 1, 2, 0}, CopyText{true, 2, 1, 0}));
  const auto queue = run_.engine().kv_cache().pool().free_queue();
  EXPECT_THAT(Ids(queue.begin(), queue.begin() + 5), ElementsAre(11, 10, 9, 13, 8));
  EXPECT_EQ(queue.back(), 7);
  EXPECT_THAT(hashed(), ElementsAre(1, 2, 4, 7));

  frame(2);
  EXPECT_EQ(part(A, {4, 5}), (Part{8, 3, {11}, {}}));
  EXPECT_EQ(trace_->scheduled.size(), 1U);
  EXPECT_EQ(running_column(A), 2);
  EXPECT_TRUE(copies(A).empty());
  EXPECT_THAT(hashed(), ElementsAre(1, 2, 4, 7));

  frame(3);
  EXPECT_EQ(part(A, {4, 6}), (Part{10, 3, {}, {10}}));
  EXPECT_EQ(running_column(A), 3);
  EXPECT_THAT(copies(A), ElementsAre(CopyText{false, 2, 3, 1}, CopyText{true, 3, 2, 1}));
  EXPECT_EQ(trace_->pre_copies.copies.front().temporal_src_block, 6);
  EXPECT_EQ(trace_->post_copies.copies.front().dst_block, 5);
  EXPECT_THAT(hashed(), ElementsAre(1, 2, 4, 7));

  frame(1);
  EXPECT_EQ(part(A, {5, 6}), (Part{13, 3, {9}, {}}));
  EXPECT_EQ(running_column(A), 3);
  EXPECT_TRUE(copies(A).empty());
  EXPECT_EQ(trace_->rows.front().num_accepted_tokens, 3);
  EXPECT_EQ(run_.engine().kv_cache().block_ids(A, 1)[1], 0);
  EXPECT_THAT(hashed(), ElementsAre(1, 2, 3, 4, 5, 7));
  EXPECT_TRUE(run_.findings().empty());
}

// c / known / placeholders
using Counts = std::array<std::int32_t, 3>;

class AsyncExample : public WorkedExample {
 protected:
  AsyncExample() : WorkedExample(true) {}

  Counts scheduled_counts(RequestId request) const {
    for (const ScheduledTrace& s : trace_->scheduled)
      if (s.request == request)
        return {s.num_computed_tokens + s.num_scheduled_tokens, s.num_tokens,
                s.num_output_placeholders + (s.samples() ? 1 + s.num_draft_tokens : 0)};
    return {};
  }
  Counts committed_counts(RequestId request) const {
    for (const CommitTrace& commit : trace_->committed)
      if (commit.request == request)
        return {commit.num_computed_tokens, commit.num_tokens, commit.num_output_placeholders};
    return {};
  }
  std::int32_t exact_c(RequestId request) const {
    for (const RowTrace& row : trace_->rows)
      if (row.request == request) return row.num_computed_tokens;
    return -1;
  }
};

TEST_F(AsyncExample, OptimisticAtTheSchedulerExactInTheRows) {
  frame(1, 1);  // S1
  EXPECT_EQ(part(A, {3, 4}), (Part{0, 7, {1, 2, 3}, {0, 4, 5, 6}}));
  EXPECT_EQ(part(B, {2, 4}), (Part{0, 5, {7, 8}, {0, 9, 10, 11}}));
  EXPECT_EQ(trace_->committed_step, 0);
  EXPECT_THAT(hashed(), ElementsAre(1, 7));
  EXPECT_EQ(running_column(A), 1);

  frame(1, 3);  // S2, U1
  EXPECT_EQ(part(A, {3, 5}), (Part{7, 3, {}, {12}}));
  EXPECT_EQ(part(B, {3, 4}), (Part{5, 3, {13}, {}}));
  EXPECT_EQ(scheduled_counts(A), (Counts{10, 7, 4}));
  EXPECT_EQ(trace_->committed_step, 1);
  EXPECT_EQ(committed_counts(A), (Counts{10, 8, 3}));
  EXPECT_EQ(running_column(A), 2);
  EXPECT_THAT(copies(A), ElementsAre(CopyText{false, 1, 2, 0}, CopyText{true, 2, 1, 0}));

  frame(2, 1);  // S3, U2: B runs one frame for nothing, A gets a row of 6 columns
  EXPECT_EQ(part(A, {4, 6}), (Part{10, 3, {14}, {15}}));
  EXPECT_EQ(part(B, {4, 5}), (Part{8, 3, {16}, {17}}));
  EXPECT_EQ(scheduler_list(run_.engine(), A, 1), (Ids{0, 4, 5, 6, 12, 15}));
  EXPECT_EQ(exact_c(A), 8);
  EXPECT_EQ(exact_c(B), 8);
  EXPECT_EQ(running_column(A), 2);  // and not 3, the last column that is no scratch (known bug 44)
  EXPECT_TRUE(copies(A).empty());
  EXPECT_EQ(scheduled_counts(A), (Counts{13, 8, 6}));
  EXPECT_EQ(committed_counts(A), (Counts{11, 9, 3}));
  EXPECT_EQ(run_.engine().kv_cache().pool().free_queue(),
            (Ids{17, 11, 10, 16, 13, 18, 19, 20, 21, 22, 23, 8, 7, 9}));

  frame(3);  // S4, U3
  EXPECT_EQ(part(A, {4, 6}), (Part{11, 3, {}, {}}));
  EXPECT_EQ(trace_->scheduled.size(), 1U);
  EXPECT_EQ(exact_c(A), 10);
  EXPECT_EQ(running_column(A), 3);
  EXPECT_THAT(copies(A), ElementsAre(CopyText{false, 2, 3, 1}, CopyText{true, 3, 2, 1}));
  EXPECT_EQ(scheduled_counts(A), (Counts{14, 9, 6}));
  EXPECT_EQ(committed_counts(A), (Counts{13, 11, 3}));
  EXPECT_EQ(scheduler_list(run_.engine(), A, 1)[1], 0);  // block 4 was freed in this frame

  frame(1);  // S5, U4
  EXPECT_EQ(part(A, {5, 6}), (Part{13, 3, {17}, {}}));
  EXPECT_EQ(exact_c(A), 13);
  EXPECT_EQ(running_column(A), 3);
  EXPECT_EQ(trace_->rows.front().num_accepted_tokens, 3);
  EXPECT_TRUE(run_.findings().empty());
}

}  // namespace
}  // namespace hybridscope::test::worked_examples_test
