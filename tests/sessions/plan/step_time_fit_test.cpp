#include "sessions/plan/step_time_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/fingerprint.h"

namespace hybridscope::test::step_time_fit_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::array kAll = {true, true, true, true};
constexpr std::array kNoCopies = {true, true, true, false};

// Prefills of 512 and 2,048 tokens beside decodes, then decodes of 1 to 16 requests.
std::vector<TimedStep> works() {
  std::vector<TimedStep> steps;
  for (const std::int64_t prefill : {512, 2048, 512, 1024})
    for (const std::int64_t decode : {0, 4, 9})
      steps.push_back({.work = {prefill, decode, prefill == 512 ? 5'000'000 : 0}});
  for (std::int64_t decode = 1; decode <= 16; ++decode)
    steps.push_back({.work = {0, decode, decode % 5 == 0 ? 2'000'000 : 0}});
  return steps;
}

// The same with times by this formula, in whole microseconds.
std::vector<TimedStep> timed(const StepTime& time) {
  std::vector<TimedStep> steps = works();
  for (TimedStep& step : steps) step.time_us = static_cast<std::int64_t>(time.of(step.work) + 0.5);
  return steps;
}

std::array<TermFit, 4> fits(const StepTimeFit& fit) {
  return {fit.terms[0].fit, fit.terms[1].fit, fit.terms[2].fit, fit.terms[3].fit};
}

TEST(StepTimeFit, FindsTheConstantsOfStepsThatFollowAFormula) {
  const StepTimeFit fit = fit_step_time(timed({8000, 25, 60, 0.0002}), kAll).value();
  EXPECT_EQ(fit.time, (StepTime{8000, 25, 60, 0.0002}));
  EXPECT_EQ(fit.num_steps, 28);
  EXPECT_THAT(fit.left_out, IsEmpty());
  EXPECT_EQ(fit.p90_error, 0);
  EXPECT_EQ(fit.r_squared, 1);
}

TEST(StepTimeFit, AFractionOfAMicrosecondATokenIsFoundFromWholeMicroseconds) {
  const StepTimeFit fit = fit_step_time(timed({812, 0.75, 30.5, 0}), kNoCopies).value();
  EXPECT_NEAR(fit.time.base_us, 812, 1);
  EXPECT_NEAR(fit.time.prefill_us, 0.75, 0.001);
  EXPECT_NEAR(fit.time.decode_us, 30.5, 0.1);
  EXPECT_GT(fit.terms[1].standard_error_us, 0);
}

// Two steps of 8 ms and a step with a prompt, of which only the sum is known.
TEST(StepTimeFit, StepsThatAreTimedTogetherCountEach) {
  std::vector<TimedStep> steps = timed({8000, 25, 60, 0.0002});
  steps.push_back({.work = {2000, 8, 0}, .time_us = 3 * 8000 + 25 * 2000 + 60 * 8, .num_steps = 3});
  const StepTimeFit fit = fit_step_time(steps, kAll).value();
  EXPECT_EQ(fit.time, (StepTime{8000, 25, 60, 0.0002}));
  EXPECT_EQ(fit.num_steps, 31);
  EXPECT_EQ(time_by(fit.time, steps.back()), 74'480);
}

// Up to 10 % more or less, by a fixed sequence.
TEST(StepTimeFit, NoiseMovesTheConstantsLessThanItself) {
  std::vector<TimedStep> steps;
  for (std::uint64_t round = 0; round < 40; ++round)
    for (const TimedStep& step : timed({8000, 25, 60, 0.0002})) {
      const auto noise = static_cast<double>(mix(round, steps.size()) % 2001) / 1000 - 1;
      steps.push_back(step);
      steps.back().time_us +=
          static_cast<std::int64_t>(0.1 * noise * static_cast<double>(step.time_us));
    }
  const StepTimeFit fit = fit_step_time(steps, kAll).value();
  EXPECT_NEAR(fit.time.base_us, 8000, 400);
  EXPECT_NEAR(fit.time.prefill_us, 25, 0.5);
  EXPECT_NEAR(fit.time.decode_us, 60, 30);
  EXPECT_NEAR(fit.median_error, 0.05, 0.01);
  EXPECT_NEAR(fit.p90_error, 0.09, 0.01);
  EXPECT_GT(fit.r_squared, 0.95);
  EXPECT_THAT(fit.left_out, IsEmpty());
}

// The first prefill and the first decode compile for seconds; a decode takes four times as long.
TEST(StepTimeFit, StepsThatTakeMoreThanThreeTimesAsLongAreLeftOut) {
  std::vector<TimedStep> steps = timed({8000, 25, 60, 0.0002});
  steps[0].time_us = 21'000'000;
  steps[12].time_us = 4'000'000;
  steps[20].time_us *= 4;
  steps[24].time_us *= 2;  // stays
  const StepTimeFit fit = fit_step_time(steps, kAll).value();
  EXPECT_THAT(fit.left_out, ElementsAre(0, 12, 20));
  EXPECT_EQ(fit.num_steps, 25);
  steps[24].time_us /= 2;
  EXPECT_EQ(fit_step_time(steps, kAll).value().time, (StepTime{8000, 25, 60, 0.0002}));
}

TEST(StepTimeFit, ATermThatWouldBeNegativeIsZero) {
  std::vector<TimedStep> steps = works();
  for (TimedStep& step : steps) step.time_us = 9000 - 50 * step.work.decode;
  const StepTimeFit fit = fit_step_time(steps, kNoCopies).value();
  EXPECT_EQ(fit.time.decode_us, 0);
  EXPECT_EQ(fit.terms[2].fit, TermFit::at_zero);
  EXPECT_EQ(fit.terms[0].fit, TermFit::fitted);
  EXPECT_GE(fit.time.prefill_us, 0);
}

TEST(StepTimeFit, ATermThatNoStepHasIsNotKnown) {
  std::vector<TimedStep> steps = timed({8000, 0, 60, 0});
  steps.erase(steps.begin(), steps.begin() + 12);
  for (TimedStep& step : steps) step.work.copied_bytes = 0;
  const StepTimeFit fit = fit_step_time(steps, kAll).value();
  EXPECT_EQ(fit.time, (StepTime{8000, 0, 60, 0}));
  EXPECT_THAT(fits(fit), ElementsAre(TermFit::fitted, TermFit::never_seen, TermFit::fitted,
                                     TermFit::never_seen));
}

TEST(StepTimeFit, ATermThatIsNotWantedIsNotThere) {
  const StepTimeFit fit = fit_step_time(timed({0, 25, 60, 0}), {false, true, true, false}).value();
  EXPECT_EQ(fit.time, (StepTime{0, 25, 60, 0}));
  EXPECT_EQ(fit.terms[0].fit, TermFit::not_wanted);
}

TEST(StepTimeFit, WhatCannotBeToldApartIsNamed) {
  std::vector<TimedStep> steps = timed({8000, 25, 60, 0.0002});
  for (TimedStep& step : steps) step.work.decode = 16;
  EXPECT_EQ(fit_step_time(steps, kAll).error().message,
            "the number of tokens of decodes is the same in every step, so that their times cannot "
            "be told apart; record other mixes of requests, or leave one of the terms out "
            "(--without)");
  EXPECT_TRUE(fit_step_time(steps, {false, true, true, true}).ok());
  for (TimedStep& step : steps) step.work.copied_bytes = 1000 * step.work.prefill;
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps[i].work.decode = static_cast<std::int64_t>(i % 7);
  EXPECT_THAT(fit_step_time(steps, kAll).error().message,
              HasSubstr("copied bytes follows from tokens of prefills in every step"));
  for (TimedStep& step : steps) step.work.decode = step.work.prefill / 512 + 3;
  EXPECT_THAT(fit_step_time(steps, kNoCopies).error().message,
              HasSubstr("tokens of decodes follows from the base and tokens of prefills in every"));
}

TEST(StepTimeFit, AFewStepsAreTooFew) {
  std::vector<TimedStep> steps = timed({8000, 25, 60, 0.0002});
  steps.resize(9);
  EXPECT_EQ(fit_step_time(steps, kAll).error().message,
            "9 steps with a time, expected at least 10");
  EXPECT_THAT(fit_step_time({}, kAll).error().message, HasSubstr("0 steps with a time"));
}

TEST(StepTimeFit, StepsOfNoTimeHaveNoFormulaButZero) {
  const StepTimeFit fit = fit_step_time(timed({0, 0, 0, 0}), kNoCopies).value();
  EXPECT_LE(fit.time.base_us, 1);
  EXPECT_EQ(fit.time.prefill_us, 0);
  EXPECT_EQ(fit.r_squared, std::nullopt);
}

}  // namespace
}  // namespace hybridscope::test::step_time_fit_test
