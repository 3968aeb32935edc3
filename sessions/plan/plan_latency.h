// What follows from an assumed step time: when requests get their tokens.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "core/engine/engine.h"
#include "core/trace/step_trace.h"
#include "sessions/scenario/arriving_request.h"

namespace hybridscope {

// Counts durations in classes that are 1/64 of their value wide.
class DurationCounts {
 public:
  void add(std::int64_t us, std::int64_t count = 1);
  // The smallest duration that at least `percent` of all have or stay below, rounded down to its
  // class; 0 without durations. 0 < percent <= 100.
  std::int64_t percentile(std::int32_t percent) const;

 private:
  std::map<std::int64_t, std::int64_t> counts_;  // by the smallest duration of the class
  std::int64_t num_ = 0;
};

struct Percentiles {
  std::int64_t p50_us = 0;
  std::int64_t p90_us = 0;
  std::int64_t p99_us = 0;
  friend bool operator==(const Percentiles&, const Percentiles&) = default;
};

struct PlanLatency {
  std::int64_t span_us = 0;    // from the first arrival to the end of the last step
  Percentiles first_token;     // from the arrival of a request to its first token
  Percentiles between_tokens;  // tokens of one step share the time since the last one
  friend bool operator==(const PlanLatency&, const PlanLatency&) = default;
};

class LatencyMeter {
 public:
  // `requests`: of the plan; must outlive this object.
  explicit LatencyMeter(std::span<const ArrivingRequest> requests);

  // A step of the engine, before the next one.
  void add(const StepTrace& trace, const Engine& engine);
  PlanLatency latency() const;

 private:
  struct Request {
    std::int64_t arrival_us = 0;
    std::int64_t last_token_us = -1;  // -1: none yet
  };
  Request& request(RequestId id);

  std::int64_t arrival_of(const ArrivingRequest& arriving) const;

  std::map<std::string_view, const ArrivingRequest*> arrivals_;  // by name
  std::map<std::string_view, std::int64_t> ends_us_;  // of requests that others wait for, by name
  std::vector<Request> requests_;                     // by id
  DurationCounts first_token_;
  DurationCounts between_tokens_;
  std::int64_t first_arrival_us_ = -1;
  std::int64_t end_us_ = 0;
};

}  // namespace hybridscope
