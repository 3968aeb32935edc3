#include "tests/kernels/numeric/numeric_case.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

namespace hybridscope::test {
namespace {

template <class T>
std::string hexadecimal(T bits) {
  std::ostringstream text;
  text << std::hex << std::setfill('0') << std::setw(2 * sizeof(T)) << std::uint64_t{bits};
  return text.str();
}

template <class T>
testing::AssertionResult differ_at(std::size_t index, std::size_t size, T expected, T got) {
  return testing::AssertionFailure() << "element " << index << " of " << size << ": expected bits "
                                     << hexadecimal(expected) << ", got " << hexadecimal(got);
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

std::vector<float> NumericDraw::floats(std::int64_t count, float scale) {
  std::normal_distribution<float> normal(0.0F, scale);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random_);
  if (!has_special_numbers_ || !chance(0.125)) return values;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (float& value : values)
    if (chance(0.003))
      value = one_of<float>({0.0F, -0.0F, 1e-41F, -3e-39F, 3e38F, -1e30F, kInfinity, -kInfinity});
  return values;
}

std::vector<float> random_pool(NumericDraw& draw, std::int32_t num_blocks,
                               std::int64_t block_elements) {
  std::vector<float> pool = draw.floats(num_blocks * block_elements);
  std::fill_n(pool.begin(), block_elements, std::numeric_limits<float>::quiet_NaN());
  return pool;
}

testing::AssertionResult same_bits(std::span<const float> expected, std::span<const float> got) {
  if (expected.size() != got.size())
    return testing::AssertionFailure() << expected.size() << " and " << got.size() << " elements";
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (bits_of(expected[i]) != bits_of(got[i]) && !(std::isnan(expected[i]) && std::isnan(got[i])))
      return differ_at(i, got.size(), bits_of(expected[i]), bits_of(got[i]));
  return testing::AssertionSuccess();
}

testing::AssertionResult same_bits(std::span<const std::uint16_t> expected,
                                   std::span<const std::uint16_t> got) {
  if (expected.size() != got.size())
    return testing::AssertionFailure() << expected.size() << " and " << got.size() << " elements";
  const auto is_nan = [](std::uint16_t bits) { return (bits & 0x7FFF) > 0x7F80; };
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != got[i] && !(is_nan(expected[i]) && is_nan(got[i])))
      return differ_at(i, got.size(), expected[i], got[i]);
  return testing::AssertionSuccess();
}

void expect_same_outcome(const std::vector<float>& pool, std::int64_t num_outputs,
                         const NumericCall& host, const NumericCall& device) {
  const auto size = static_cast<std::size_t>(num_outputs);
  NumericOutcome expected{.pool = pool, .y = std::vector<float>(size)};
  NumericOutcome got{.pool = pool,
                     .y = std::vector<float>(size, std::numeric_limits<float>::quiet_NaN())};
  ASSERT_TRUE(host(expected).ok());
  const Status status = device(got);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(same_bits(expected.y, got.y)) << "of outputs";
  EXPECT_TRUE(same_bits(expected.pool, got.pool)) << "of blocks";
}

void for_each_numeric_case(int usual, const std::function<void(NumericDraw&)>& body) {
  const std::uint64_t seed = SeededDraw().seed();
  for (int i = 0; i < num_cases(usual); ++i) {
    const std::uint64_t seed_of_case = seed + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("HYBRIDSCOPE_CASES=1 HYBRIDSCOPE_SEED=" + std::to_string(seed_of_case));
    NumericDraw draw(seed_of_case);
    body(draw);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace hybridscope::test
