#include "tests/sessions/explain/cached_prefixes.h"

#include <algorithm>
#include <iterator>

namespace hybridscope::test {

CachedPrefixes::Prefix CachedPrefixes::prefix_of(const Engine& engine, RequestId request,
                                                 std::int32_t group, std::int32_t num_tokens) {
  Prefix prefix{.group = group, .salt = engine.cache_salt(request), .tokens = {}};
  for (std::int32_t i = 0; i < num_tokens; ++i) prefix.tokens.push_back(engine.token(request, i));
  return prefix;
}

void CachedPrefixes::forget(std::span<const CacheEvent> events) {
  for (const CacheEvent& event : events) {
    if (event.kind != CacheEventKind::evicted && event.kind != CacheEventKind::withdrawn) continue;
    for (auto known = blocks_.begin(); known != blocks_.end();) {
      known->second.erase(event.block);
      known = known->second.empty() ? blocks_.erase(known) : std::next(known);
    }
  }
}

void CachedPrefixes::learn(std::span<const CacheEvent> events, const Engine& engine) {
  for (const CacheEvent& event : events) {
    if (event.kind == CacheEventKind::registered)
      blocks_[prefix_of(engine, event.request, event.group, event.num_tokens)].insert(event.block);
    forget({&event, 1});
  }
}

bool CachedPrefixes::has(const Engine& engine, RequestId request, std::int32_t group,
                         std::int32_t num_tokens) const {
  return blocks_.contains(prefix_of(engine, request, group, num_tokens));
}

bool CachedPrefixes::has_any(const Engine& engine, RequestId request,
                             std::int32_t num_tokens) const {
  const Prefix all = prefix_of(engine, request, 0, num_tokens);
  return std::ranges::any_of(blocks_, [&](const auto& known) {
    const Prefix& prefix = known.first;
    return prefix.salt == all.salt && prefix.tokens.size() <= all.tokens.size() &&
           std::ranges::equal(prefix.tokens, std::span(all.tokens).first(prefix.tokens.size()));
  });
}

}  // namespace hybridscope::test
