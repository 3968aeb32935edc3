#include "core/base/policy_set.h"

#include <gtest/gtest.h>

namespace hybridscope {

// Two policies of nobody.
enum class Colour : std::uint8_t { red, green, blue };
template <>
struct PolicyOf<Colour> : PolicyAt<Colour::green, 3> {};

enum class Size : std::uint8_t { small, large };
template <>
struct PolicyOf<Size> : PolicyAt<Size::small, 5> {};

namespace policy_set_test {
namespace {

enum class Shape : std::uint8_t { round };
static_assert(IsPolicy<Colour>);
static_assert(!IsPolicy<Shape>);

TEST(PolicySet, AnEmptySetHasTheSafeValueOfEveryPolicy) {
  constexpr PolicySet kPolicies;
  static_assert(kPolicies.get<Colour>() == Colour::green);
  static_assert(kPolicies.is(Size::small));
  EXPECT_EQ(kPolicies, safe_policies());
}

TEST(PolicySet, AValueChangesItsPolicyAndNoOther) {
  PolicySet policies;
  policies.set(Colour::blue);
  EXPECT_EQ(policies.get<Colour>(), Colour::blue);
  EXPECT_TRUE(policies.is(Size::small));
  EXPECT_EQ(policies, PolicySet{Colour::blue});
  EXPECT_NE(policies, (PolicySet{Colour::blue, Size::large}));
}

TEST(PolicySet, TheSafeValueMakesItEqualToASetInWhichNobodySetIt) {
  PolicySet policies{Colour::red};
  policies.set(Colour::green);
  EXPECT_EQ(policies, PolicySet{});
}

}  // namespace
}  // namespace policy_set_test
}  // namespace hybridscope
