// Requests that join after others have ended: who waits for whom, and who may join when.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/arriving_request.h"

namespace hybridscope {

// A request that may join from a step and a time on.
struct DueRequest {
  std::int32_t at_step = 1;
  std::int64_t due_us = 0;
  std::size_t index = 0;  // in the plan
  friend auto operator<=>(const DueRequest&, const DueRequest&) = default;
};

// Copies share what never changes.
class WaitingRequests {
 public:
  // Nobody waits.
  WaitingRequests() = default;

  // Error invalid_input with the pointer of the request ("/requests/1/after: ..."): a name that no
  // request has, or requests that wait for each other.
  static Result<WaitingRequests> create(std::span<const ArrivingRequest> requests);

  // Does the request wait for others, or has it waited?
  bool waits(std::size_t index) const { return links_ && links_->num_awaited[index] > 0; }
  // The request has ended, which is told once.
  void take_end(std::size_t index, std::int64_t time_us);
  // The requests that wait for nobody any more and have not joined, in the order in which they may
  // join.
  const std::set<DueRequest>& ready() const { return ready_; }
  // The request has joined. Requires: it is ready.
  void take_join(std::size_t index);

 private:
  struct Links {
    std::vector<std::int32_t> num_awaited;          // [requests]
    std::vector<std::vector<std::size_t>> waiting;  // [requests] who waits for it
    std::vector<DueRequest> earliest;               // [requests] without regard to the others
    std::vector<std::int64_t> delay_us;             // [requests]
  };
  struct Progress {
    std::int32_t num_left = 0;     // of those that it waits for
    std::int64_t last_end_us = 0;  // of those that have ended
  };
  DueRequest due(std::size_t index) const;

  std::shared_ptr<const Links> links_;  // null: nobody waits
  std::vector<Progress> progress_;      // [requests]
  std::set<DueRequest> ready_;
};

}  // namespace hybridscope
