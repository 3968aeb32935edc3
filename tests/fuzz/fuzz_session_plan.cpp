// The reader of session plans. What it accepts is written and read again, which changes nothing; a
// small one runs a few steps.
#include <algorithm>

#include "sessions/record/session_plan.h"
#include "sessions/run/checked_run.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

namespace hybridscope::test::session_plan_target {
namespace {

constexpr std::int32_t kMaxTokens = 1 << 13;  // of a model's or a request's length
constexpr std::int32_t kMaxBlocks = 1 << 12;
constexpr int kMaxSteps = 20;

bool is_small(const RunPlan& plan) {
  const EngineConfig& config = plan.setup.config;
  return config.kv_cache_config.num_blocks <= kMaxBlocks && config.max_model_len <= kMaxTokens &&
         config.max_num_seqs <= 256 &&
         std::all_of(plan.requests.begin(), plan.requests.end(), [](const ArrivingRequest& r) {
           return num_prompt_tokens(r.request) + r.request.max_tokens <= kMaxTokens;
         });
}

void read(std::string_view text) {
  const auto plan = read_session_plan(text, "run.db");
  note_read(text, plan.ok());
  if (!plan.ok()) return expect_one_line(plan.error().message, "run.db: ");
  const std::string written = write_session_plan(plan.value());
  const auto again = read_session_plan(written, "run.db");
  expect(again.ok(), "what was written can be read", again.ok() ? "" : again.error().message);
  expect(write_session_plan(again.value()) == written, "written again it is equal", written);
  if (!is_small(plan.value())) return;
  auto run = CheckedRun::create(plan.value(), {.check = std::nullopt, .max_steps = kMaxSteps});
  if (!run.ok()) return expect(!run.error().message.empty(), "an error has a message");
  while (!run.value().has_ended())
    if (const auto step = run.value().step(); !step.ok())
      return expect(!step.error().message.empty(), "an error has a message");
}

}  // namespace
}  // namespace hybridscope::test::session_plan_target

namespace hybridscope::test {

void fuzz_session_plan(std::string_view text) { session_plan_target::read(text); }

}  // namespace hybridscope::test
