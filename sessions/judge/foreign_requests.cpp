#include "sessions/judge/foreign_requests.h"

#include <algorithm>

namespace hybridscope {

ForeignRequest::ForeignRequest(std::uint64_t cache_salt)
    : prefixes_{seed_fingerprint(cache_salt)} {}

void ForeignRequest::append(std::span<const std::int32_t> token_ids) {
  for (const std::int32_t id : token_ids) {
    tokens_.push_back(foreign_token(id));
    prefixes_.push_back(extend_fingerprint(prefixes_.back(), tokens_.back()));
  }
}

void ForeignRequest::confirm(std::int32_t num_sampled_tokens) {
  num_known_tokens = std::min(num_known_tokens + num_sampled_tokens, num_tokens());
}

void ForeignRequest::forget_frames_in_flight() {
  const auto known = static_cast<std::size_t>(num_known_tokens);
  tokens_.resize(known);
  prefixes_.resize(known + 1);
  num_output_placeholders = 0;
  first_valid_run = run + 1;
}

void ForeignRequest::leave_run() {
  ++run;
  runs = false;
  num_computed_tokens = 0;
  exact_computed_tokens = -1;
}

Fingerprint ForeignRequest::prefix(std::int32_t position) const {
  if (position < 0) return 0;
  if (position <= num_tokens()) return prefixes_[static_cast<std::size_t>(position)];
  return mix(mix(prefixes_.back(), ~std::uint64_t{0}), static_cast<std::uint64_t>(position));
}

ForeignRequest& ForeignRequests::add(RequestId id, std::uint64_t cache_salt) {
  HS_EXPECT(id.value >= 0 && !holds(id));
  const auto index = static_cast<std::size_t>(id.value);
  if (index >= requests_.size()) requests_.resize(index + 1);
  requests_[index] = std::make_unique<ForeignRequest>(cache_salt);
  ++num_live_;
  return *requests_[index];
}

void ForeignRequests::release(RequestId id) {
  if (!holds(id)) return;
  requests_[static_cast<std::size_t>(id.value)].reset();
  --num_live_;
}

}  // namespace hybridscope
