// Random scenarios in bytes: whatever the metadata says, memory holds what symbolic state says,
// under a profile that keeps every state right and under one that corrupts some.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/check/state_mirror.h"
#include "core/check/step_checker.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "sessions/run/check_setup.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::random_state_test {
namespace {

using Draw = std::function<int(int low, int high)>;

struct DrawnMemory {
  StateMemoryOptions options;
  KVCacheConfig config;
};

// Shapes, dtypes, padding, layout and layers of the scenario's mamba groups. Groups may have
// different numbers of layers.
DrawnMemory draw_memory(const EngineConfig& engine, const Draw& in) {
  DrawnMemory drawn{.options = {}, .config = engine.kv_cache_config};
  drawn.options.conv_kernel = engine.conv_kernel;
  drawn.options.conv_state_layout = in(0, 1) == 0 ? ConvStateLayout::SD : ConvStateLayout::DS;
  const Dtype dtypes[] = {Dtype::bfloat16, Dtype::float32, Dtype::float16};
  const std::int64_t width = engine.conv_kernel - 1 + engine.num_speculative_tokens;
  const std::int64_t dim = in(1, 6);
  std::vector<std::int64_t> conv = {width, dim};
  if (drawn.options.conv_state_layout == ConvStateLayout::DS) conv = {dim, width};
  const Dtype conv_dtype = dtypes[in(0, 2)];
  const StateTensorSpec temporal{StateKind::temporal, {2, in(2, 5)}, dtypes[in(0, 2)]};
  const std::int64_t padding = 4 * in(0, 3);
  int layer = 0;
  for (KVCacheGroup& group : drawn.config.groups) {
    group.layers.resize(static_cast<std::size_t>(in(1, 3)));
    std::iota(group.layers.begin(), group.layers.end(), layer);
    layer += 3;
    if (!group.is_mamba()) continue;
    auto& spec = std::get<MambaSpec>(group.spec);
    spec.states = {{StateKind::conv, conv, conv_dtype}, temporal};
    // The temporal state begins behind the conv state: at a multiple of its element size.
    if (width * dim % 2 != 0) spec.states[0].dtype = spec.states[1].dtype = Dtype::float32;
    std::int64_t bytes = padding;
    for (const StateTensorSpec& state : spec.states) {
      std::int64_t size = state.dtype == Dtype::float32 ? 4 : 2;
      for (const std::int64_t dimension : state.shape) size *= dimension;
      bytes += size;
    }
    spec.page_size_bytes = (bytes + 3) / 4 * 4;
  }
  return drawn;
}

// An engine, its checker, and bytes beside them.
class BytesRun {
 public:
  BytesRun(const EngineScenario& scenario, const DrawnMemory& memory)
      : scenario_(scenario),
        engine_(Engine::create(scenario.config).value()),
        checker_(StepChecker::create(check_config_of(scenario.config, memory)).value()),
        backend_(CpuStateBackend::create(make_state_memory(memory.config, memory.options).value())
                     .value()),
        twin_(StateMirror::create(check_config_of(scenario.config, memory), *backend_).value()) {
    checker_.log_ops();
  }

  bool done() const {
    return next_ == scenario_.commands.size() && engine_.num_unfinished() == 0 &&
           !engine_.has_frame_in_flight();
  }

  // Findings of the bytes.
  std::vector<std::string> step(CheckScope scope) {
    for (; next_ < scenario_.commands.size() && scenario_.commands[next_].step <= num_steps_;
         ++next_)
      (void)engine_.apply(scenario_.commands[next_].command);  // refused: there is no request yet
    const StepTrace& trace = engine_.step();
    ++num_steps_;
    num_errors_ += std::ssize(checker_.check(trace, CheckScope::step));
    num_copies_ += std::ssize(checker_.ops().copies);
    std::vector<std::string> found;
    const std::span<const Finding> findings = twin_.follow(checker_, trace.step, scope).value();
    for (const Finding& finding : findings)
      found.push_back(describe(finding) + " layer " + std::to_string(finding.layer) + " state " +
                      std::to_string(finding.state) + " element " +
                      std::to_string(finding.element));
    return found;
  }

  int num_steps() const { return num_steps_; }
  std::int64_t num_errors() const { return num_errors_; }
  std::int64_t num_copies() const { return num_copies_; }

 private:
  static CheckConfig check_config_of(const EngineConfig& engine, const DrawnMemory& memory) {
    CheckConfig config = make_check_config(engine);
    config.kv_cache_config = memory.config;
    return config;
  }

  EngineScenario scenario_;
  Engine engine_;
  StepChecker checker_;
  std::unique_ptr<CpuStateBackend> backend_;
  StateMirror twin_;
  std::size_t next_ = 0;
  int num_steps_ = 0;
  std::int64_t num_errors_ = 0;
  std::int64_t num_copies_ = 0;
};

// What the scenarios of a test exercised.
struct Coverage {
  std::int64_t steps = 0;
  std::int64_t copies = 0;
  std::int64_t errors = 0;  // of the metadata
  int v2 = 0;
  int asynchronous = 0;
  int dim_first = 0;
};

class RandomState : public testing::TestWithParam<MambaCacheMode> {
 protected:
  Coverage run(const Policies& policies, std::uint64_t seed);
};

Coverage RandomState::run(const Policies& policies, std::uint64_t seed) {
  constexpr int kMaxSteps = 120;
  std::mt19937_64 random(seed);
  const Draw in = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  Coverage coverage;
  for (int i = 0; i < 400; ++i) {
    const ScenarioShape shape = draw_shape(GetParam(), in);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " scenario " << i << " " << shape);
    EngineScenario scenario = make_scenario(shape);
    scenario.config.policies = policies;
    const DrawnMemory memory = draw_memory(scenario.config, in);
    coverage.v2 += shape.runner_v2 ? 1 : 0;
    coverage.asynchronous += shape.asynchronous ? 1 : 0;
    coverage.dim_first += memory.options.conv_state_layout == ConvStateLayout::DS ? 1 : 0;
    BytesRun bytes(scenario, memory);
    while (!bytes.done() && bytes.num_steps() < kMaxSteps) {
      const CheckScope scope = bytes.num_steps() % 8 == 7 ? CheckScope::all : CheckScope::step;
      const std::vector<std::string> found = bytes.step(scope);
      EXPECT_EQ(found, std::vector<std::string>());
      if (!found.empty()) return coverage;
    }
    EXPECT_EQ(bytes.step(CheckScope::all), std::vector<std::string>());
    coverage.steps += bytes.num_steps();
    coverage.copies += bytes.num_copies();
    coverage.errors += bytes.num_errors();
  }
  EXPECT_GT(coverage.steps, 4000);
  EXPECT_GT(coverage.v2, 40);
  EXPECT_GT(coverage.asynchronous, 40);
  EXPECT_GT(coverage.dim_first, 40);
  if (GetParam() == MambaCacheMode::none) {
    EXPECT_EQ(coverage.copies, 0);
  }
  if (GetParam() == MambaCacheMode::align) {
    EXPECT_GT(coverage.copies, 1000);
  }
  return coverage;
}

TEST_P(RandomState, HoldsWhatSymbolicStateSaysWhereEveryStateIsRight) {
  const Coverage coverage = run(safe_policies(), 7001);
  // The reference copies nothing in this mode.
  if (GetParam() == MambaCacheMode::all) {
    EXPECT_GT(coverage.copies, 100);
  }
}

TEST_P(RandomState, HoldsWhatSymbolicStateSaysWhereStatesAreWrong) {
  EXPECT_GT(run(reference_policies(), 7002).errors, 500);
}

INSTANTIATE_TEST_SUITE_P(Modes, RandomState,
                         testing::Values(MambaCacheMode::none, MambaCacheMode::align,
                                         MambaCacheMode::all),
                         [](const auto& mode) {
                           return std::string(mode.param == MambaCacheMode::none  ? "none"
                                              : mode.param == MambaCacheMode::all ? "all"
                                                                                  : "align");
                         });

}  // namespace
}  // namespace hybridscope::test::random_state_test
