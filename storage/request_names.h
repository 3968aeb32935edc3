// The requests that a session's steps have named so far.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/step_queue.h"

namespace hybridscope {

class RequestNames {
 public:
  explicit RequestNames(std::function<std::string(RequestId)> name) : name_(std::move(name)) {}

  // Fills step.new_requests with those that the record is the first to name.
  void find_new(QueuedStep& step);

 private:
  void see(RequestId request, QueuedStep& step);

  std::function<std::string(RequestId)> name_;
  std::vector<bool> known_;  // [requests]
};

}  // namespace hybridscope
