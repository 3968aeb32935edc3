// What commands that split their work have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

// One of n parts of a suite, chosen by the names of its scenarios alone.

struct Shard {
  std::int64_t index = 1;  // 1..count
  std::int64_t count = 1;
  friend bool operator==(const Shard&, const Shard&) = default;
};

// The shard (1..count) that runs the scenario called `name`. It depends on nothing else, so adding
// a scenario moves no other.
std::int64_t shard_of(std::string_view name, std::int64_t count);

// "2/7".
std::string shard_text(const Shard& shard);

// Reads "2/7". Error: not a shard, with what is expected.
Result<Shard> parse_shard(std::string_view text);

// GTEST_TOTAL_SHARDS with GTEST_SHARD_INDEX, else TEST_TOTAL_SHARDS with TEST_SHARD_INDEX (Bazel),
// whose index counts from 0. Empty when neither is set. `lookup` gives the value of a variable, ""
// when it is not set. Error: one without the other, numbers out of range.
Result<std::optional<Shard>> shard_of_environment(
    const std::function<std::string(const char* name)>& lookup);

// "hybridscope 1.0.0 (build 0123456789abcdef)": results of another build are not gone on with.
Result<std::string> this_program();

// Threads for --jobs; 0: one per core.
std::int32_t num_threads_for(std::int32_t jobs);

}  // namespace hybridscope
