#include "sessions/run/step_judge.h"

#include <utility>

#include "core/base/result.h"
#include "core/caching/manager_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/scheduler_setup.h"
#include "core/language/language_findings.h"
#include "core/language/spoken_texts.h"

namespace hybridscope {

CheckConfig make_check_config(const EngineConfig& config) {
  CheckLimits limits{.max_num_seqs = config.max_num_seqs,
                     .max_model_len = config.max_model_len,
                     .chunk_size = config.chunk_size};
  if (auto cudagraphs = resolve_cudagraphs(config); cudagraphs.ok()) {
    limits.cudagraph_capture_sizes = captured_sizes(captured_graphs(config, cudagraphs.value()));
    if (limits.cudagraph_capture_sizes.empty())  // no graph is captured: none of these is
      limits.cudagraph_capture_sizes = std::move(cudagraphs).value().capture_sizes;
  }
  return {.kv_cache_config = config.kv_cache_config,
          .mamba_cache_mode = config.mamba_cache_mode,
          .conv_kernel = config.conv_kernel,
          .num_speculative_tokens = config.num_speculative_tokens,
          .conv_window_len = config.conv_window_len,
          .hash_block_size = config.hash_block_size,
          .hits_inside_blocks = hits_end_inside_blocks(config),
          .keys_inside_blocks = !config.policies.is(PromptTailKey::never),
          .takes_stopped_tokens_back = config.policies.is(StoppedTokens::taken_back),
          .limits = std::move(limits)};
}

struct StepJudge::Language {
  std::unique_ptr<LanguageRun> run;
  LanguageFindings findings;
  std::optional<AloneTexts> alone;  // of a model that chooses its tokens, if its speech is kept
  StepSpeech speech;
};

StepJudge::StepJudge(StepJudge&&) noexcept = default;
StepJudge& StepJudge::operator=(StepJudge&&) noexcept = default;
StepJudge::~StepJudge() = default;

StepJudge::StepJudge(StepChecker checker, StepJudgeOptions options)
    : options_(std::move(options)), checker_(std::move(checker)) {}

Result<StepJudge> StepJudge::create(const CheckConfig& config, StepJudgeOptions options) {
  auto checker = StepChecker::create(config);
  if (!checker.ok()) return checker.error();
  StepJudge judge(std::move(checker).value(), std::move(options));
  if (judge.options_.language.model != nullptr)
    if (Status begun = judge.begin_language(config); !begun.ok()) return begun.error();
  if (judge.options_.state == nullptr) return judge;
  auto mirror = StateMirror::create(config, *judge.options_.state);
  if (!mirror.ok()) return mirror.error();
  judge.mirror_ = std::move(mirror).value();
  judge.checker_.log_ops();
  return judge;
}

Status StepJudge::begin_language(const CheckConfig& config) {
  const LanguageModel& language = options_.language;
  const bool chooses_tokens = options_.has_own_engine;
  const bool keeps_words = chooses_tokens && options_.keeps_speech;
  auto run = LanguageRun::create(
      *language.model,
      {.kv_cache_config = config.kv_cache_config,
       .mamba_cache_mode = config.mamba_cache_mode,
       .num_speculative_tokens = config.num_speculative_tokens,
       .missing_conv_positions = chooses_tokens ? config.missing_conv_positions() : 0,
       .form = language.form,
       .max_num_tokens = options_.max_num_tokens,
       .has_own_engine = chooses_tokens,
       .forces_tokens = !chooses_tokens,
       .num_likely = keeps_words ? kNumLikelyTokens : 0},
      language.make_machine);
  if (!run.ok()) return run.error();
  language_ = std::make_unique<Language>();
  language_->run = std::move(run).value();
  if (keeps_words) language_->alone.emplace(*language.model);
  checker_.log_ops();
  return Ok{};
}

StepJudge StepJudge::clone() const {
  HS_EXPECT(!mirror_ && !language_);
  StepJudge copy(checker_, {});
  copy.hash_check_ = hash_check_;
  copy.num_memory_steps_ = num_memory_steps_;
  return copy;
}

Result<CheckedStep> StepJudge::judge(const StepTrace& trace, CheckScope scope,
                                     const ToldOfStep& told) {
  if (!told.states.empty()) ++num_memory_steps_;
  if (!told.states.empty() && !hash_check_) {
    hash_check_.emplace(checker_.state().config);
    checker_.log_ops();
  }
  const std::span<const Finding> by_rules = checker_.check(trace, scope);
  if (!mirror_ && !hash_check_ && !language_)
    return CheckedStep{.trace = trace, .findings = by_rules, .writes = checker_.writes()};
  findings_.assign(by_rules.begin(), by_rules.end());
  if (mirror_) {
    // After the last step, state that no step should have written is compared as well.
    const auto of_bytes =
        mirror_->follow(checker_, trace.step, told.is_last ? CheckScope::all : scope);
    if (!of_bytes.ok()) return of_bytes.error();
    findings_.insert(findings_.end(), of_bytes.value().begin(), of_bytes.value().end());
  }
  if (hash_check_) {
    const auto of_memory = hash_check_->follow(checker_, trace, told.states);
    findings_.insert(findings_.end(), of_memory.begin(), of_memory.end());
  }
  if (language_)
    if (Status added = add_language_findings(trace, told.token_of); !added.ok())
      return added.error();
  return CheckedStep{.trace = trace,
                     .findings = findings_,
                     .writes = checker_.writes(),
                     .speech = language_ && options_.keeps_speech ? &language_->speech : nullptr};
}

Status StepJudge::add_language_findings(const StepTrace& trace, const TokenContentOf& token_of) {
  const LanguageStep& step = language_->run->follow(trace, checker_.ops(), token_of);
  if (const Status& ran = language_->run->status(); !ran.ok()) return ran;
  if (options_.keeps_speech)
    language_->speech = {trace.step, language_->alone ? step.words : StepWords{}, step.compared,
                         step.states};
  if (language_->alone) language_->alone->add_to(language_->speech.words);
  language_->findings.append(step, trace.step, checker_.state(), findings_);
  return Ok{};
}

std::vector<SpokenText> StepJudge::texts() const {
  HS_EXPECT(language_ != nullptr);
  return language_->run->texts();
}

}  // namespace hybridscope
