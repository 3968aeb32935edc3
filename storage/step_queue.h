// The queue of steps from the engine's thread to the writer's. Bounded: the pusher waits while
// kMaxQueuedSteps are in use. Steps are reused.
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

// A step, with the texts that must be made on the pusher's thread.
struct QueuedStep {
  StepRecord record;
  struct NewRequest {
    RequestId request{};
    std::string name;
  };
  std::vector<NewRequest> new_requests;    // requests that this step names first
  std::vector<std::string> finding_texts;  // [findings]
};

class StepQueue {
 public:
  using Steps = std::vector<std::unique_ptr<QueuedStep>>;

  struct Sizes {
    std::size_t max_steps = 0;  // steps in use
    std::size_t wake = 0;       // queued steps at which the writer is woken
  };
  explicit StepQueue(Sizes sizes) : sizes_(sizes) {}

  // For the pusher. A step to fill; waits while the queue is full.
  std::unique_ptr<QueuedStep> take_free();
  void push(std::unique_ptr<QueuedStep> step);
  // No more steps will come.
  void close();
  // The writer's error; after one, nothing waits any more.
  std::optional<Error> failure();

  // For the writer. Waits until there are enough steps to wake it, until the oldest one has waited
  // for `patience`, or until the queue is closed. Empty: closed, and no steps are left.
  Steps take(std::chrono::milliseconds patience, std::size_t at_most);
  // Does not wait. Empty: nothing is queued.
  Steps take_queued(std::size_t at_most);
  // Returns written steps for reuse.
  void give_back(Steps steps);
  void fail(Error error);

 private:
  using Clock = std::chrono::steady_clock;
  Steps take_locked(std::size_t at_most);

  std::mutex mutex_;
  std::condition_variable space_;
  std::condition_variable work_;
  Sizes sizes_;
  std::size_t num_out_ = 0;  // being filled, queued or being written
  Steps free_;
  std::deque<std::unique_ptr<QueuedStep>> queued_;
  Clock::time_point oldest_{};  // when the first of queued_ was pushed
  bool closed_ = false;
  std::optional<Error> failure_;
};

}  // namespace hybridscope
