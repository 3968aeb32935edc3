// Drafts: the columns of their states, and the conv window that a copy moves by accepted ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/check/symbolic_state.h"
#include "gui/model/speculative_model.h"
#include "gui/model/state_copies_model.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::speculative_model_test {
namespace {

using test::scenario_at;

std::vector<std::string> words_of(const SpeculativeRow& row) {
  std::vector<std::string> words;
  for (const StripToken& token : row.tokens)
    words.push_back(std::to_string(token.last) + " " + std::string(strip_token_name(token.kind)) +
                    (token.next_reads ? " next" : ""));
  return words;
}

// c = 7, q = 4, a = 1: S(8) .. S(11) go to columns 1 .. 4, all three drafts are rejected.
TEST(SpeculativeModel, EachTokenHasTheColumnOfTheStateBehindIt) {
  const auto run = scenario_at("trimmed_draft_lists", 3);
  const SpeculativeModel model = make_speculative_model(*run, {});
  ASSERT_EQ(model.rows.size(), 2u);
  const SpeculativeRow& row = model.rows[0];
  EXPECT_EQ(row.name, "A");
  EXPECT_THAT(words_of(row), testing::ElementsAre("8 given next", "9 rejected", "10 rejected",
                                                  "11 rejected", "9 bonus"));
  EXPECT_EQ(row.tokens[0].state.column, 1);
  EXPECT_EQ(row.tokens[0].state.block, 4);
  EXPECT_EQ(row.tokens[3].state.column, 4);
  EXPECT_EQ(row.tokens[3].state.block, 12);
  EXPECT_EQ(row.tokens[4].state.column, -1);
  EXPECT_EQ(row.source.column, 1);
}

// B's list was cut from 3 to 1; a = 2: S(9) in column 2 is what the next step reads.
TEST(SpeculativeModel, TheNextStepReadsBehindTheLastAcceptedDraft) {
  const auto run = scenario_at("trimmed_draft_lists", 3);
  const SpeculativeRow row = make_speculative_model(*run, {}).rows[1];
  EXPECT_THAT(words_of(row), testing::ElementsAre("8 given", "9 accepted next", "10 bonus"));
  EXPECT_EQ(row.num_drafts_offered, 3);
  EXPECT_EQ(row.num_draft_tokens, 1);
  EXPECT_EQ(row.num_sampled_tokens, 2);
  EXPECT_EQ(row.num_accepted_tokens_next, 2);
  EXPECT_EQ(row.next, "Next: num_accepted_tokens = 2, S(9) is read from column 2 (block 10).");
}

TEST(SpeculativeModel, AShiftWithinTheBlockMovesWhatTheNextStepReads) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 2);
  const SpeculativeRow row = make_speculative_model(*run, {}).rows[0];
  EXPECT_THAT(words_of(row), testing::ElementsAre("7 given", "8 accepted next", "9 bonus"));
  EXPECT_EQ(row.num_accepted_tokens_next, 1);
  EXPECT_EQ(row.next,
            "Next: num_accepted_tokens = 1, S(8) is read from column 0 (block 2), where the "
            "post-copy moved it from column 1.");
}

TEST(SpeculativeModel, AsynchronousCountsAreNotKnownToTheSchedulerYet) {
  const auto run = scenario_at("trimmed_draft_lists", 3);
  const SpeculativeModel model = make_speculative_model(*run, {});
  EXPECT_THAT(model.in_flight, testing::StartsWith("Not known to the scheduler yet"));
  EXPECT_EQ(model.rows[0].num_computed_tokens, 7);
  EXPECT_EQ(model.rows[0].scheduler_computed_tokens, 10);
  const auto synchronous = scenario_at("align_boundary_by_accepted_drafts", 2);
  EXPECT_EQ(make_speculative_model(*synchronous, {}).in_flight, "");
}

TEST(SpeculativeModel, PlaceholderDraftsNeverCount) {
  const auto run = LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                                      "/scenarios/padded_one_token_prompt.json"))
                       .value();
  int num_placeholders = 0;
  while (run->forward().value())
    for (const SpeculativeRow& row : make_speculative_model(*run, {}).rows)
      for (const StripToken& token : row.tokens)
        if (token.kind == StripTokenKind::placeholder) {
          ++num_placeholders;
          EXPECT_FALSE(token.next_reads);
        }
  EXPECT_GT(num_placeholders, 0);
}

TEST(SpeculativeModel, WithoutDraftsItSaysWhy) {
  const auto run = scenario_at("plain_decode", 2);
  EXPECT_EQ(make_speculative_model(*run, {}).empty, "K = 0: this run has no speculative tokens.");
  const auto prompt = scenario_at("trimmed_draft_lists", 1);
  EXPECT_EQ(make_speculative_model(*prompt, {}).empty,
            "No request of this step is past its prompt.");
}

// What is said of the next step, against the checker's memory and against the next step.
TEST(SpeculativeModel, TheNextReadIsTheStateOfTheAcceptedTokens) {
  int num_states = 0;
  int num_counts = 0;
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    const auto run = LiveRun::create(test::plan_of_file(path)).value();
    std::map<RequestId, std::int32_t> promised;  // counts for the next step
    while (run->forward().value()) {
      SCOPED_TRACE(run->step());
      const StepTrace& trace = run->view().trace;
      RowTruth truth;
      truth.fold(trace, run->config().conv_kernel);
      for (const RowTrace& row : trace.rows) {
        const auto count = promised.find(row.request);
        if (count == promised.end() || trace.scheduled_of(row).admission != Admission::running)
          continue;
        EXPECT_EQ(row.num_accepted_tokens_before, count->second);
        ++num_counts;
      }
      promised.clear();
      for (const SpeculativeRow& row : make_speculative_model(*run, {}).rows) {
        promised[row.request] = row.num_accepted_tokens_next;
        if (row.next_read.block <= kNullBlock) continue;
        for (std::size_t r = 0; r < trace.rows.size(); ++r)
          for (const StripToken& token : row.tokens) {
            if (trace.rows[r].request != row.request || !token.next_reads) continue;
            EXPECT_EQ(run->player().run().state().state.temporal(row.next_read.block).fingerprint,
                      truth.at(static_cast<std::int32_t>(r), token.last));
            ++num_states;
          }
      }
    }
  }
  EXPECT_GT(num_states, 100);
  EXPECT_GT(num_counts, 80);
}

// A row's state is read by the copy that moves it before the forward pass, else by that pass.
std::optional<StatePlace> really_read(const StepView& view, const RowTrace& row,
                                      std::int32_t group) {
  for (const StateCopyTrace& copy : view.trace.pre_copies.copies) {
    const CopyDecisionTrace& decided =
        view.trace.pre_copies.decisions[static_cast<std::size_t>(copy.decision)];
    if (decided.request == row.request && copy.group == group)
      return StatePlace{decided.decision.src_col + copy.accept_token_bias, copy.temporal_src_block};
  }
  for (const GroupTrace& traced : view.trace.groups) {
    if (traced.group != group || !traced.metadata) continue;
    for (const ForwardPlaces& forward :
         forward_rows(view.trace, traced, view.config.mamba_cache_mode))
      if (view.trace.rows[static_cast<std::size_t>(forward.row)].request == row.request &&
          forward.has_initial_state)
        return forward.temporal_source;
  }
  return std::nullopt;
}

bool copies_first(const StepView& view, RequestId request) {
  return std::ranges::any_of(view.trace.pre_copies.decisions, [&](const CopyDecisionTrace& made) {
    return made.request == request && made.decision.copies();
  });
}

bool passes_no_count(const StepView& view, const RowTrace& row) {
  const bool is_gdn = std::ranges::any_of(view.trace.groups, [](const GroupTrace& group) {
    return group.metadata && std::holds_alternative<GdnMetadata>(*group.metadata);
  });
  if (is_gdn) return view.trace.scheduled_of(row).num_draft_tokens == 0;
  return std::ranges::all_of(view.trace.scheduled, [](const ScheduledTrace& scheduled) {
    return scheduled.num_draft_tokens == 0;
  });
}

struct Told {
  SpeculativeRow row;
  std::int64_t number = 0;  // of the step
  bool in_every_step = true;
};

// Compares what the last step said about a request's next step with what that step reads.
int check_told(LiveRun& run) {
  int num_checked = 0;
  std::map<RequestId, Told> told;
  while (run.forward().value()) {
    const StepView view = run.view();
    SCOPED_TRACE(run.step());
    const SpeculativeModel model = make_speculative_model(run, {});
    for (const RowTrace& row : view.trace.rows) {
      const auto found = told.find(row.request);
      if (found == told.end()) continue;
      const auto [before, number, in_every_step] = found->second;
      told.erase(found);
      if (view.trace.scheduled_of(row).admission != Admission::running) continue;
      EXPECT_FALSE(before.is_finished);
      StatePlace place = before.next_read;
      if (!in_every_step && before.after_pause.column >= 0)
        place = before.after_pause;
      else if (passes_no_count(view, row) && !copies_first(view, row.request) &&
               before.without_drafts.column >= 0)
        place = before.without_drafts;
      if (place.column < 0) continue;
      const auto read = really_read(view, row, model.group);
      EXPECT_TRUE(read.has_value());
      if (!read) continue;
      EXPECT_EQ(read->column, place.column) << before.name << ": " << before.next;
      EXPECT_EQ(read->block, place.block) << before.name << ": " << before.next;
      ++num_checked;
    }
    for (auto& [request, of_request] : told) of_request.in_every_step = false;
    for (const SpeculativeRow& row : model.rows) told[row.request] = {row, run.step(), true};
  }
  return num_checked;
}

TEST(SpeculativeModel, WhatIsToldIsWhatTheNextStepOfTheRequestReads) {
  int num_checked = 0;
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    num_checked += check_told(*LiveRun::create(test::plan_of_file(path)).value());
    SCOPED_TRACE("reference");
    num_checked += check_told(*LiveRun::create(test::reference_plan_of_file(path)).value());
  }
  EXPECT_GT(num_checked, 150);
}

// The state said to be read is S(n), or is said to be wrong.
int check_states(LiveRun& run) {
  int num_faulty = 0;
  while (run.forward().value()) {
    const StepTrace& trace = run.view().trace;
    RowTruth truth;
    truth.fold(trace, run.config().conv_kernel);
    for (const SpeculativeRow& row : make_speculative_model(run, {}).rows) {
      if (row.next_read.block <= kNullBlock || row.is_finished) continue;
      const auto at = std::ranges::find(trace.rows, row.request, &RowTrace::request);
      const Fingerprint meant =
          truth.at(static_cast<std::int32_t>(at - trace.rows.begin()), row.num_tokens_next);
      const Fingerprint held =
          run.player().run().state().state.temporal(row.next_read.block).fingerprint;
      EXPECT_EQ(held != meant, !row.faults.empty())
          << run.title() << " " << run.step() << " " << row.name << ": " << row.next;
      num_faulty += held != meant ? 1 : 0;
    }
  }
  return num_faulty;
}

TEST(SpeculativeModel, AStateThatIsNotTheOneThatIsNeededIsToldAsWrong) {
  int num_faulty = 0;
  for (const std::string& path : test::shipped_scenarios()) {
    EXPECT_EQ(check_states(*LiveRun::create(test::plan_of_file(path)).value()), 0);
    num_faulty += check_states(*LiveRun::create(test::reference_plan_of_file(path)).value());
  }
  EXPECT_GT(num_faulty, 5);
}

// Profile reference: step 2 accepts 3 tokens; step 3 has no draft and reads column 0.
TEST(SpeculativeModel, PoliciesThatReadAnotherColumnAreNamed) {
  const auto run = test::reference_at("steps_without_drafts", 2);
  const SpeculativeModel model = make_speculative_model(*run, {});
  EXPECT_EQ(model.rows[0].next,
            "Next: num_accepted_tokens = 3, S(8) is read from column 2 (block 4); without drafts, "
            "column 0 (block 2) is.");
  EXPECT_THAT(model.policies, testing::HasSubstr("(no_draft_step)"));
  EXPECT_THAT(model.policies, testing::HasSubstr("(accepted_count_owner)"));
  ASSERT_TRUE(run->go_to(3).ok());
  const SpeculativeRow row = make_speculative_model(*run, {}).rows[0];
  EXPECT_TRUE(row.starts_wrong);
  EXPECT_THAT(row.faults, testing::ElementsAre("It started from S(6) in place of S(8).",
                                               "Block 2 holds S(7), not S(9)."));
}

// Frame 5 returns in step 6 and finishes A, whose frame 6 is in flight.
TEST(SpeculativeModel, ARequestThatFinishesInTheStepHasNoNextOne) {
  const auto run = scenario_at("all_mode_boundary_by_accepted_drafts", 6);
  const SpeculativeRow row = make_speculative_model(*run, {}).rows[0];
  EXPECT_EQ(row.next, "Finished: nothing reads its state any more.");
}

// "4 5 +8 x9 .": tokens, an accepted draft, a rejected one, something left over; "-": before
// token 1; "!" behind what is not copied.
std::string words_of(const std::vector<ConvPosition>& positions) {
  std::string text;
  for (const ConvPosition& position : positions) {
    if (!text.empty()) text += ' ';
    if (position.holds == ConvHolds::before_first) text += '-';
    if (position.holds == ConvHolds::left_over) text += '.';
    if (position.holds == ConvHolds::accepted) text += '+';
    if (position.holds == ConvHolds::rejected) text += 'x';
    if (position.token > 0) text += std::to_string(position.token);
    if (!position.copied) text += '!';
  }
  return text;
}

std::size_t window_length(const std::vector<ConvPosition>& positions) {
  return static_cast<std::size_t>(std::ranges::count(positions, true, &ConvPosition::in_window));
}

// align_boundary_by_accepted_drafts, step 2: c = 6, q = 2, its draft is accepted.
TEST(ConvCopyModel, AWithinBlockShiftMovesTheWindowByTheBias) {
  const ConvCopy copy = make_conv_copy({.conv_kernel = 4,
                                        .num_speculative_tokens = 1,
                                        .accept_token_bias = 1,
                                        .num_tokens = 8,
                                        .num_real_tokens = 7,
                                        .num_accepted_up_to = 8,
                                        .last_written = 8,
                                        .same_block = true});
  EXPECT_EQ(words_of(copy.source), "5! 6 7 +8");
  EXPECT_EQ(words_of(copy.destination), "6 7 +8 +8!");
  EXPECT_EQ(window_length(copy.source), 3u);
}

TEST(ConvCopyModel, WhatIsNotCopiedIsNotKnownInAnotherBlock) {
  const ConvCopy copy = make_conv_copy({.conv_kernel = 4,
                                        .num_speculative_tokens = 1,
                                        .accept_token_bias = 1,
                                        .num_tokens = 8,
                                        .num_real_tokens = 7,
                                        .num_accepted_up_to = 8,
                                        .last_written = 8});
  EXPECT_EQ(words_of(copy.destination), "6 7 +8 .!");
}

// c = 7, q = 4, one draft accepted, boundary 8: nothing shifts, drafts travel along.
TEST(ConvCopyModel, RejectedDraftsTravelBehindTheWindow) {
  const ConvCopy copy = make_conv_copy({.conv_kernel = 4,
                                        .num_speculative_tokens = 3,
                                        .accept_token_bias = 0,
                                        .num_tokens = 8,
                                        .num_real_tokens = 8,
                                        .num_accepted_up_to = 9,
                                        .last_written = 11});
  EXPECT_EQ(words_of(copy.source), "6 7 8 +9 x10 x11");
  EXPECT_EQ(words_of(copy.destination), "6 7 8 +9 x10 x11");
}

TEST(ConvCopyModel, ZerosStandBeforeTheFirstToken) {
  const ConvCopy copy = make_conv_copy({.conv_kernel = 4,
                                        .num_speculative_tokens = 2,
                                        .accept_token_bias = 0,
                                        .num_tokens = 1,
                                        .num_real_tokens = 1,
                                        .num_accepted_up_to = 1,
                                        .last_written = 1});
  EXPECT_EQ(words_of(copy.source), "- - 1 . .");
}

}  // namespace
}  // namespace hybridscope::speculative_model_test
