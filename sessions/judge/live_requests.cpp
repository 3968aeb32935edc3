#include "sessions/judge/live_requests.h"

#include "core/base/check.h"

namespace hybridscope {

std::optional<RequestId> LiveRequests::find(std::string_view name) const {
  const auto found = live_.find(name);
  if (found == live_.end()) return std::nullopt;
  return found->second;
}

RequestId LiveRequests::add(std::string_view name) {
  const RequestId request{count()};
  const bool added = live_.emplace(std::string(name), request).second;
  HS_EXPECT(added);
  names_.emplace_back(name);
  entries_.emplace_back();
  return request;
}

void LiveRequests::finish(RequestId request) {
  const auto found = live_.find(name_of(request));
  HS_EXPECT(found != live_.end() && found->second == request);
  live_.erase(found);
}

const std::string& LiveRequests::name_of(RequestId request) const {
  HS_EXPECT(request.value >= 0 && request.value < count());
  return names_[static_cast<std::size_t>(request.value)];
}

LiveRequests::Entry& LiveRequests::entry(RequestId request) {
  HS_EXPECT(request.value >= 0 && request.value < count());
  return entries_[static_cast<std::size_t>(request.value)];
}

LiveRequests::InStep& LiveRequests::in_step(RequestId request) {
  Entry& of = entry(request);
  if (of.step != step_) {
    of.step = step_;
    of.in_step = {};
  }
  return of.in_step;
}

bool LiveRequests::first_in_list(RequestId request) {
  Entry& of = entry(request);
  if (of.list == list_) return false;
  of.list = list_;
  return true;
}

}  // namespace hybridscope
