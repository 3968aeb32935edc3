// Language models on a CUDA device: what runs of scenarios, of known bugs and of planted faults
// leave in every block, and say, is bit for bit the host's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/language/language_findings.h"
#include "core/language/language_run.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/matrix/matrix_cell.h"
#include "sessions/matrix/run_cell.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/weights/load_model.h"
#include "tests/core/check/speaking_engine.h"
#include "tests/kernels/cuda/cuda_device.h"
#include "tests/kernels/language/paired_machine.h"
#include "tests/support/golden.h"
#include "tests/support/property.h"

namespace hybridscope::test::language_cuda_test {
namespace {

using namespace hybridscope::test;

using Model = std::shared_ptr<const HybridModel>;

Model model_of(const std::string& name) {
  auto loaded = load_model(golden_dir() + "/numeric/" + name);
  return std::make_shared<const HybridModel>(std::move(loaded).value().model);
}

std::vector<Model> all_models() {
  return {model_of("model_bamba"), model_of("model_lfm2"), model_of("model_qwen3_5_text")};
}

std::filesystem::path scenario_dir() {
  const char* folder = std::getenv("HYBRIDSCOPE_SCENARIOS");
  return folder == nullptr ? HYBRIDSCOPE_SOURCE_DIR "/scenarios" : folder;
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// Steps that were run; 0: the settings do not allow the run. `make_machine`: of PairedMachine.
std::int64_t run_on_both(const Scenario& scenario, const Model& model,
                         const MakeLanguageMachine& make_machine = &PairedMachine::create,
                         NumericForm form = NumericForm::recurrent) {
  auto plan = plan_scenario(scenario, "scenario.json");
  if (!plan.ok()) return 0;
  auto created = CheckedRun::create(
      plan.value(), {.language = {.form = form, .model = model, .make_machine = make_machine}});
  if (!created.ok()) {  // the host refuses it as well
    EXPECT_FALSE(
        CheckedRun::create(std::move(plan).value(), {.language = {.form = form, .model = model}})
            .ok())
        << created.error().message;
    return 0;
  }
  CheckedRun& run = created.value();
  while (!run.has_ended()) {
    const auto step = run.step();
    if (!step.ok()) {
      ADD_FAILURE() << step.error().message;
      break;
    }
  }
  return run.num_steps();
}

TEST(LanguageCuda, ShippedScenariosHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  std::int64_t steps = 0;
  for (const Model& model : all_models())
    for (const auto& file : files_in(scenario_dir())) {
      SCOPED_TRACE(file.stem().string());
      steps += run_on_both(read_scenario_file(file.string()).value(), model);
      if (HasFailure()) return;
    }
  EXPECT_GT(steps, 500);
}

std::vector<Model> models_with_chunks() {
  return {model_of("model_bamba"), model_of("model_qwen3_5_text")};
}

// Shipped scenarios in form chunked with `make_machine`, as written and in each cache mode.
void expect_equal_chunked_runs(const MakeLanguageMachine& make_machine) {
  std::int64_t steps = 0;
  for (const Model& model : models_with_chunks())
    for (const auto& file : files_in(scenario_dir())) {
      SCOPED_TRACE(file.stem().string());
      const Scenario scenario = read_scenario_file(file.string()).value();
      std::vector<Scenario> changed(4, scenario);
      changed[1].settings.mamba_cache_mode = MambaCacheMode::none;
      changed[2].settings.mamba_cache_mode = MambaCacheMode::align;
      changed[3].settings.mamba_cache_mode = MambaCacheMode::all;
      for (const Scenario& other : changed)
        steps += run_on_both(other, model, make_machine, NumericForm::chunked);
      if (testing::Test::HasFailure()) return;
    }
  EXPECT_GT(steps, 1000);
}

TEST(LanguageCuda, ShippedScenariosInFormChunkedAreCloseToTheHost) {
  HS_NEED_CUDA();
  expect_equal_chunked_runs(&PairedMachine::create);
}

TEST(LanguageCuda, ShippedScenariosInFormChunkedHaveTheSameBitsTwice) {
  HS_NEED_CUDA();
  expect_equal_chunked_runs(&PairedMachine::create_both_on_device);
}

// In every cache mode, under both runners and both ways of scheduling.
TEST(LanguageCuda, ScenariosWithOtherSettingsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  const Model model = model_of("model_bamba");
  std::int64_t steps = 0;
  for (const auto& file : files_in(scenario_dir())) {
    SCOPED_TRACE(file.stem().string());
    const Scenario scenario = read_scenario_file(file.string()).value();
    std::vector<Scenario> changed(5, scenario);
    changed[0].settings.runner =
        scenario.settings.runner == ModelRunner::v2 ? ModelRunner::v1 : ModelRunner::v2;
    changed[1].settings.async_scheduling = !scenario.settings.async_scheduling.value_or(true);
    changed[2].settings.mamba_cache_mode = MambaCacheMode::none;
    changed[3].settings.mamba_cache_mode = MambaCacheMode::align;
    changed[4].settings.mamba_cache_mode = MambaCacheMode::all;
    for (const Scenario& other : changed) steps += run_on_both(other, model);
    if (HasFailure()) return;
  }
  EXPECT_GT(steps, 500);
}

// Pre-copies and the advance of V2, post-copies of both runners.
TEST(LanguageCuda, TheDeviceDecidesAboutCopiesAsTheEngineDoes) {
  HS_NEED_CUDA();
  const Model model = model_of("model_qwen3_5_text");
  std::int64_t decided = 0;
  for (const char* name : {"align_boundary_by_accepted_drafts", "align_boundary_by_decode",
                           "shared_prefix_align", "multi_turn_with_drafts", "several_groups"})
    for (const ModelRunner runner : {ModelRunner::v1, ModelRunner::v2}) {
      SCOPED_TRACE(name);
      Scenario scenario =
          read_scenario_file((scenario_dir() / (std::string(name) + ".json")).string()).value();
      scenario.settings.runner = runner;
      const std::int64_t before = decided;
      const std::int64_t steps = run_on_both(scenario, model, PairedMachine::counting(decided));
      EXPECT_TRUE(runner == ModelRunner::v1 || steps == 0 || decided > before);
    }
  EXPECT_GT(decided, 40);
}

TEST(LanguageCuda, KnownBugsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  const std::vector<Model> models = all_models();
  std::vector<std::string> not_run;
  std::size_t done = 0;
  for (const auto& file : files_in(scenario_dir() / "bugs")) {
    const std::string name = file.stem().string();
    const auto exhibit = shipped_bug(name);
    ASSERT_TRUE(exhibit.ok()) << exhibit.error().message;
    SCOPED_TRACE(name);
    std::int64_t steps = 0;
    for (const Model& model : models) steps += run_on_both(faulty_scenario(exhibit.value()), model);
    if (HasFailure()) return;
    if (steps == 0) not_run.push_back(name);
    ++done;
  }
  EXPECT_GT(done, 20U);
  EXPECT_THAT(not_run, testing::IsEmpty());
}

TEST(LanguageCuda, RandomScenariosHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  const std::uint64_t seed = from_environment("HYBRIDSCOPE_SEED", 20261128);
  SCOPED_TRACE("HYBRIDSCOPE_SEED=" + std::to_string(seed));
  const std::vector<Model> models = all_models();
  const std::vector<MatrixCell> cells = all_cells();
  std::mt19937_64 random(seed);
  std::int64_t steps = 0;
  for (std::size_t done = 0; done < test::num_cases(40);) {
    const MatrixCell& cell = cells[random() % cells.size()];
    if (stands_for(cell) || !refusal_of(cell).empty()) continue;
    const Scenario scenario = drawn_scenario(cell, static_cast<std::int64_t>(done), seed);
    SCOPED_TRACE(scenario.name);
    steps += run_on_both(scenario, models[done % models.size()]);
    if (HasFailure()) return;
    ++done;
  }
  EXPECT_GT(steps, 40);
}

// Faults between an engine and a language model on a CUDA device: wrong blocks, columns, counts,
// tokens and copies leave on it, bit for bit, what they leave on the host.

// Runs changed traces and expects that most were changed.
void run_changed_traces(const MakeLanguageMachine& make, NumericForm form) {
  const std::uint64_t seed = from_environment("HYBRIDSCOPE_SEED", 20261128);
  int planted = 0;
  for (std::uint64_t i = 0; i < test::num_cases(60) && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("HYBRIDSCOPE_SEED=" + std::to_string(seed + i));
    std::mt19937_64 random(seed + i);
    planted += MutatedLanguageRun(random, make, form).run();
  }
  EXPECT_GT(planted, 60);
}

TEST(PlantedLanguageCuda, ChangedTracesHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  run_changed_traces(&PairedMachine::create, NumericForm::recurrent);
}

// What rows that meet and chunks that overlap leave in form chunked depends on nothing but them.
TEST(PlantedLanguageCuda, ChangedTracesInFormChunkedHaveTheSameBitsTwice) {
  HS_NEED_CUDA();
  run_changed_traces(&PairedMachine::create_both_on_device, NumericForm::chunked);
}

}  // namespace

}  // namespace hybridscope::test::language_cuda_test
