#include "sessions/run/checked_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/run/step_judge.h"

namespace hybridscope {
namespace {

// The most tokens that a step can have, padding included.
std::int32_t most_tokens(const EngineConfig& engine, const CheckConfig& config) {
  std::int32_t most = engine.max_num_batched_tokens;
  for (const std::int32_t size : config.limits->cudagraph_capture_sizes)
    most = std::max(most, size);
  return most;
}

}  // namespace

Result<CheckedRun> CheckedRun::create(RunPlan plan, CheckedRunOptions options) {
  HS_EXPECT(options.check || (options.state == nullptr && options.language.model == nullptr));
  auto runner = Runner::create(std::move(plan), options.folded_prompts);
  if (!runner.ok()) return runner.error();
  if (!options.check) return CheckedRun(std::move(runner).value(), {}, options);
  const EngineConfig& engine = runner.value().engine().config();
  const CheckConfig config = make_check_config(engine);
  auto judge = StepJudge::create(config, {.state = std::move(options.state),
                                          .language = options.language,
                                          .max_num_tokens = most_tokens(engine, config),
                                          .keeps_speech = options.keeps_speech});
  if (!judge.ok()) return judge.error();
  return CheckedRun(std::move(runner).value(), std::move(judge).value(), options);
}

CheckedRun::CheckedRun(Runner runner, std::optional<StepJudge> judge,
                       const CheckedRunOptions& options)
    : check_(options.check),
      max_steps_(options.max_steps),
      model_(options.language.model),
      runner_(std::move(runner)),
      judge_(std::move(judge)) {}

CheckedRun CheckedRun::clone() const {
  std::optional<StepJudge> judge;
  if (judge_) judge.emplace(judge_->clone());
  CheckedRun copy(runner_, std::move(judge), {.check = check_, .max_steps = max_steps_});
  copy.progress_ = progress_;
  copy.no_progress_ = no_progress_;
  copy.num_steps_ = num_steps_;
  return copy;
}

EndReason CheckedRun::end() const {
  if (runner_.done()) return EndReason::finished;
  if (no_progress_) return EndReason::no_progress;
  return num_steps_ >= max_steps_ ? EndReason::step_limit : EndReason::none;
}

Result<CheckedStep> CheckedRun::step() {
  HS_EXPECT(!has_ended());
  const auto stepped = runner_.step();
  if (!stepped.ok()) return stepped.error();
  const StepTrace& trace = *stepped.value();
  ++num_steps_;
  if (!judge_) {
    no_progress_ = progress_.take(trace) != RunProgress::moving;
    return CheckedStep{.trace = trace, .findings = {}, .writes = {}};
  }
  const TokenContentOf token_of = [this](RequestId request, std::int32_t position) {
    return runner_.engine().token(request, position);
  };
  const auto judged =
      judge_->judge(trace, *check_, {.token_of = token_of, .is_last = runner_.done()});
  if (!judged.ok())
    return Error{judged.error().kind,
                 "step " + std::to_string(trace.step) + ": " + judged.error().message};
  no_progress_ = std::ranges::any_of(judged.value().findings, [](const Finding& finding) {
    return finding.rule == Rule::no_progress;
  });
  return judged;
}

Result<std::optional<CheckedStep>> CheckedRun::next() {
  if (has_ended()) return std::optional<CheckedStep>();
  const auto made = step();
  if (!made.ok()) return made.error();
  return std::optional(made.value());
}

std::vector<SpokenText> CheckedRun::texts() const {
  HS_EXPECT(judge_.has_value());
  return judge_->texts();
}

std::int32_t CheckedRun::vocab_size() const { return model_->vocab_size; }

void CheckedRun::log_writes() {
  HS_EXPECT(judge_.has_value());
  judge_->log_writes();
}

const CheckState& CheckedRun::state() const {
  HS_EXPECT(judge_.has_value());
  return judge_->state();
}

}  // namespace hybridscope
