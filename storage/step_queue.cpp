#include "storage/step_queue.h"

#include <algorithm>
#include <utility>

namespace hybridscope {

std::unique_ptr<QueuedStep> StepQueue::take_free() {
  std::unique_lock lock(mutex_);
  space_.wait(lock, [&] { return num_out_ < sizes_.max_steps || failure_; });
  ++num_out_;
  if (free_.empty()) return std::make_unique<QueuedStep>();
  auto step = std::move(free_.back());
  free_.pop_back();
  return step;
}

void StepQueue::push(std::unique_ptr<QueuedStep> step) {
  const std::lock_guard lock(mutex_);
  if (failure_) {
    --num_out_;
    free_.push_back(std::move(step));
    return;
  }
  if (queued_.empty()) oldest_ = Clock::now();
  queued_.push_back(std::move(step));
  // Waking the writer for every step would cost both threads more than the step itself.
  if (queued_.size() == 1 || queued_.size() == sizes_.wake) work_.notify_one();
}

void StepQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  work_.notify_one();
}

std::optional<Error> StepQueue::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

StepQueue::Steps StepQueue::take_locked(std::size_t at_most) {
  Steps steps;
  while (!queued_.empty() && steps.size() < at_most) {
    steps.push_back(std::move(queued_.front()));
    queued_.pop_front();
  }
  oldest_ = Clock::now();  // a lower bound of waiting: the others' times are not kept
  return steps;
}

StepQueue::Steps StepQueue::take(std::chrono::milliseconds patience, std::size_t at_most) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [&] { return closed_ || queued_.size() >= sizes_.wake; };
  work_.wait(lock, [&] { return closed_ || !queued_.empty(); });
  if (!is_ready()) work_.wait_until(lock, oldest_ + patience, is_ready);
  return take_locked(at_most);
}

StepQueue::Steps StepQueue::take_queued(std::size_t at_most) {
  const std::lock_guard lock(mutex_);
  return take_locked(at_most);
}

void StepQueue::give_back(Steps steps) {
  const std::lock_guard lock(mutex_);
  num_out_ -= steps.size();
  for (auto& step : steps) free_.push_back(std::move(step));
  space_.notify_one();
}

void StepQueue::fail(Error error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
  num_out_ -= queued_.size();
  queued_.clear();
  space_.notify_all();
}

}  // namespace hybridscope
