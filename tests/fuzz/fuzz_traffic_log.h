// Shared by the fuzzed readers of traffic: a log that keeps its promises, or one line of error.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

#include "sessions/run/runner.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/traffic/load_traffic.h"
#include "sessions/traffic/traffic_load.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/bytes_of.h"

namespace hybridscope::test {

inline void expect_log(const TrafficLog& log) {
  expect(!log.requests.empty(), "a log has requests");
  for (std::size_t i = 0; i < log.requests.size(); ++i) {
    const LoggedRequest& logged = log.requests[i];
    const std::int64_t length = num_prompt_tokens(logged.request);
    expect(length >= 1 && length <= kMaxPromptTokens, "a prompt has tokens");
    for (const PromptSegment& segment : logged.request.prompt)
      expect(segment.length >= 1 && segment.first >= 0, "a segment has tokens");
    expect(logged.request.max_tokens >= 1, "a request generates");
    for (const std::int32_t other : logged.after)
      expect(other >= 0 && static_cast<std::size_t>(other) < i, "whom it waits for is in front");
  }
}

inline void read_log(Result<TrafficLog> (*read)(TrafficInput), std::string_view text) {
  recognise_traffic(text);  // whatever it finds
  std::istringstream bytes{std::string(text)};
  const auto log = read({.read = bytes_of(bytes), .file = "t"});
  note_read(text, log.ok());
  if (!log.ok()) return expect_one_line(log.error().message, "t:");
  expect_log(log.value());
  for (const TrafficLoad& load : {TrafficLoad{}, TrafficLoad{.users = 2, .think_us = 5}}) {
    const auto traffic = arrange_traffic(log.value(), load);
    if (!traffic.ok()) continue;
    expect(traffic.value().requests.size() == log.value().requests.size(), "nothing is lost");
    expect(WaitingRequests::create(traffic.value().requests).ok(), "nobody waits for ever");
  }
}

}  // namespace hybridscope::test
