// The policies of an engine: for each place where engines have behaved differently, which behaviour
// it has. This header names no policy. The enum of one stands beside the unit that obeys it
// (*_policies.h), core/engine/policy_table.cpp lists all; CONTRIBUTING.md says how to add one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace hybridscope {

// Specialised beside each policy's enum:
//   template <>
//   struct PolicyOf<NullRows> : PolicyAt<NullRows::skipped, 55> {};
template <class Value>
struct PolicyOf {};

// What profile `safe` does, and the policy's place in a PolicySet, which no other policy has.
template <auto Safe, std::size_t Place>
struct PolicyAt {
  using Value = decltype(Safe);
  static constexpr Value kSafe = Safe;
  static constexpr std::size_t kPlace = Place;
};

template <class Value>
concept IsPolicy = requires {
  PolicyOf<Value>::kPlace;
  requires std::is_same_v<typename PolicyOf<Value>::Value, Value>;
  requires std::is_same_v<std::underlying_type_t<Value>, std::uint8_t>;
};

template <IsPolicy Value>
inline constexpr std::size_t kPolicyPlace = PolicyOf<Value>::kPlace;

// One value of every policy: policies.is(NullRows::run). A policy that was not set has the value of
// profile `safe`.
class PolicySet {
 public:
  static constexpr std::size_t kCapacity = 128;  // places; the table has fewer

  constexpr PolicySet() = default;
  // PolicySet{NullRows::run, RowClassing::by_shape}: the enums name the policies.
  template <IsPolicy... Values>
  requires(sizeof...(Values) > 0) constexpr PolicySet(Values... values) { (set(values), ...); }

  template <IsPolicy Value>
  constexpr Value get() const {
    return static_cast<Value>(differences_[kPolicyPlace<Value>] ^ safe<Value>());
  }
  template <IsPolicy Value>
  constexpr bool is(Value value) const {
    return get<Value>() == value;
  }
  template <IsPolicy Value>
  constexpr void set(Value value) {
    differences_[kPolicyPlace<Value>] =
        static_cast<std::uint8_t>(static_cast<std::uint8_t>(value) ^ safe<Value>());
  }

  // For code that treats all policies alike (core/engine/policy_table.h): the exclusive or of value
  // and safe value, 0 where they are equal.
  constexpr std::uint8_t difference(std::size_t place) const { return differences_[place]; }
  constexpr void set_difference(std::size_t place, std::uint8_t difference) {
    differences_[place] = difference;
  }

  friend bool operator==(const PolicySet&, const PolicySet&) = default;

 private:
  template <IsPolicy Value>
  static constexpr std::uint8_t safe() {
    static_assert(kPolicyPlace<Value> < kCapacity, "raise PolicySet::kCapacity");
    return static_cast<std::uint8_t>(PolicyOf<Value>::kSafe);
  }

  std::array<std::uint8_t, kCapacity> differences_{};  // by place
};

// Profile `safe`: state is never corrupted.
constexpr PolicySet safe_policies() { return {}; }

// The policies that a cache was made with. They cannot change while an engine runs, so the cache,
// its parts and all copies of it share one set.

class FixedPolicies {
 public:
  FixedPolicies(const PolicySet& policies = {})
      : policies_(std::make_shared<const PolicySet>(policies)) {}

  const PolicySet& set() const { return *policies_; }

  template <IsPolicy Value>
  Value get() const {
    return policies_->get<Value>();
  }
  template <IsPolicy Value>
  bool is(Value value) const {
    return policies_->is(value);
  }

 private:
  std::shared_ptr<const PolicySet> policies_;
};

}  // namespace hybridscope
