#include "gui/model/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::request_log_test {
namespace {

using testing::ElementsAre;

StepTrace step(std::int64_t number) {
  StepTrace trace;
  trace.step = number;
  return trace;
}

void admit(StepTrace& trace, std::int32_t request, Admission admission, std::int32_t hit) {
  ScheduledTrace scheduled;
  scheduled.request = {request};
  scheduled.admission = admission;
  scheduled.num_hit_tokens = hit;
  trace.scheduled.push_back(scheduled);
}

// Requests 0 and 1 come in step 1; 0 ends in step 2, 1 is aborted before step 4.
class RequestLogOf : public testing::Test {
 protected:
  void SetUp() override {
    StepTrace first = step(1);
    for (const std::int32_t request : {0, 1})
      first.commands.push_back({.command = CommandKind::add_request, .request = {request}});
    admit(first, 0, Admission::new_request, 8);
    log_.take(first);
    StepTrace second = step(2);
    admit(second, 1, Admission::new_request, 0);
    CommitTrace end;
    end.request = {0};
    end.finished = true;
    second.committed.push_back(end);
    log_.take(second);
    StepTrace third = step(3);
    admit(third, 1, Admission::resumed, 16);
    log_.take(third);
    StepTrace fourth = step(4);
    fourth.commands.push_back({.command = CommandKind::abort, .request = {1}});
    log_.take(fourth);
  }
  // -1: it was not admitted up to there.
  std::int32_t hit_of(RequestId request, std::int64_t step) const {
    const auto* admitted = log_.admitted(request, step);
    return admitted == nullptr ? -1 : admitted->num_hit_tokens;
  }
  RequestLog log_;
};

TEST_F(RequestLogOf, ARequestIsThereFromItsArrivalToItsEnd) {
  EXPECT_THAT(log_.unfinished(1), ElementsAre(RequestId{0}, RequestId{1}));
  EXPECT_THAT(log_.unfinished(2), ElementsAre(RequestId{0}, RequestId{1}));
  EXPECT_THAT(log_.unfinished(3), ElementsAre(RequestId{1}));
  EXPECT_THAT(log_.unfinished(4), ElementsAre());
}

TEST_F(RequestLogOf, AHitIsThatOfTheLastAdmissionUpToTheStep) {
  EXPECT_EQ(hit_of({0}, 2), 8);
  EXPECT_EQ(hit_of({1}, 1), -1);
  EXPECT_EQ(hit_of({1}, 2), 0);
  EXPECT_EQ(hit_of({1}, 4), 16);
  EXPECT_EQ(hit_of({7}, 4), -1);
}

TEST_F(RequestLogOf, WhatIsForgottenHasNotHappened) {
  log_.forget_after(2);
  EXPECT_THAT(log_.unfinished(3), ElementsAre(RequestId{1}));
  EXPECT_THAT(log_.unfinished(4), ElementsAre(RequestId{1}));
  EXPECT_EQ(hit_of({1}, 4), 0);
  log_.forget_after(1);
  EXPECT_THAT(log_.unfinished(3), ElementsAre(RequestId{0}, RequestId{1}));
}

}  // namespace
}  // namespace hybridscope::request_log_test
