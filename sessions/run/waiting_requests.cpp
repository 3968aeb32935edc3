#include "sessions/run/waiting_requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/check.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

Error bad_after(std::size_t index, const std::string& message) {
  return invalid_input(fmt::format("/requests/{}/after: {}", index, message));
}

}  // namespace

Result<WaitingRequests> WaitingRequests::create(std::span<const ArrivingRequest> requests) {
  WaitingRequests result;
  const auto waits = [](const ArrivingRequest& r) { return !r.after.empty(); };
  if (std::none_of(requests.begin(), requests.end(), waits)) return result;
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t i = 0; i < requests.size(); ++i) index_of.emplace(requests[i].request.name, i);
  auto links = std::make_shared<Links>();
  links->num_awaited.resize(requests.size());
  links->waiting.resize(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ArrivingRequest& arriving = requests[i];
    links->earliest.push_back({arriving.at_step, arriving.arrival_us, i});
    links->delay_us.push_back(arriving.delay_us);
    links->num_awaited[i] = static_cast<std::int32_t>(arriving.after.size());
    result.progress_.push_back({.num_left = links->num_awaited[i]});
    for (const std::string& name : arriving.after) {
      const auto other = index_of.find(name);
      if (other == index_of.end())
        return bad_after(i, fmt::format("there is no request {}", quoted_text(name)));
      links->waiting[other->second].push_back(i);
    }
  }
  // Whoever is never reached from those that wait for nobody waits for itself.
  std::vector<std::int32_t> left = links->num_awaited;
  std::vector<std::size_t> reached;
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (left[i] == 0) reached.push_back(i);
  for (std::size_t at = 0; at < reached.size(); ++at)
    for (const std::size_t next : links->waiting[reached[at]])
      if (--left[next] == 0) reached.push_back(next);
  if (reached.size() < requests.size()) {
    const auto circle =
        std::find_if(left.begin(), left.end(), [](std::int32_t n) { return n > 0; });
    const auto index = static_cast<std::size_t>(circle - left.begin());
    return bad_after(index, fmt::format("request {} waits for itself, or for one that does",
                                        quoted_text(requests[index].request.name)));
  }
  result.links_ = std::move(links);
  return result;
}

DueRequest WaitingRequests::due(std::size_t index) const {
  DueRequest due = links_->earliest[index];
  due.due_us = std::max(due.due_us, progress_[index].last_end_us + links_->delay_us[index]);
  return due;
}

void WaitingRequests::take_end(std::size_t index, std::int64_t time_us) {
  if (!links_) return;
  for (const std::size_t next : links_->waiting[index]) {
    Progress& progress = progress_[next];
    progress.last_end_us = std::max(progress.last_end_us, time_us);
    if (--progress.num_left == 0) ready_.insert(due(next));
  }
}

void WaitingRequests::take_join(std::size_t index) {
  const std::size_t erased = ready_.erase(due(index));
  HS_EXPECT(erased == 1);
}

}  // namespace hybridscope
