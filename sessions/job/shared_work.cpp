#include "sessions/job/shared_work.h"

#include <fmt/core.h>
#include <algorithm>
#include <charconv>
#include <thread>

#include "sessions/job/version.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kMaxShards = 1'000'000;

// Decimal digits only, at most kMaxShards.
std::optional<std::int64_t> small_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kMaxShards)
    return std::nullopt;
  return value;
}

Result<std::optional<Shard>> shard_of_variables(
    const char* total, const char* index, const std::function<std::string(const char*)>& lookup) {
  const std::string total_text = lookup(total);
  const std::string index_text = lookup(index);
  if (total_text.empty() && index_text.empty()) return std::optional<Shard>();
  const auto count = small_number(total_text);
  const auto at = small_number(index_text);
  if (!count || !at || *at >= *count)
    return invalid_input(
        fmt::format("{} is \"{}\" and {} is \"{}\" (expected both: a number of shards from 1, and "
                    "an index from 0 below it)",
                    total, total_text, index, index_text));
  return std::optional<Shard>({.index = *at + 1, .count = *count});
}

}  // namespace

std::int64_t shard_of(std::string_view name, std::int64_t count) {
  const std::uint64_t hash = hash_name(NameKind::text, name);
  return static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(count)) + 1;
}

std::string shard_text(const Shard& shard) {
  return fmt::format("{}/{}", shard.index, shard.count);
}

Result<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto index = small_number(text.substr(0, slash));
    const auto count = small_number(text.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count)
      return Shard{.index = *index, .count = *count};
  }
  return invalid_input(
      fmt::format("\"{}\" is not a shard (expected I/N with I from 1 to N, such as 2/3)", text));
}

Result<std::optional<Shard>> shard_of_environment(
    const std::function<std::string(const char*)>& lookup) {
  auto gtest = shard_of_variables("GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", lookup);
  if (!gtest.ok() || gtest.value()) return gtest;
  return shard_of_variables("TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX", lookup);
}

Result<std::string> this_program() {
  const auto digest = program_digest();
  if (!digest.ok()) return digest.error();
  return fmt::format("hybridscope {} (build {})", kVersion, digest.value());
}

std::int32_t num_threads_for(std::int32_t jobs) {
  if (jobs > 0) return jobs;
  return std::max(1, static_cast<std::int32_t>(std::thread::hardware_concurrency()));
}

}  // namespace hybridscope
