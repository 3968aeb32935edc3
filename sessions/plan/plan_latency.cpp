#include "sessions/plan/plan_latency.h"

#include <algorithm>
#include <bit>

namespace hybridscope {
namespace {

constexpr int kClassBits = 6;

// The smallest duration of its class.
std::int64_t class_of(std::int64_t us) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0));
  const int dropped = std::max(0, static_cast<int>(std::bit_width(value)) - 1 - kClassBits);
  return static_cast<std::int64_t>(value >> dropped << dropped);
}

Percentiles percentiles_of(const DurationCounts& counts) {
  return {counts.percentile(50), counts.percentile(90), counts.percentile(99)};
}

}  // namespace

void DurationCounts::add(std::int64_t us, std::int64_t count) {
  counts_[class_of(us)] += count;
  num_ += count;
}

std::int64_t DurationCounts::percentile(std::int32_t percent) const {
  std::int64_t below = 0;
  for (const auto& [us, count] : counts_) {
    below += count;
    if (below * 100 >= num_ * percent) return us;
  }
  return 0;
}

LatencyMeter::LatencyMeter(std::span<const ArrivingRequest> requests) {
  for (const ArrivingRequest& arriving : requests) {
    arrivals_[arriving.request.name] = &arriving;
    for (const std::string& name : arriving.after) ends_us_[name] = 0;
  }
}

// A request that waits for others arrives when the last of them has ended and its delay is over.
std::int64_t LatencyMeter::arrival_of(const ArrivingRequest& arriving) const {
  std::int64_t us = arriving.arrival_us;
  for (const std::string& name : arriving.after)
    us = std::max(us, ends_us_.at(name) + arriving.delay_us);
  return us;
}

LatencyMeter::Request& LatencyMeter::request(RequestId id) {
  const auto index = static_cast<std::size_t>(id.value);
  if (index >= requests_.size()) requests_.resize(index + 1);
  return requests_[index];
}

void LatencyMeter::add(const StepTrace& trace, const Engine& engine) {
  for (const CommandTrace& command : trace.commands) {
    if (command.command != CommandKind::add_request) continue;
    const std::int64_t arrival = arrival_of(*arrivals_.at(engine.name_of(command.request)));
    request(command.request).arrival_us = arrival;
    if (first_arrival_us_ < 0) first_arrival_us_ = arrival;
  }
  end_us_ = trace.time_us + trace.duration_us;
  for (const CommitTrace& commit : trace.committed) {
    if (commit.finished)
      if (const auto end = ends_us_.find(engine.name_of(commit.request)); end != ends_us_.end())
        end->second = end_us_;
    if (commit.num_appended_tokens < 1) continue;
    Request& of = request(commit.request);
    if (of.last_token_us < 0)
      first_token_.add(end_us_ - of.arrival_us);
    else
      between_tokens_.add((end_us_ - of.last_token_us) / commit.num_appended_tokens,
                          commit.num_appended_tokens);
    of.last_token_us = end_us_;
  }
}

PlanLatency LatencyMeter::latency() const {
  return {.span_us = end_us_ - std::max<std::int64_t>(first_arrival_us_, 0),
          .first_token = percentiles_of(first_token_),
          .between_tokens = percentiles_of(between_tokens_)};
}

}  // namespace hybridscope
