#include <algorithm>
#include <string>

#include "sessions/record/session_plan.h"
#include "sessions/run/checked_run.h"
#include "storage/record_jsonl.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

// The reader of session plans. What it accepts is written and read again, which changes nothing; a
// small one runs a few steps.

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

// The reader of an exported session (`sessions import`): each line is a header, a step or an end,
// or an error that names its place. What is read can be written again.

namespace hybridscope::test::session_lines_target {
namespace {

// Takes the first line off the text.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool refused(const Error& error) {
  expect_one_line(error.message, "in.jsonl:");
  return false;
}

// Was it a whole session?
bool read(std::string_view text) {
  RecordJsonlReader reader("in.jsonl");
  const auto header = reader.read_header(take_line(text), 1);
  if (!header.ok()) return refused(header.error());
  RecordJsonlWriter writer([&reader](RequestId request) { return reader.request_name(request); });
  StepRecord record;
  for (std::int64_t line = 2; !text.empty(); ++line) {
    const auto step = reader.read_step(take_line(text), line, record);
    if (!step.ok()) return refused(step.error());
    if (step.value()) expect(!writer.step(record).empty(), "a step can be written again");
  }
  if (!reader.end()) return false;
  const std::string written = writer.end(*reader.end());
  expect(written.find("\"end\"") != std::string::npos, "an end can be written again", written);
  return true;
}

}  // namespace
}  // namespace hybridscope::test::session_lines_target

namespace hybridscope::test {

void fuzz_session_lines(std::string_view text) {
  note_read(text, session_lines_target::read(text));
}

}  // namespace hybridscope::test
