// One row of a policy list. Each list is defined next to its enums (cache_policies.h, policies.h,
// kernel_policies.h) as a function `for_each_..._policy(visit)`, which costs nothing unless called.
#pragma once

namespace hybridscope {

// The names of a policy in scenarios and on the command line. Plain pointers keep the header cheap:
// every source file that uses a policy includes it.
struct PolicyWords {
  const char* name;                  // the member's name
  const char* values[8]{};           // the enumerators' names, in order; null after the last
  const char* help;                  // what it decides, a phrase
  bool symbolic_state_only = false;  // kernels that keep state in bytes have the safe value only
};

// The safe value is the member's initialiser.
template <class Owner, class Value>
struct PolicyRow {
  // Profile `reference` has the safe value.
  constexpr PolicyRow(Value Owner::*the_member, PolicyWords the_words)
      : PolicyRow(the_member, the_words, Owner{}.*the_member) {}
  constexpr PolicyRow(Value Owner::*the_member, PolicyWords the_words, Value in_reference)
      : member(the_member), words(the_words), reference(in_reference) {}

  Value Owner::*member;
  PolicyWords words;
  Value reference;  // in profile reference
};

}  // namespace hybridscope
