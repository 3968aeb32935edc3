#include "sessions/plan/recorded_steps.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <utility>

#include "core/model/kv_cache_spec.h"
#include "sessions/judge/foreign_importer.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// The name that our own traces give their engine (TraceWriter::header).
constexpr std::string_view kOurEngine = "hybridscope";

std::vector<const KVCacheGroup*> recurrent_groups(const EngineConfig& config) {
  std::vector<const KVCacheGroup*> recurrent;
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    if (group.is_mamba()) recurrent.push_back(&group);
  return recurrent;
}

// The traced configuration with the model's states: those of its first recurrent group in the
// trace's first one, and so on. The order of all groups is not the same in every engine.
Result<EngineConfig> with_states(const RecordedStepsOptions& options, const EngineConfig& traced) {
  if (options.model.empty()) return traced;
  EngineSettings settings = options.settings;
  settings.mamba_cache_mode = traced.mamba_cache_mode;
  if (traced.num_speculative_tokens > 0) {
    settings.num_speculative_tokens = traced.num_speculative_tokens;
    settings.speculative_method = traced.speculative_method;
  }
  const auto setup = make_engine_setup(options.model, settings);
  if (!setup.ok()) return setup.error();
  const std::vector<const KVCacheGroup*> ours = recurrent_groups(setup.value().config);
  const auto num_traced = std::ssize(recurrent_groups(traced));
  if (std::ssize(ours) != num_traced)
    return invalid_input(fmt::format(
        "the trace has {}, model {} has {}: not the model that was recorded",
        counted(num_traced, "recurrent group"), options.model, grouped_number(std::ssize(ours))));
  EngineConfig config = traced;
  config.conv_kernel = setup.value().config.conv_kernel;
  auto next = ours.begin();
  for (KVCacheGroup& group : config.kv_cache_config.groups)
    if (group.is_mamba()) group = **next++;
  return config;
}

}  // namespace

struct RecordedSteps::Trace {
  explicit Trace(const std::string& name) : file(name), reader(name) {}

  std::string file;
  TraceReader reader;
  std::optional<ForeignImporter> importer;
  std::optional<StepWorkCounter> work;
  std::int64_t num_steps = 0;
};

RecordedSteps::RecordedSteps(RecordedStepsOptions options) : options_(std::move(options)) {}
RecordedSteps::~RecordedSteps() = default;

void RecordedSteps::begin_file(const std::string& file) { trace_ = std::make_unique<Trace>(file); }

Status RecordedSteps::take(PaddedLine text, std::int64_t line) {
  HS_EXPECT(trace_ != nullptr);
  const auto kind = trace_->reader.read_line(text, line);
  if (!kind.ok()) return kind.error();
  Status taken = Ok{};
  if (kind.value() == TraceLine::header) taken = begin_trace();
  if (kind.value() == TraceLine::step) taken = add_step();
  if (taken.ok()) return taken;
  return Error{taken.error().kind,
               fmt::format("{}:{}: {}", trace_->reader.file(), line, taken.error().message)};
}

Status RecordedSteps::begin_trace() {
  const ForeignHeader& header = trace_->reader.header();
  auto importer = ForeignImporter::create(header);
  if (!importer.ok()) return importer.error();
  const auto with = with_states(options_, header.config);
  if (!with.ok()) return with.error();
  trace_->importer.emplace(std::move(importer).value());
  trace_->work.emplace(with.value());
  trace_->num_steps = 0;
  has_async_ = has_async_ || header.config.async_scheduling;
  has_simulated_ = has_simulated_ || header.engine == kOurEngine;
  return Ok{};
}

Status RecordedSteps::add_step() {
  const ForeignStep& step = trace_->reader.step();
  const auto imported = trace_->importer->import(step);
  if (!imported.ok()) return imported.error();
  if (step.num_scheduled_tokens.empty()) return Ok{};
  const StepWork work = trace_->work->count(*imported.value());
  const bool is_async = trace_->reader.header().config.async_scheduling;
  RecordedStep recorded{.work = work,
                        .time_us = step.step_time_us,
                        .reaches_back = is_async && trace_->num_steps > 0 &&
                                        (work.prefill > 0 || work.copied_bytes > 0),
                        .file = trace_->reader.file(),
                        .line = step.line,
                        .step = step.step};
  if (++trace_->num_steps <= options_.skip) {
    ++num_skipped_;
    recorded.time_us.reset();
  } else if (!step.step_time_us) {
    ++num_without_time_;
  }
  steps_.push_back(std::move(recorded));
  return Ok{};
}

TimedSteps timed_steps(const std::vector<RecordedStep>& recorded) {
  TimedSteps timed;
  for (std::size_t i = 0; i < recorded.size();) {
    const std::size_t first = i;
    TimedStep together{.work = {}, .time_us = 0, .num_steps = 0};
    bool is_known = true;
    do {
      const RecordedStep& step = recorded[i];
      together.work.prefill += step.work.prefill;
      together.work.decode += step.work.decode;
      together.work.copied_bytes += step.work.copied_bytes;
      together.time_us += step.time_us.value_or(0);
      ++together.num_steps;
      is_known = is_known && step.time_us.has_value();
    } while (++i < recorded.size() && recorded[i].reaches_back &&
             together.num_steps < kMostStepsTogether);
    if (!is_known) continue;
    timed.steps.push_back(together);
    timed.first.push_back(first);
  }
  return timed;
}

}  // namespace hybridscope
