#include "core/engine/engine_request.h"

namespace hybridscope {

RequestList::RequestList(const RequestList& other) : names_(other.names_) {
  requests_.reserve(other.requests_.size());
  for (const std::unique_ptr<EngineRequest>& request : other.requests_) {
    requests_.push_back(request == nullptr ? nullptr : std::make_unique<EngineRequest>(*request));
    if (request == nullptr) continue;
    EngineRequest& copy = *requests_.back();
    copy.scheduling.block_hashes =
        copy.prefix.cache_keys().first(request->scheduling.block_hashes.size());
  }
}

}  // namespace hybridscope
