#include "sessions/run/checked_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/language/alone_texts.h"
#include "core/language/language_findings.h"
#include "core/language/language_run.h"
#include "sessions/run/check_setup.h"

namespace hybridscope {

struct CheckedRun::Language {
  std::unique_ptr<LanguageRun> run;
  LanguageFindings findings;
  std::optional<AloneTexts> alone;  // with keeps_speech
  StepSpeech speech;
};

CheckedRun::CheckedRun(CheckedRun&&) noexcept = default;
CheckedRun& CheckedRun::operator=(CheckedRun&&) noexcept = default;
CheckedRun::~CheckedRun() = default;

Result<CheckedRun> CheckedRun::create(RunPlan plan, CheckedRunOptions options) {
  HS_EXPECT(options.check || (options.state == nullptr && options.language == nullptr));
  auto runner = Runner::create(std::move(plan), std::move(options.folded_prompts));
  if (!runner.ok()) return runner.error();
  if (!options.check) return CheckedRun(std::move(runner).value(), {}, std::move(options));
  const CheckConfig config = make_check_config(runner.value().engine().config());
  auto checker = StepChecker::create(config);
  if (!checker.ok()) return checker.error();
  CheckedRun run(std::move(runner).value(), std::move(checker).value(), std::move(options));
  if (run.options_.language != nullptr) {
    const std::vector<std::int32_t>& sizes = config.limits->cudagraph_capture_sizes;
    std::int32_t most_tokens = run.engine().config().max_num_batched_tokens;
    for (const std::int32_t size : sizes) most_tokens = std::max(most_tokens, size);
    auto language =
        LanguageRun::create(*run.options_.language,
                            {.kv_cache_config = config.kv_cache_config,
                             .mamba_cache_mode = config.mamba_cache_mode,
                             .num_speculative_tokens = config.num_speculative_tokens,
                             .missing_conv_positions = config.missing_conv_positions(),
                             .form = run.options_.form,
                             .max_num_tokens = most_tokens,
                             .has_own_engine = true,
                             .num_likely = run.options_.keeps_speech ? kNumLikelyTokens : 0},
                            run.options_.make_machine);
    if (!language.ok()) return language.error();
    run.language_ = std::make_unique<Language>();
    run.language_->run = std::move(language).value();
    if (run.options_.keeps_speech) run.language_->alone.emplace(*run.options_.language);
    run.checker_->log_ops();
  }
  if (run.options_.state == nullptr) return run;
  auto mirror = StateMirror::create(config, *run.options_.state);
  if (!mirror.ok()) return mirror.error();
  run.mirror_ = std::move(mirror).value();
  run.checker_->log_ops();
  return run;
}

CheckedRun::CheckedRun(Runner runner, std::optional<StepChecker> checker, CheckedRunOptions options)
    : options_(std::move(options)), runner_(std::move(runner)), checker_(std::move(checker)) {}

CheckedRun CheckedRun::clone() const {
  HS_EXPECT(!mirror_ && !language_);
  CheckedRun copy(runner_.clone(), checker_,
                  {.check = options_.check, .max_steps = options_.max_steps});
  copy.progress_ = progress_;
  copy.no_progress_ = no_progress_;
  copy.num_steps_ = num_steps_;
  return copy;
}

EndReason CheckedRun::end() const {
  if (runner_.done()) return EndReason::finished;
  if (no_progress_) return EndReason::no_progress;
  return num_steps_ >= options_.max_steps ? EndReason::step_limit : EndReason::none;
}

Result<CheckedStep> CheckedRun::step() {
  HS_EXPECT(!has_ended());
  const auto stepped = runner_.step();
  if (!stepped.ok()) return stepped.error();
  const StepTrace& trace = *stepped.value();
  ++num_steps_;
  if (!checker_) {
    no_progress_ = progress_.take(trace) != RunProgress::moving;
    return CheckedStep{.trace = trace, .findings = {}, .writes = {}};
  }
  const auto findings = check(trace);
  if (!findings.ok())
    return Error{findings.error().kind,
                 "step " + std::to_string(trace.step) + ": " + findings.error().message};
  no_progress_ = std::ranges::any_of(
      findings.value(), [](const Finding& finding) { return finding.rule == Rule::no_progress; });
  return CheckedStep{.trace = trace, .findings = findings.value(), .writes = checker_->writes()};
}

Result<std::span<const Finding>> CheckedRun::check(const StepTrace& trace) {
  const std::span<const Finding> findings = checker_->check(trace, *options_.check);
  if (!mirror_ && !language_) return findings;
  findings_.assign(findings.begin(), findings.end());
  if (mirror_) {
    // After the last step, state that no step should have written is compared as well.
    const CheckScope scope = runner_.done() ? CheckScope::all : *options_.check;
    const auto of_bytes = mirror_->follow(*checker_, trace.step, scope);
    if (!of_bytes.ok()) return of_bytes.error();
    findings_.insert(findings_.end(), of_bytes.value().begin(), of_bytes.value().end());
  }
  if (language_) {
    const LanguageStep& step = language_->run->follow(
        trace, checker_->ops(), [this](RequestId request, std::int32_t position) {
          return runner_.engine().token(request, position);
        });
    if (const Status& ran = language_->run->status(); !ran.ok()) return ran.error();
    if (language_->alone) {
      language_->speech = {trace.step, step.words, step.compared, step.states};
      language_->alone->add_to(language_->speech.words);
    }
    language_->findings.append(step, trace.step, checker_->state(), findings_);
  }
  return std::span<const Finding>(findings_);
}

std::vector<SpokenText> CheckedRun::texts() const {
  HS_EXPECT(language_ != nullptr);
  return language_->run->texts();
}

const StepSpeech& CheckedRun::speech() const {
  HS_EXPECT(language_ != nullptr && language_->alone);
  return language_->speech;
}

std::int32_t CheckedRun::vocab_size() const { return options_.language->vocab_size; }

void CheckedRun::log_writes() {
  HS_EXPECT(checker_.has_value());
  checker_->log_writes();
}

const CheckState& CheckedRun::state() const {
  HS_EXPECT(checker_.has_value());
  return checker_->state();
}

}  // namespace hybridscope
