#include "sessions/diff/request_numbers.h"

namespace hybridscope {

std::int32_t RequestNumbers::number(int side, RequestId request) {
  if (request.value < 0) return -1;
  auto& numbers = numbers_[side];
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= numbers.size()) numbers.resize(id + 1, -1);
  if (numbers[id] >= 0) return numbers[id];
  std::string name = sources_[side]->request_name(request);
  auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    names_.push_back(std::move(name));
    found = by_name_.emplace(names_.back(), static_cast<std::int32_t>(names_.size() - 1)).first;
  }
  return numbers[id] = found->second;
}

}  // namespace hybridscope
