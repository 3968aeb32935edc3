// Machines that decide about copies by themselves: what they decide is compared with the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/language/host_language_machine.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/weights/load_model.h"

namespace hybridscope::decided_copies_test {
namespace {

using testing::HasSubstr;

const std::string kRoot = HYBRIDSCOPE_SOURCE_DIR;

// What machines decided, and the column of a launch's first copying row that they take for another
// one.
struct Decided {
  std::vector<StateCopyRule> rules;  // of launches
  std::int32_t wrong_by = 0;
};

// The host's machine, which says that it decided what the engine decided, or something else.
class DecidingMachine final : public LanguageMachine {
 public:
  DecidingMachine(std::unique_ptr<LanguageMachine> host, Decided& log)
      : host_(std::move(host)), log_(log) {}

  const LanguageLayout& layout() const override { return host_->layout(); }
  void poison(std::span<const std::int32_t> blocks) override { host_->poison(blocks); }
  void zero(std::span<const std::int32_t> blocks) override { host_->zero(blocks); }
  void copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first) override {
    host_->copy(copies, shifts_last_position_first);
  }
  std::optional<std::size_t> copy_decided(const DecidedCopies& decided) override {
    host_->copy(decided.copies, false);
    log_.rules.push_back(decided.decisions.front().decision.rule);
    std::vector<StateCopyDecision>& decisions = decided_.emplace_back();
    for (const CopyDecisionTrace& one : decided.decisions) decisions.push_back(one.decision);
    if (!decided.copies.empty()) decisions.front().dst_col += log_.wrong_by;
    return decided_.size() - 1;
  }
  void copy_blocks(std::span<const BlockCopy> copies) override { host_->copy_blocks(copies); }
  void forward(const MachineForward& batch) override { host_->forward(batch); }
  std::size_t keep_state(const BlockElementRange& place) override {
    return host_->keep_state(place);
  }
  std::size_t keep_logits(std::int32_t token) override { return host_->keep_logits(token); }
  Status finish() override {
    last_ = std::exchange(decided_, {});
    return host_->finish();
  }
  std::span<const float> kept(std::size_t number) const override { return host_->kept(number); }
  std::int32_t greedy(std::size_t number) const override { return host_->greedy(number); }
  std::span<const StateCopyDecision> decided(std::size_t number) const override {
    return last_[number];
  }

 private:
  std::unique_ptr<LanguageMachine> host_;
  Decided& log_;
  std::vector<std::vector<StateCopyDecision>> decided_, last_;
};

// The first error of a run in mode align with drafts; empty: none.
std::string run(ModelRunner runner, Decided& log) {
  Scenario scenario =
      read_scenario_file(kRoot + "/scenarios/align_boundary_by_accepted_drafts.json").value();
  scenario.settings.runner = runner;
  auto model = load_model(kRoot + "/tests/golden/numeric/model_lfm2");
  auto created = CheckedRun::create(
      plan_scenario(scenario, "scenario.json").value(),
      {.language = {.model = std::make_shared<const HybridModel>(std::move(model).value().model),
                    .make_machine = [&log](const LanguageMachineRequest& request)
                        -> Result<std::unique_ptr<LanguageMachine>> {
                      auto host = HostLanguageMachine::create(request);
                      if (!host.ok()) return host.error();
                      return std::unique_ptr<LanguageMachine>(
                          std::make_unique<DecidingMachine>(std::move(host).value(), log));
                    }}});
  CheckedRun& checked = created.value();
  while (!checked.has_ended())
    if (const auto step = checked.step(); !step.ok()) return step.error().message;
  return {};
}

TEST(DecidedCopies, AMachineIsAskedForEveryLaunchOfModeAlign) {
  Decided v1, v2;
  EXPECT_EQ(run(ModelRunner::v1, v1), "");
  EXPECT_EQ(run(ModelRunner::v2, v2), "");
  EXPECT_THAT(v1.rules, testing::AllOf(testing::Contains(StateCopyRule::preprocess_mamba),
                                       testing::Contains(StateCopyRule::postprocess_mamba_v1)));
  EXPECT_THAT(v2.rules,
              testing::AllOf(testing::Contains(StateCopyRule::preprocess_mamba_align_fused_kernel),
                             testing::Contains(StateCopyRule::postprocess_mamba_v2)));
}

TEST(DecidedCopies, AnotherDecisionThanTheEnginesEndsTheRun) {
  for (const ModelRunner runner : {ModelRunner::v1, ModelRunner::v2}) {
    Decided log{.rules = {}, .wrong_by = 1};
    const std::string error = run(runner, log);
    EXPECT_THAT(error, HasSubstr("request 0, row 0: the kernel copies column"));
    EXPECT_THAT(error, HasSubstr("; the engine copies column"));
    EXPECT_THAT(error, HasSubstr("to block"));
  }
}

}  // namespace
}  // namespace hybridscope::decided_copies_test
