// Random draws of traffic: keyed, integers only, the same on every machine.
#pragma once

#include <cstdint>

namespace hybridscope {

// Drawn uniformly, both ends included.
struct TokenRange {
  std::int32_t min = 1;
  std::int32_t max = 1;
};

// What is drawn. Draws with different keys are independent, so changing one option of a generator
// does not change the draws of the others.
struct TrafficDrawKey {
  std::uint64_t purpose = 0;
  std::int32_t conversation = 0;
  std::int32_t turn = 0;
};

class TrafficDraws {
 public:
  // `domain` keeps generators with the same seed apart.
  TrafficDraws(std::uint64_t domain, std::uint64_t seed);

  std::uint64_t bits(const TrafficDrawKey& key) const;
  // Uniform in [min, max] up to 2^-32.
  std::int32_t uniform(const TokenRange& range, const TrafficDrawKey& key) const;
  // Approximately exponential with the given mean.
  std::int64_t waiting_time(std::int64_t mean_us, const TrafficDrawKey& key) const;

 private:
  std::uint64_t seed_;
};

}  // namespace hybridscope
