// Comparing two recorded sessions of 50,000 steps at level blocks, about 16 requests a step: to a
// first divergence ten steps before the end, and in full where all but ten steps differ.
#include <filesystem>
#include <string>

#include "bench/support/measure.h"
#include "sessions/diff/session_diff.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "storage/session_reader.h"
#include "storage/session_writer.h"

namespace hybridscope::bench {
namespace {

constexpr std::int64_t kDiffSteps = 50000;
constexpr int kRequestsAtOnce = 16;
constexpr std::int64_t kStepsBetween = 5;  // arrivals; a request stays for about 80 steps

// Requests come and go until the last step; from step `diverges` on the budget is one token less.
RunPlan plan_of(std::int64_t diverges) {
  Scenario scenario;
  scenario.name = "diff bench";
  scenario.model = "tiny-mamba2";
  scenario.settings.mamba_cache_mode = MambaCacheMode::align;
  scenario.settings.block_size = 16;
  scenario.settings.num_gpu_blocks_override = 2000;
  scenario.settings.max_model_len = 1024;
  scenario.settings.max_num_seqs = kRequestsAtOnce;
  scenario.settings.speculative_method = SpeculativeMethod::mtp;
  scenario.settings.num_speculative_tokens = 2;
  RunPlan plan = plan_scenario(scenario, "bench").value();
  for (std::int64_t r = 0; r < kDiffSteps / kStepsBetween; ++r) {
    ArrivingRequest arriving;
    arriving.request.name = "r" + std::to_string(r);
    arriving.request.key = static_cast<std::uint64_t>(r) + 1;
    arriving.request.prompt = {
        {.content = static_cast<std::uint64_t>(r % 7), .first = 0, .length = 48},
        {.content = 100 + static_cast<std::uint64_t>(r),
         .first = 48,
         .length = static_cast<std::int32_t>(1 + r % 60)}};
    arriving.request.max_tokens = 200;
    arriving.at_step = static_cast<std::int32_t>(1 + r * kStepsBetween);
    plan.requests.push_back(std::move(arriving));
  }
  for (std::int64_t step = diverges; step < diverges + 3 && diverges > 0; ++step) {
    ScriptStep script;
    script.step = static_cast<std::int32_t>(step);
    script.budget = 20;
    plan.script.push_back(script);
  }
  return plan;
}

void record(const std::string& file, const std::string& name, std::int64_t diverges) {
  CheckedRun run = CheckedRun::create(plan_of(diverges), {.max_steps = kDiffSteps}).value();
  const EngineConfig& config = run.engine().config();
  SessionHeader header;
  header.name = name;
  header.level = RecordLevel::blocks;
  header.source = "bench";
  header.model = "tiny-mamba2";
  header.engine = "safe";
  header.config = config;
  header.plan = write_session_plan(plan_of(0));
  const auto request_name = [&](RequestId id) { return run.engine().name_of(id); };
  auto writer = SessionWriter::begin({file, name}, header,
                                     {.program = "bench",
                                      .request_name = request_name,
                                      .finding_text = [](const Finding&) { return std::string(); }})
                    .value();
  StepRecorder recorder(config, RecordLevel::blocks, request_name);
  while (!run.has_ended()) {
    const CheckedStep step = run.step().value();
    recorder.record(step.trace, step.findings, {}, writer->next_record());
    HS_EXPECT(writer->push().ok());
  }
  HS_EXPECT(writer->finish(SessionStatus::complete, "").ok());
}

// The sessions, made when they are first asked for and deleted at the end of the program.
class Sessions {
 public:
  Sessions() {
    std::filesystem::remove(file_);
    record(file_, "base", 0);
    record(file_, "late", kDiffSteps - 10);
    record(file_, "early", 10);
  }
  ~Sessions() { std::filesystem::remove(file_); }
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;
  std::unique_ptr<StepSource> open(const std::string& name) const {
    return open_session_source({file_, name}).value();
  }

 private:
  std::string file_ =
      (std::filesystem::temp_directory_path() / "hybridscope_diff_bench.db").string();
};

const Sessions& sessions() {
  static const Sessions made;
  return made;
}

// Steps compared of "base" and `other`, to the first divergence or to the end.
void diff_sessions(benchmark::State& state, const std::string& other, bool first_only) {
  const Sessions& recorded = sessions();
  std::int64_t differing = 0;
  std::int64_t fields = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto a = recorded.open("base");
    const auto b = recorded.open(other);
    SessionDiff diff(*a, *b, IgnoreRules());
    while (diff.next().value() != nullptr && !first_only) {
    }
    differing = diff.summary().num_differing;
    fields = diff.summary().num_fields;
  }
  state.counters["steps_that_differ"] = static_cast<double>(differing);
  state.counters["fields"] = static_cast<double>(fields);
}

void diff_first_divergence(benchmark::State& state) { diff_sessions(state, "late", true); }
void diff_everything(benchmark::State& state) { diff_sessions(state, "early", false); }
BENCHMARK(diff_first_divergence)->Unit(benchmark::kMillisecond)->Iterations(3);
BENCHMARK(diff_everything)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace hybridscope::bench
