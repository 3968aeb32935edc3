#include "sessions/plan/plan_traffic.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

std::uint64_t digest_of(std::uint64_t digest, const ArrivingRequest& arriving) {
  const AddRequest& request = arriving.request;
  const auto add = [&digest](auto value) {
    digest = mix(digest, static_cast<std::uint64_t>(value));
  };
  add(arriving.at_step);
  add(arriving.arrival_us);
  add(hash_name(NameKind::request, request.name));
  add(request.key);
  add(request.max_tokens);
  add(request.priority);
  add(request.cache_salt);
  for (const std::string& name : arriving.after) add(hash_name(NameKind::request, name));
  add(arriving.delay_us);
  add(request.prompt.size());
  for (const PromptSegment& segment : request.prompt) {
    add(segment.source);
    add(segment.content);
    add(segment.first);
    add(segment.length);
  }
  return digest;
}

}  // namespace

PlanTraffic::PlanTraffic(std::string name, Traffic traffic, std::int64_t limit,
                         std::size_t num_kept)
    : name_(std::move(name)), traffic_(std::move(traffic)), num_kept_(num_kept) {
  if (limit > 0 && static_cast<std::size_t>(limit) < traffic_.requests.size())
    traffic_.requests.resize(static_cast<std::size_t>(limit));
}

std::shared_ptr<PlanTraffic::Way> PlanTraffic::way_of(const PromptFolding& folding) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      ways_, [&](const std::shared_ptr<Way>& way) { return way->folding == folding; });
  if (found != ways_.end()) {
    ways_.splice(ways_.begin(), ways_, found);
  } else {
    ways_.push_front(std::make_shared<Way>());
    ways_.front()->folding = folding;
    if (ways_.size() > num_kept_) ways_.pop_back();
  }
  return ways_.front();
}

FoldedPrompts PlanTraffic::folded(const EngineConfig& config) {
  const PromptFolding folding = prompt_folding(config);
  const std::shared_ptr<Way> way = way_of(folding);
  const std::scoped_lock lock(way->mutex);
  if (way->prompts == nullptr) {
    auto prompts = std::make_shared<std::vector<PrefixFingerprints>>();
    prompts->reserve(traffic_.requests.size());
    for (const ArrivingRequest& arriving : traffic_.requests)
      prompts->push_back(fold_prompt(folding, arriving.request));
    way->prompts = std::move(prompts);
    const std::scoped_lock counted(mutex_);
    ++num_folded_;
  }
  return way->prompts;
}

std::int64_t PlanTraffic::num_folded() const {
  const std::scoped_lock lock(mutex_);
  return num_folded_;
}

std::string PlanTraffic::digest() const {
  std::uint64_t digest = mix(0, traffic_.requests.size());
  for (const ArrivingRequest& arriving : traffic_.requests) digest = digest_of(digest, arriving);
  return fmt::format("{:016x}", digest);
}

}  // namespace hybridscope
