#include <algorithm>

#include "core/base/policy_set.h"
#include "sessions/lessons/lesson.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

// The scenario reader. What it accepts is written back and read again; a small one is planned and
// runs a few steps under the checker, and under the safe policies no error is found.

namespace hybridscope::test::scenario_target {
namespace {

constexpr std::int32_t kMaxTokens = 1 << 13;  // of a prompt or an output
constexpr std::int64_t kMaxBlocks = 1 << 12;
constexpr std::size_t kMaxRequests = 16;
constexpr int kMaxSteps = 40;

// Would planning and some steps take milliseconds?
bool is_small(const Scenario& scenario) {
  const bool names_file = scenario.model.find_first_of("/.") != std::string::npos;
  const auto& blocks = scenario.settings.num_gpu_blocks_override;
  return !names_file && blocks && *blocks <= kMaxBlocks &&
         scenario.requests.size() <= kMaxRequests &&
         std::all_of(scenario.requests.begin(), scenario.requests.end(),
                     [](const ScenarioRequest& request) {
                       return request.prompt.tokens <= kMaxTokens &&
                              request.max_tokens <= kMaxTokens;
                     });
}

void run(const RunPlan& plan) {
  auto checked = CheckedRun::create(plan, {.check = CheckScope::all, .max_steps = kMaxSteps});
  if (!checked.ok()) {  // only the checker may refuse it
    expect(!checked.error().message.empty(), "an error has a message");
    return expect(Runner::create(plan).ok(), "a plan can be run", checked.error().message);
  }
  const EngineConfig& config = plan.setup.config;
  // What other policies spoil stays spoilt when the script goes back.
  const bool safe = config.policies == PolicySet{} &&
                    std::all_of(plan.script.begin(), plan.script.end(), [](const ScriptStep& step) {
                      return !step.engine && step.policies == PolicyOverrides{};
                    });
  while (!checked.value().has_ended()) {
    const auto step = checked.value().step();
    if (!step.ok()) return expect(!step.error().message.empty(), "an error has a message");
    for (const Finding& finding : step.value().findings) {
      const RuleInfo& rule = rule_info(finding.rule);
      expect(!safe || rule.severity != Severity::error, "no error under the safe policies",
             rule.slug);
    }
  }
}

void read(std::string_view text) {
  const auto scenario = parse_scenario({.text = text, .file = "s.json"});
  note_read(text, scenario.ok());
  if (!scenario.ok()) return expect_one_line(scenario.error().message, "s.json:");
  const std::string written = write_scenario(scenario.value());
  const auto again = parse_scenario({.text = written, .file = "s.json"});
  expect(again.ok(), "what was written can be read", again.ok() ? "" : again.error().message);
  expect(again.value() == scenario.value(), "written and read again it is equal", written);
  if (!is_small(scenario.value())) return;
  const auto plan = plan_scenario(scenario.value(), "s.json");
  if (!plan.ok()) return expect_one_line(plan.error().message, "s.json:");
  run(plan.value());
}

}  // namespace
}  // namespace hybridscope::test::scenario_target

namespace hybridscope::test {

void fuzz_scenario(std::string_view text) { scenario_target::read(text); }

}  // namespace hybridscope::test

// The lesson reader. Errors are one line about the lesson; what it accepts has parts, answers that
// the choices hold, and mistakes that are no right answers.

namespace hybridscope::test::lesson_target {
namespace {

void read(std::string_view text) {
  const auto lesson = parse_lesson({.text = text, .file = "l.json"}, [](const std::string& path) {
    return Result<std::string>(Error{ErrorKind::io, path + ": cannot be opened"});
  });
  note_read(text, lesson.ok());
  if (!lesson.ok()) return expect_one_line(lesson.error().message, "l.json:");
  expect(!lesson.value().parts.empty(), "a lesson has a part");
  for (const LessonPart& part : lesson.value().parts) {
    expect(!part.text.empty(), "a part has a text");
    for (const LessonQuestion& question : part.questions) {
      const auto& choices = question.choices;
      expect(choices.empty() ||
                 std::find(choices.begin(), choices.end(), question.answer) != choices.end(),
             "the answer is one of the choices", question.ask);
      for (const LessonMistake& mistake : question.mistakes)
        expect(mistake.answer != question.answer, "a mistake is no right answer", question.ask);
    }
  }
}

}  // namespace
}  // namespace hybridscope::test::lesson_target

namespace hybridscope::test {

void fuzz_lesson(std::string_view text) { lesson_target::read(text); }

}  // namespace hybridscope::test
