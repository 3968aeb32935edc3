#include "sessions/cache_report/planned_requests.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/check.h"

namespace hybridscope {

CacheReport::RequestOf planned_requests(const RunPlan& plan,
                                        std::function<std::string(RequestId)> name_of) {
  std::unordered_map<std::string, const AddRequest*> by_name;
  for (const ArrivingRequest& arriving : plan.requests)
    by_name.emplace(arriving.request.name, &arriving.request);
  return [by_name = std::move(by_name),
          name_of = std::move(name_of)](RequestId id) -> const AddRequest& {
    const auto found = by_name.find(name_of(id));
    HS_EXPECT(found != by_name.end());
    return *found->second;
  };
}

std::ptrdiff_t find_planned(const RunPlan& plan, const std::string& name) {
  const auto found =
      std::find_if(plan.requests.begin(), plan.requests.end(),
                   [&](const ArrivingRequest& arriving) { return arriving.request.name == name; });
  return found == plan.requests.end() ? -1 : found - plan.requests.begin();
}

}  // namespace hybridscope
