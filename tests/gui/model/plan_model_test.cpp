#include "gui/model/plan_model.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gui/model/panel_infos.h"
#include "gui/model/shown_plan.h"
#include "sessions/plan/plan_goals.h"
#include "tests/gui/model/drive.h"
#include "tests/gui/model/made_plan.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::plan_model_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class PlanPanel : public testing::Test {
 protected:
  std::string file(const std::string& step_time = "") {
    return make_plan_file({.folder = folder_.path(), .step_time = step_time});
  }
  PlanModel model() {
    return make_plan_model(*workbench_.plan_results(), workbench_.options().plan);
  }
  std::vector<std::string> column(std::size_t at) {
    std::vector<std::string> cells;
    for (const TableRow& row : model().table.rows) cells.push_back(shown_words(row.cells[at]));
    return cells;
  }
  std::string refusal(const GuiCommand& command) {
    const Status done = workbench_.apply(command);
    return done.ok() ? "it was not refused" : done.error().message;
  }

  TemporaryFolder folder_;
  Workbench workbench_{panel_infos()};
};

TEST_F(PlanPanel, AResultFileIsOpenedByItsContentAndItsPanelShown) {
  apply(workbench_, {"file.open", file()});
  ASSERT_NE(workbench_.plan_results(), nullptr);
  EXPECT_EQ(workbench_.run(), nullptr);
  EXPECT_TRUE(workbench_.view().layout.is_active("plan"));
  EXPECT_THAT(model().heading, AllOf(HasSubstr("tiny-gdn on "), HasSubstr("6 of 6 combinations")));
}

TEST_F(PlanPanel, TheRecommendedCombinationComesFirstAndIsSelected) {
  apply(workbench_, {"file.open", file()});
  const PlanModel shown = model();
  ASSERT_THAT(shown.table.rows, SizeIs(6));
  EXPECT_EQ(shown.marks[0], PlanMark::recommended);
  EXPECT_EQ(shown.table.rows[0].mark, "plan row " + shown.recommended);
  EXPECT_EQ(shown.selected, shown.recommended);
  EXPECT_EQ(shown.recommended, "mamba_cache_mode=none max_num_seqs=8");
  EXPECT_THAT(shown.reasons, Contains(HasSubstr("hits (share of the prompt tokens that the prefix "
                                                "cache serves): 0.0 %; mamba_cache_mode=align "
                                                "max_num_seqs=2 reaches 14.0 %")));
}

// The first two goals; more is to the right and up.
TEST_F(PlanPanel, TheScatterPlacesCombinationsByTheFirstTwoGoals) {
  apply(workbench_, {"file.open", file()});
  const PlanModel shown = model();
  EXPECT_EQ(shown.x.title, "hits (more is better)");
  EXPECT_EQ(shown.y.title, "concurrency (more is better)");
  EXPECT_EQ(shown.x.least, "0.0 %");
  EXPECT_EQ(shown.y.least, "2");
  ASSERT_THAT(shown.dots, SizeIs(6));
  const PlanView view = workbench_.plan_results()->view();
  for (const PlanDot& dot : shown.dots) {
    const PlanFigures& figures = view.results[dot.result].figures;
    EXPECT_EQ(dot.x < 0.07, figures.hit_tokens == 0) << dot.words;
    EXPECT_EQ(dot.y < 0.07, figures.running.most == 2) << dot.words;
  }
  for (std::size_t i = 1; i < shown.front_line.size(); ++i)
    EXPECT_LE(shown.dots[shown.front_line[i - 1]].x, shown.dots[shown.front_line[i]].x);
}

TEST_F(PlanPanel, OtherGoalsMakeAnotherFrontAndOtherAxes) {
  apply(workbench_, {"file.open", file()});
  apply(workbench_, {"plan.prefer", "copies,steps"});
  EXPECT_EQ(model().x.title, "copies (less is better)");
  EXPECT_THAT(model().recommended, HasSubstr("mamba_cache_mode=none"));
  apply(workbench_, {"plan.prefer", "hits"});
  EXPECT_EQ(model().x.title, "steps (less is better)");
  EXPECT_EQ(model().y.title, "hits (more is better)");
}

TEST_F(PlanPanel, AGoalsButtonAddsItOrTakesItAwayButNotTheLastOne) {
  apply(workbench_, {"file.open", file()});
  const auto goes_to = [&](std::string_view goal) {
    for (const PlanGoalChoice& choice : model().goals)
      if (choice.goal->name == goal) return choice.without_or_with;
    return std::string("no such goal");
  };
  EXPECT_EQ(goes_to("hits"), "concurrency,preemptions,lost");
  EXPECT_EQ(goes_to("steps"), "hits,concurrency,preemptions,lost,steps");
  EXPECT_EQ(goes_to("throughput"), "no such goal");  // it needs a step time
  apply(workbench_, {"plan.prefer", "steps"});
  EXPECT_EQ(goes_to("steps"), "");
}

TEST_F(PlanPanel, RefusesGoalsThatDoNotExistOrNeedAStepTime) {
  EXPECT_THAT(refusal({"plan.prefer", "hits"}),
              HasSubstr("no results of hybridscope plan are open"));
  apply(workbench_, {"file.open", file()});
  EXPECT_THAT(refusal({"plan.prefer", "hit"}), HasSubstr("there is no goal \"hit\""));
  EXPECT_THAT(refusal({"plan.prefer", "throughput"}), HasSubstr("throughput needs a step time"));
  EXPECT_THAT(refusal({"plan.select", "max_num_seqs=3"}),
              HasSubstr("the plan has no result of \"max_num_seqs=3\""));
  EXPECT_THAT(refusal({"plan.sort", "colour"}),
              HasSubstr("expected one of rank, mamba_cache_mode, max_num_seqs, hit %"));
}

TEST_F(PlanPanel, ColumnsSortAsNumbersAndASecondTimeTheOtherWayRound) {
  apply(workbench_, {"file.open", file()});
  apply(workbench_, {"plan.sort", "max_num_seqs"});
  EXPECT_THAT(column(2), ElementsAre("2", "2", "4", "4", "8", "8"));
  apply(workbench_, {"plan.sort", "max_num_seqs"});
  EXPECT_THAT(column(2), ElementsAre("8", "8", "4", "4", "2", "2"));
  apply(workbench_, {"plan.sort", "rank"});
  EXPECT_EQ(model().marks[0], PlanMark::recommended);
}

TEST_F(PlanPanel, BlocksOverStepsAreThoseOfTheSelectedCombination) {
  apply(workbench_, {"file.open", file()});
  apply(workbench_, {"plan.select", "mamba_cache_mode=align max_num_seqs=2"});
  const PlanMemory memory = model().memory;
  EXPECT_EQ(memory.title, "Blocks over the steps of mamba_cache_mode=align max_num_seqs=2");
  EXPECT_EQ(memory.num_blocks, 59);
  ASSERT_FALSE(memory.pieces.empty());
  EXPECT_EQ(memory.pieces.front().first_step, 1);
  EXPECT_EQ(memory.pieces.back().last_step, memory.last_step);
  for (const PlanPiece& piece : memory.pieces) {
    double sum = 0;
    for (const double blocks : piece.blocks) sum += blocks;
    EXPECT_LE(sum, 59) << "the pool without the null block, step " << piece.first_step;
    EXPECT_LE(piece.running, 2);
  }
}

// The run has what the plan counted: the fewest free blocks in that step.
TEST_F(PlanPanel, ACombinationIsOpenedAtItsWorstStep) {
  apply(workbench_, {"file.open", file()});
  apply(workbench_, {"plan.select", "mamba_cache_mode=align max_num_seqs=4"});
  const ShownPlan& plan = *workbench_.plan_results();
  const std::int64_t worst = plan.view().results[*plan.selected()].figures.worst_step;
  ASSERT_GT(worst, 1);
  apply(workbench_, {"plan.run", "worst"});
  settle(workbench_);
  ASSERT_NE(workbench_.run(), nullptr);
  EXPECT_EQ(workbench_.run()->step(), worst);
  EXPECT_THAT(workbench_.run()->title(), HasSubstr("mamba_cache_mode=align max_num_seqs=4 on "));
  EXPECT_EQ(workbench_.run()->config().max_num_seqs, 4);
  EXPECT_TRUE(workbench_.view().layout.leaf_of("plan").has_value());
  const auto free_blocks = [&] { return workbench_.run()->view().trace.num_free_blocks; };
  const auto fewest = free_blocks();
  apply(workbench_, {"run.end"});
  settle(workbench_);
  EXPECT_EQ(workbench_.run()->last_known_step(),
            plan.view().results[*plan.selected()].figures.steps);
  for (const StepMark& mark : workbench_.run()->marks()) {
    apply(workbench_, {"run.go_to", std::to_string(mark.step)});
    settle(workbench_);
    EXPECT_GE(free_blocks(), fewest) << mark.step;
    if (mark.step < worst) EXPECT_GT(free_blocks(), fewest) << mark.step;
  }
}

// 50 ms a step: requests come sooner, counted in steps, than under the constants.
TEST_F(PlanPanel, ARunUnderAStepTimeHasTheStepsOfThePlan) {
  apply(workbench_, {"file.open", file("50000")});
  const ShownPlan& plan = *workbench_.plan_results();
  apply(workbench_, {"plan.run", "1"});
  apply(workbench_, {"run.end"});
  settle(workbench_);
  EXPECT_EQ(workbench_.run()->last_known_step(),
            plan.view().results[*plan.selected()].figures.steps);
  EXPECT_EQ(workbench_.run()->view().trace.duration_us, 50'000);
  EXPECT_THAT(model().goals, SizeIs(plan_goals().size()));
  EXPECT_THAT(model().table.headings, SizeIs(3 + plan_columns(true).size()));
}

TEST_F(PlanPanel, TrafficThatWasMovedOrChangedIsNamedAndCanBeSaid) {
  namespace fs = std::filesystem;
  const std::string traffic = folder_.path() + "/traffic.jsonl";
  const std::string elsewhere = folder_.path() + "/elsewhere.jsonl";
  apply(workbench_, {"file.open", file()});
  fs::rename(traffic, elsewhere);
  EXPECT_THAT(refusal({"plan.run", "worst"}),
              AllOf(HasSubstr("traffic.jsonl: the plan's traffic is not there"),
                    HasSubstr("plan.traffic FILE says where it is")));
  apply(workbench_, {"plan.traffic", elsewhere});
  EXPECT_THAT(model().heading, HasSubstr("24 requests"));
  apply(workbench_, {"plan.run", "worst"});
  std::ofstream(traffic)
      << R"({"timestamp": 0, "input_length": 9, "output_length": 8, "hash_ids": [1]})"
      << "\n";
  EXPECT_THAT(refusal({"plan.traffic", traffic}), HasSubstr("not the traffic of the plan"));
}

TEST_F(PlanPanel, AnotherModelThanThePlansIsRefused) {
  const std::string path = file();
  std::string text = folder_.read("plan.jsonl");
  const std::string key = R"("layout":")";
  text[text.find(key) + key.size()] ^= 1;  // another hex digit
  folder_.write("plan.jsonl", text);
  apply(workbench_, {"file.open", path});
  EXPECT_THAT(refusal({"plan.run", "worst"}), HasSubstr("tiny-gdn: not the model of the plan"));
}

TEST_F(PlanPanel, APieceOfImpossibleStepsIsRefused) {
  const std::string path = file();
  std::string text = folder_.read("plan.jsonl");
  const std::string key = R"("points":[[1,)";
  text.replace(text.find(key), key.size(), R"("points":[[9223372036854775807,)");
  folder_.write("plan.jsonl", text);
  EXPECT_THAT(refusal({"file.open", path}), HasSubstr("/points/0"));
}

TEST_F(PlanPanel, TrafficThatWasNamedIsKeptWhenTheResultsAreReadAgain) {
  apply(workbench_, {"file.open", file()});
  std::filesystem::rename(folder_ / "traffic.jsonl", folder_ / "elsewhere.jsonl");
  apply(workbench_, {"plan.traffic", folder_ / "elsewhere.jsonl"});
  apply(workbench_, {"plan.reload"});
  apply(workbench_, {"plan.run", "1"});
}

TEST_F(PlanPanel, IsReadAgainWithGoalsAndSelectionAsTheyWere) {
  const std::string path = file();
  apply(workbench_, {"file.open", path});
  apply(workbench_, {"plan.prefer", "steps,hits"});
  apply(workbench_, {"plan.select", "mamba_cache_mode=none max_num_seqs=2"});
  apply(workbench_, {"plan.reload"});
  EXPECT_EQ(workbench_.plan_results()->goals(), "steps,hits");
  EXPECT_EQ(model().selected, "mamba_cache_mode=none max_num_seqs=2");
  apply(workbench_, {"plan.close"});
  EXPECT_EQ(workbench_.plan_results(), nullptr);
  EXPECT_FALSE(workbench_.view().layout.leaf_of("plan").has_value());
}

TEST_F(PlanPanel, CloseClosesTheRunThenThePlan) {
  EXPECT_THAT(refusal({"file.close"}), HasSubstr("nothing is open"));
  apply(workbench_, {"file.open", file()});
  apply(workbench_, {"plan.run", "1"});
  apply(workbench_, {"file.close"});
  EXPECT_EQ(workbench_.run(), nullptr);
  ASSERT_NE(workbench_.plan_results(), nullptr);
  apply(workbench_, {"file.close"});
  EXPECT_EQ(workbench_.plan_results(), nullptr);
}

TEST_F(PlanPanel, WhatIsNotPossibleIsListedWithItsReason) {
  apply(workbench_, {"file.open", make_plan_file({.folder = folder_.path(),
                                                  .sweeps = {"tensor_parallel_size=1,3"}})});
  EXPECT_THAT(model().refused,
              ElementsAre(AllOf(HasSubstr("tensor_parallel_size=3: not possible: "))));
  EXPECT_THAT(model().table.rows, SizeIs(1));
  apply(workbench_, {"plan.select", "tensor_parallel_size=3"});
  EXPECT_THAT(model().memory.empty, HasSubstr("not possible"));
  EXPECT_FALSE(model().can_open);
  EXPECT_THAT(refusal({"plan.run", "worst"}), HasSubstr("tensor_parallel_size=3: not possible"));
}

// As `plan` writes it where requests wait for blocks that nobody frees.
TEST_F(PlanPanel, WhatDidNotEndHasARowAndOpensAtItsWorstStep) {
  const std::string path = file();
  std::ifstream read(path);
  std::string text{std::istreambuf_iterator<char>(read), {}};
  const std::string name = R"({"name":"mamba_cache_mode=none max_num_seqs=2")";
  ASSERT_NE(text.find(name), std::string::npos);
  text.insert(text.find(name) + name.size(), R"(,"refused":"did not end: from step 9 on")");
  std::ofstream(path) << text;
  apply(workbench_, {"file.open", path});
  EXPECT_THAT(model().heading, HasSubstr("5 of 6 combinations run, 1 did not end"));
  EXPECT_THAT(model().table.rows, SizeIs(6));
  EXPECT_THAT(model().dots, SizeIs(5));
  EXPECT_EQ(model().marks.back(), PlanMark::stuck);
  apply(workbench_, {"plan.select", "mamba_cache_mode=none max_num_seqs=2"});
  EXPECT_TRUE(model().can_open);
  apply(workbench_, {"plan.run", "worst"});
  settle(workbench_);
  ASSERT_NE(workbench_.run(), nullptr);
  EXPECT_EQ(workbench_.run()->step(), model().memory.worst_step);
}

TEST_F(PlanPanel, AModelThatMovedIsLookedForBesideTheResults) {
  const std::string path = file();
  std::ifstream read(path);
  std::string text{std::istreambuf_iterator<char>(read), {}};
  const std::string model = R"("model":"tiny-gdn")";
  ASSERT_NE(text.find(model), std::string::npos);
  text.replace(text.find(model), model.size(), R"("model":"elsewhere/config.json")");
  std::ofstream(path) << text;
  EXPECT_EQ(ShownPlan::open(path).value()->header().model, "elsewhere/config.json");
  std::ofstream(folder_.path() + "/config.json") << "{}";
  EXPECT_EQ(ShownPlan::open(path).value()->header().model, folder_.path() + "/config.json");
}

TEST_F(PlanPanel, IsCopiedWithNumbersWhetherARunIsOpenOrNot) {
  EXPECT_THAT(refusal({"edit.copy_panel", "json plan"}), HasSubstr("nothing is open"));
  apply(workbench_, {"file.open", file()});
  apply(workbench_, {"edit.copy_panel", "json plan"});
  const auto json = nlohmann::json::parse(workbench_.outbox().clipboard.value());
  EXPECT_THAT(json["plan"].get<std::string>(), HasSubstr("plan.jsonl"));
  EXPECT_FALSE(json.contains("step"));
  EXPECT_EQ(json["tables"][0]["rows"][0]["max_num_seqs"], 8);
  EXPECT_TRUE(json["tables"][0]["rows"][0]["hit tokens"].is_number_integer());
  EXPECT_THAT(refusal({"edit.copy_panel", "json requests"}),
              HasSubstr("Requests: no step was run yet"));
  apply(workbench_, {"edit.copy_json", ""});  // the plan is in focus
  EXPECT_EQ(nlohmann::json::parse(workbench_.outbox().clipboard.value()), json);
  apply(workbench_, {"plan.run", "worst"});
  apply(workbench_, {"edit.copy_panel", "json plan"});
  EXPECT_EQ(nlohmann::json::parse(workbench_.outbox().clipboard.value())["tables"], json["tables"]);
}

TEST_F(PlanPanel, ADamagedFileIsRefusedWithItsLine) {
  const std::string path = file();
  std::ofstream(path, std::ios::app) << "{\"name\": 3}\n";
  EXPECT_THAT(refusal({"file.open", path}), HasSubstr("plan.jsonl:8: "));
  EXPECT_EQ(workbench_.plan_results(), nullptr);
}

}  // namespace
}  // namespace hybridscope::test::plan_model_test
