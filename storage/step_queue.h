// Steps on their way from the engine's thread to the writer's. Bounded: whoever pushes waits while
// kMaxQueuedSteps are on their way. Their storage goes round.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// A step, with the words that only the pusher's thread can make.
struct QueuedStep {
  StepRecord record;
  struct NewRequest {
    RequestId request{};
    std::string name;
  };
  std::vector<NewRequest> new_requests;    // named here for the first time
  std::vector<std::string> finding_texts;  // [findings]
};

class StepQueue {
 public:
  using Steps = std::vector<std::unique_ptr<QueuedStep>>;

  struct Sizes {
    std::size_t max_steps = 0;  // on their way
    std::size_t wake = 0;       // queued ones that the writer is woken for
  };
  explicit StepQueue(Sizes sizes) : sizes_(sizes) {}

  // The pusher's side. A step to fill; waits while the queue is full.
  std::unique_ptr<QueuedStep> take_free();
  void push(std::unique_ptr<QueuedStep> step);
  // No step comes any more.
  void close();
  // What the writer met; after it nothing waits.
  std::optional<Error> failure();

  // The writer's side. Waits until there are steps enough to wake it, the oldest one has waited for
  // `patience`, or the queue is closed. None: closed and empty.
  Steps take(std::chrono::milliseconds patience, std::size_t at_most);
  // Does not wait. None: nothing is queued.
  Steps take_queued(std::size_t at_most);
  // Written: their storage goes round.
  void give_back(Steps steps);
  void fail(Error error);

 private:
  using Clock = std::chrono::steady_clock;
  Steps take_locked(std::size_t at_most);

  std::mutex mutex_;
  std::condition_variable space_;
  std::condition_variable work_;
  Sizes sizes_;
  std::size_t num_out_ = 0;  // taken to be filled, queued or being written
  Steps free_;
  std::deque<std::unique_ptr<QueuedStep>> queued_;
  Clock::time_point oldest_{};  // when the first of queued_ came
  bool closed_ = false;
  std::optional<Error> failure_;
};

}  // namespace hybridscope
