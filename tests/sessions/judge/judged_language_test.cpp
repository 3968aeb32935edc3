// A language model on the decisions of recorded engines: it holds what lone runs hold, except where
// the judge finds a fault too. HYBRIDSCOPE_TIMES=100 takes the files whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/numeric/hybrid_model.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/text/input_file.h"
#include "sessions/weights/load_model.h"
#include "tests/support/property.h"

namespace hybridscope::judged_language_test {
namespace {

LanguageModel model() {
  auto loaded = load_model(HYBRIDSCOPE_SOURCE_DIR "/tests/golden/numeric/model_qwen3_5_text");
  return {.folder = "model_qwen3_5_text",
          .model = std::make_shared<const HybridModel>(std::move(loaded).value().model)};
}

const int kTraces = static_cast<int>(test::num_cases(4));

struct Found {
  int traces = 0;
  int with_numbers = 0;      // traces with a finding about states or logits
  std::string only_numbers;  // such a finding of a trace in which nothing else is wrong
};

// The first `most` traces of the file.
Found judge_file(const std::string& file, int most) {
  Found found;
  LineSource source = LineSource::open(HYBRIDSCOPE_SOURCE_DIR "/tests/recordings/" + file).value();
  JudgedTrace trace(file, CheckScope::step, {}, model());
  std::string numbers;
  bool other = false;
  const auto end_trace = [&] {
    found.with_numbers += numbers.empty() ? 0 : 1;
    if (!numbers.empty() && !other) found.only_numbers = numbers;
    numbers.clear();
    other = false;
  };
  std::int64_t number = 0;
  for (auto line = source.next(); line.value(); line = source.next()) {
    const auto taken = trace.take(line.value()->text, ++number);
    if (!taken.ok()) {
      ADD_FAILURE() << taken.error().message;
      break;
    }
    if (taken.value().kind == TraceLine::header) {
      end_trace();
      if (found.traces == most) return found;
      ++found.traces;
    }
    if (!taken.value().step) continue;
    for (const Finding& finding : taken.value().step->findings) {
      const RuleInfo& rule = rule_info(finding.rule);
      if (rule.evidence == Evidence::numbers)
        numbers =
            "step " + std::to_string(finding.step) + ": " + explain_finding(finding, trace.names());
      else
        other = other || rule.severity == Severity::error;
    }
  }
  end_trace();
  return found;
}

// Runner V2 of 0.33.0.
TEST(JudgedLanguage, AHealthyEngineHoldsWhatLoneRunsHold) {
  const Found found = judge_file("0.33.0_v2.jsonl.zst", kTraces);
  EXPECT_GT(found.traces, 0);
  EXPECT_EQ(found.with_numbers, 0) << found.only_numbers;
}

TEST(JudgedLanguage, StatesAreWrongWhereTheJudgeFindsAFault) {
  const Found found = judge_file("0.33.0.jsonl.zst", 2 * kTraces);
  EXPECT_GT(found.with_numbers, 0);
  EXPECT_EQ(found.only_numbers, "");
}

}  // namespace
}  // namespace hybridscope::judged_language_test
