#include "core/numeric/arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace hybridscope::arithmetic_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kSeed = 23;

TEST(Arithmetic, ExpIsTheNearestFloat32) {
  EXPECT_EQ(exp_f32(0.0F), 1.0F);
  EXPECT_EQ(exp_f32(1.0F), 0x1.5bf0a8p+1F);
  EXPECT_EQ(exp_f32(-1.0F), 0x1.78b564p-2F);
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<float> numbers(-87.0F, 88.0F);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (int i = 0; i < 20000; ++i) {
    const float x = numbers(random);
    ASSERT_EQ(exp_f32(x), static_cast<float>(std::exp(static_cast<long double>(x)))) << x;
  }
}

TEST(Arithmetic, ExpEndsInZeroAndInfinity) {
  EXPECT_EQ(exp_f32(-104.5F), 0.0F);
  EXPECT_EQ(exp_f32(-kInfinity), 0.0F);
  EXPECT_EQ(exp_f32(88.9F), kInfinity);
  EXPECT_EQ(exp_f32(kInfinity), kInfinity);
  EXPECT_GT(exp_f32(-103.0F), 0.0F);  // denormals stay
  EXPECT_TRUE(std::isnan(exp_f32(std::nanf(""))));
}

TEST(Arithmetic, SoftplusIsTheIdentityAbove20) {
  EXPECT_EQ(softplus_f32(20.5F), 20.5F);
  EXPECT_EQ(softplus_f32(0.0F), 0x1.62e430p-1F);  // log 2
  EXPECT_EQ(softplus_f32(-200.0F), 0.0F);
  EXPECT_NEAR(softplus_f32(20.0F), 20.0F, 1e-6F);
}

TEST(Arithmetic, GatesOfZeroAndOfLargeNumbers) {
  EXPECT_EQ(sigma_f32(0.0F), 0.5F);
  EXPECT_EQ(sigma_f32(-200.0F), 0.0F);
  EXPECT_EQ(silu_f32(0.0F), 0.0F);
  EXPECT_EQ(silu_f32(30.0F), 30.0F);
}

// From left to right the 1 would be lost beside 1e8.
TEST(OrderedSum, TermsThatAre32ApartMeetFirst) {
  OrderedSum sum;
  sum.add(0, 1e8F);
  sum.add(1, 1.0F);
  sum.add(32, -1e8F);
  EXPECT_EQ(sum.total(), 1.0F);
}

TEST(OrderedSum, LanesAreHalvedFromTheTop) {
  OrderedSum sum;
  sum.add(0, 1e8F);
  sum.add(16, -1e8F);  // meets lane 0 in the first halving
  sum.add(1, 1.0F);    // meets it in the last
  EXPECT_EQ(sum.total(), 1.0F);
  OrderedSum other;
  other.add(0, 1e8F);
  other.add(1, -1e8F);
  other.add(16, 1.0F);
  EXPECT_EQ(other.total(), 0.0F);
}

TEST(OrderedSum, ADotProductIsTheSumOfItsRoundedProducts) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> numbers;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (std::int64_t n = 0; n < 130; ++n) {
    std::vector<float> a, b;
    OrderedSum sum;
    for (std::int64_t i = 0; i < n; ++i) {
      a.push_back(numbers(random));
      b.push_back(numbers(random));
      const volatile float product = a.back() * b.back();
      sum.add(i, product);
    }
    const float dot = OrderedSum::dot(a.data(), b.data(), n);
    const float total = sum.total();
    ASSERT_EQ(std::memcmp(&dot, &total, sizeof dot), 0) << n;
  }
}

TEST(OrderedSum, ZerosBehindTheTermsChangeNothing) {
  const std::vector<float> a{1e8F, 1.0F, -1e8F};
  std::vector<float> padded = a;
  padded.resize(64);
  const std::vector<float> ones(64, 1.0F);
  EXPECT_EQ(OrderedSum::dot(a.data(), ones.data(), 3),
            OrderedSum::dot(padded.data(), ones.data(), 64));
}

}  // namespace
}  // namespace hybridscope::arithmetic_test
