// Recorded sessions of 50,000 steps: reading them, scrubbing in them and comparing them.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/storage/recorded_session.h"
#include "bench/support/measure.h"
#include "gui/model/recorded_run.h"
#include "sessions/diff/session_diff.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "storage/session_player.h"
#include "storage/session_reader.h"
#include "storage/session_writer.h"

namespace hybridscope::bench {

// A session of 50,000 steps at level blocks: opening it, going to any step, reading it from end to
// end.

namespace {

void session_open(benchmark::State& state) {
  const SessionPlace& place = recorded_session();
  measure(state, 1, [&] { return SessionPlayer::open(place); });
}
BENCHMARK(session_open)->Unit(benchmark::kMillisecond);

// Steps drawn over the whole session; counters in milliseconds of wall-clock and of CPU time.
void session_go_to_any_step(benchmark::State& state) {
  const auto player = SessionPlayer::open(recorded_session()).value();
  const auto last = static_cast<std::uint64_t>(player->reader().last_step());
  std::vector<double> times_ms;
  double worst_cpu_ms = 0;
  std::uint64_t random = 1;
  const std::int64_t before = test::num_allocations();
  for ([[maybe_unused]] auto _ : state) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto step = static_cast<std::int64_t>((random >> 33) % last) + 1;
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    HS_EXPECT(player->go_to(player->reader().step_at_or_before(step).value()).ok());
    worst_cpu_ms = std::max(worst_cpu_ms,
                            1e3 * static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
    times_ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  report(state, 1, test::num_allocations() - before);
  std::sort(times_ms.begin(), times_ms.end());
  state.counters["median_ms"] = times_ms[times_ms.size() / 2];
  state.counters["worst_ms"] = times_ms.back();
  state.counters["worst_cpu_ms"] = worst_cpu_ms;
}
BENCHMARK(session_go_to_any_step)->Iterations(1000)->Unit(benchmark::kMillisecond);

void session_step_back(benchmark::State& state) {
  const auto player = SessionPlayer::open(recorded_session()).value();
  HS_EXPECT(player->go_to(player->reader().last_step()).ok());
  const std::int64_t before = test::num_allocations();
  for ([[maybe_unused]] auto _ : state)
    HS_EXPECT(player->go_to(player->reader().step_at_or_before(player->step() - 1).value()).ok());
  report(state, 1, test::num_allocations() - before);
}
BENCHMARK(session_step_back)->Iterations(300)->Unit(benchmark::kMillisecond);

void session_step_forward(benchmark::State& state) {
  const auto player = SessionPlayer::open(recorded_session()).value();
  const std::int64_t before = test::num_allocations();
  for ([[maybe_unused]] auto _ : state)
    HS_EXPECT(player->go_to(player->reader().step_after(player->step()).value()).ok());
  report(state, 1, test::num_allocations() - before);
}
BENCHMARK(session_step_forward)->Iterations(5000)->Unit(benchmark::kMicrosecond);

// A call reads digests and counts of all steps.
void session_read_digests(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    const auto source = open_session_source(recorded_session()).value();
    while (source->next().value() != nullptr) {
    }
  }
  report(state, kRecordedSteps, 0);
}
BENCHMARK(session_read_digests)->Iterations(1)->Unit(benchmark::kMillisecond);

// A call reads all steps whole.
void session_read_records(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    const auto source = open_session_source(recorded_session()).value();
    while (source->next().value() != nullptr) benchmark::DoNotOptimize(source->record().value());
  }
  report(state, kRecordedSteps, 0);
}
BENCHMARK(session_read_records)->Iterations(1)->Unit(benchmark::kMillisecond);

// Scrubbing in a recorded session as the workbench does it: to any step, until what panels ask of
// it is answered, until everything that they asked for is read, and until what a session does not
// keep is made again. In milliseconds of CPU time.

constexpr std::int32_t kBlocksShown = 1024;
constexpr std::ptrdiff_t kStepsShown = 40;  // of the timeline

// What the panels of the default layout ask for in a frame.
void ask(ShownRun& run) {
  const StepView view = run.view();
  for (std::int32_t block = 0; block < kBlocksShown; ++block)
    benchmark::DoNotOptimize(run.block_facts(block));
  benchmark::DoNotOptimize(run.unfinished());
  for (const RequestId request : view.scheduler_tables.requests()) {
    benchmark::DoNotOptimize(run.num_hit_tokens(request));
    benchmark::DoNotOptimize(run.own_count(request));
    if (std::ranges::find(view.trace.scheduled, request, &ScheduledTrace::request) ==
        view.trace.scheduled.end())
      benchmark::DoNotOptimize(run.request_counts(request));
  }
  const std::ptrdiff_t here = mark_index(run.marks(), run.step());
  const std::ptrdiff_t first = std::max<std::ptrdiff_t>(here - kStepsShown / 2, 0);
  const auto count = std::min(kStepsShown, static_cast<std::ptrdiff_t>(run.marks().size()) - first);
  benchmark::DoNotOptimize(
      run.activities(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  benchmark::DoNotOptimize(run.free_queue());
  benchmark::DoNotOptimize(run.previous_arrays());
}

struct Times {
  std::vector<double> ms;
  void tell(benchmark::State& state, const std::string& name) {
    std::ranges::sort(ms);
    state.counters[name + "_median_ms"] = ms[ms.size() / 2];
    state.counters[name + "_95_ms"] = ms[ms.size() * 95 / 100];
    state.counters[name + "_worst_ms"] = ms.back();
  }
};

void shown_run_scrub(benchmark::State& state, RecordLevel level) {
  const auto run = RecordedRun::open(recorded_session(level, state.range(0))).value();
  const auto num_steps = static_cast<std::uint64_t>(run->marks().size());
  Times seen;
  Times whole;
  Times made;
  std::uint64_t random = 1;
  for ([[maybe_unused]] auto _ : state) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::int64_t step = run->marks()[(random >> 33) % num_steps].step;
    const std::clock_t start = std::clock();
    const auto passed = [&] {
      return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    };
    HS_EXPECT(run->go_to(step).ok());
    ask(*run);
    seen.ms.push_back(passed());
    while (run->load_more()) ask(*run);
    whole.ms.push_back(passed());
    while (run->load_more() || run->awaits_more()) ask(*run);
    made.ms.push_back(passed());
  }
  seen.tell(state, "seen");
  whole.tell(state, "whole");
  made.tell(state, "made");
}
BENCHMARK_CAPTURE(shown_run_scrub, blocks, RecordLevel::blocks)
    ->Arg(2'000)
    ->Arg(kRecordedSteps)
    ->Iterations(300)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(shown_run_scrub, full, RecordLevel::full)
    ->Arg(2'000)
    ->Arg(kRecordedSteps)
    ->Iterations(300)
    ->Unit(benchmark::kMillisecond);

// Comparing two recorded sessions of 50,000 steps at level blocks, about 16 requests a step: to a
// first divergence ten steps before the end, and in full where all but ten steps differ.

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
