// A request and its arrival: the common result of scenario files, traffic files and the generator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/command.h"

namespace hybridscope {

// Joins before the first step whose number is at least `at_step` (counted from 1) and that starts
// at or after `arrival_us`, and not before `delay_us` after the end of the last request of `after`.
struct ArrivingRequest {
  std::int32_t at_step = 1;
  std::int64_t arrival_us = 0;
  AddRequest request;
  std::vector<std::string> after = {};  // names of other requests
  std::int64_t delay_us = 0;            // think time, or what a tool takes
};

std::int64_t num_prompt_tokens(const AddRequest& request);

}  // namespace hybridscope
