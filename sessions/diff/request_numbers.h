// Gives the requests of two sessions common numbers: equal names have equal numbers, independent of
// the sessions' ids.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "sessions/record/step_source.h"

namespace hybridscope {

class RequestNumbers {
 public:
  // Asks each source once per request; both must outlive this.
  RequestNumbers(const StepSource& a, const StepSource& b) : sources_{&a, &b} {}

  // `side`: 0 is a, 1 is b. Returns -1 for no request.
  std::int32_t number(int side, RequestId request);
  // Valid while this lives; empty for -1.
  std::string_view name(std::int32_t number) const {
    return number < 0 ? std::string_view() : names_[static_cast<std::size_t>(number)];
  }
  std::size_t size() const { return names_.size(); }

 private:
  const StepSource* sources_[2];
  std::vector<std::int32_t> numbers_[2];  // by id; -1: not asked for yet
  std::deque<std::string> names_;         // by number
  std::unordered_map<std::string_view, std::int32_t> by_name_;
};

}  // namespace hybridscope
