// Which prefixes the prefix cache knows, from the events of the steps and the tokens of the
// requests alone: without hashes and without the cache.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "core/caching/cache_events.h"
#include "core/engine/engine.h"

namespace hybridscope::test {

class CachedPrefixes {
 public:
  // Before the lookups of a step are looked at, forget() the step's events: what is left was there
  // during the whole step. Afterwards learn() them, and forget() and learn() those of its commit.
  void forget(std::span<const CacheEvent> events);
  // Requires: the requests of the events have not been released.
  void learn(std::span<const CacheEvent> events, const Engine& engine);

  // Does the group have a block under the first `num_tokens` tokens of the request? Requires: it
  // has not been released.
  bool has(const Engine& engine, RequestId request, std::int32_t group,
           std::int32_t num_tokens) const;
  // Does any group have a block under the first tokens of the request, however many?
  bool has_any(const Engine& engine, RequestId request, std::int32_t num_tokens) const;

 private:
  struct Prefix {
    std::int32_t group = 0;
    std::uint64_t salt = 0;
    std::vector<TokenContent> tokens;
    auto operator<=>(const Prefix&) const = default;
  };
  static Prefix prefix_of(const Engine& engine, RequestId request, std::int32_t group,
                          std::int32_t num_tokens);

  std::map<Prefix, std::set<std::int32_t>> blocks_;  // that are known by it
};

}  // namespace hybridscope::test
