#include "sessions/scenario/synthetic_traffic.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "sessions/scenario/scenario.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

// The purpose of a draw. It is part of the draw's key, so changing one option does not change the
// draws of the others.
enum class Draw : std::uint8_t { system_choice, system_length, turns, user, output, gap, think };

struct DrawKey {
  Draw draw;
  std::int32_t conversation = 0;
  std::int32_t turn = 0;
};

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(mix(0x73796E746865746BULL, seed)) {}

  std::uint64_t bits(const DrawKey& key) const {
    std::uint64_t x = mix(seed_, static_cast<std::uint64_t>(key.draw));
    x = mix(x, static_cast<std::uint64_t>(key.conversation));
    return mix(x, static_cast<std::uint64_t>(key.turn));
  }

  // Uniform in [min, max] up to 2^-32: the high half of a 32 by 32 bit product.
  std::int32_t uniform(const TokenRange& range, const DrawKey& key) const {
    const auto count = static_cast<std::uint64_t>(range.max - range.min) + 1;
    return range.min + static_cast<std::int32_t>(((bits(key) >> 32) * count) >> 32);
  }

  // Approximately exponential with the given mean. -log2 of a uniform draw is its number of leading
  // zeros plus one minus its mantissa, interpolated linearly between powers of two. Its mean is
  // 1.5, or 98304 in units of 1/65536.
  std::int64_t waiting_time(std::int64_t mean_us, const DrawKey& key) const {
    const std::uint64_t x = bits(key) | 1U;
    const int zeros = std::countl_zero(x);
    const auto mantissa = static_cast<std::int64_t>((x << zeros << 1) >> 48);  // 16 bits
    const std::int64_t log2 = std::int64_t{zeros} * 65536 + 65536 - mantissa;
    return mean_us / 98304 * log2 + mean_us % 98304 * log2 / 98304;
  }

 private:
  std::uint64_t seed_;
};

struct NamedRange {
  std::string_view name;
  TokenRange range;
};

Status check_options(const SyntheticTrafficOptions& options) {
  constexpr std::int32_t kMaxConversations = 1'000'000;
  if (options.num_conversations < 1 || options.num_conversations > kMaxConversations)
    return invalid_input(fmt::format("num_conversations is {} (allowed: 1 to {})",
                                     options.num_conversations, kMaxConversations));
  constexpr std::int32_t kMaxTurns = 256;
  if (options.turns.max > kMaxTurns)
    return invalid_input(
        fmt::format("turns go to {} (allowed: at most {})", options.turns.max, kMaxTurns));
  if (options.num_system_prompts < 1)
    return invalid_input(
        fmt::format("num_system_prompts is {} (allowed: from 1)", options.num_system_prompts));
  for (const NamedRange& named :
       {NamedRange{"turns", options.turns}, NamedRange{"system_tokens", options.system_tokens},
        NamedRange{"user_tokens", options.user_tokens},
        NamedRange{"output_tokens", options.output_tokens}})
    if (named.range.min < 1 || named.range.max < named.range.min ||
        named.range.max > kMaxPromptTokens)
      return invalid_input(
          fmt::format("{} is {} to {} (allowed: an ascending range within 1 to {})", named.name,
                      named.range.min, named.range.max, kMaxPromptTokens));
  const std::int64_t longest =
      options.system_tokens.max +
      std::int64_t{options.turns.max} *
          (std::int64_t{options.user_tokens.max} + options.output_tokens.max);
  if (longest > kMaxPromptTokens)
    return invalid_input(fmt::format("a history may reach {} tokens (allowed: at most {})", longest,
                                     kMaxPromptTokens));
  for (const std::int64_t us : {options.mean_gap_us, options.mean_think_us, options.token_time_us})
    if (us < 0 || us > 86'400'000'000)
      return invalid_input(fmt::format("a mean time is {} us (allowed: 0 to one day)", us));
  return Ok{};
}

class Generator {
 public:
  explicit Generator(const SyntheticTrafficOptions& options)
      : options_(options), draws_(options.seed) {}

  Traffic traffic() {
    Traffic traffic;
    std::int64_t start_us = 0;
    for (std::int32_t c = 1; c <= options_.num_conversations; ++c) {
      add_conversation(c, start_us, traffic);
      start_us += draws_.waiting_time(options_.mean_gap_us, {Draw::gap, c, 0});
    }
    return traffic;
  }

 private:
  PromptSegment system_prompt(std::int32_t conversation) const {
    const std::int32_t system =
        draws_.uniform({1, options_.num_system_prompts}, {Draw::system_choice, conversation, 0});
    return {.content = text_content(fmt::format("system{}", system)),
            .length = draws_.uniform(options_.system_tokens, {Draw::system_length, system, 0})};
  }

  void add_conversation(std::int32_t conversation, std::int64_t start_us, Traffic& traffic) const {
    std::vector<PromptSegment> history = {system_prompt(conversation)};
    std::int32_t position = history.front().length;
    std::int64_t arrival_us = start_us;
    const std::int32_t turns = draws_.uniform(options_.turns, {Draw::turns, conversation, 0});
    for (std::int32_t turn = 1; turn <= turns; ++turn) {
      const std::string name = fmt::format("c{}.t{}", conversation, turn);
      history.push_back(
          {.content = text_content(name),
           .length = draws_.uniform(options_.user_tokens, {Draw::user, conversation, turn})});
      position += history.back().length;
      const std::int32_t output =
          draws_.uniform(options_.output_tokens, {Draw::output, conversation, turn});
      traffic.requests.push_back(
          {.arrival_us = arrival_us,
           .request = {
               .name = name, .prompt = history, .max_tokens = output, .key = request_key(name)}});
      traffic.num_prompt_tokens += position;
      traffic.num_output_tokens += output;
      history.push_back({.source = PromptSegment::Source::output,
                         .content = request_key(name),
                         .first = position,
                         .length = output});
      position += output;
      arrival_us += output * options_.token_time_us +
                    draws_.waiting_time(options_.mean_think_us, {Draw::think, conversation, turn});
    }
  }

  SyntheticTrafficOptions options_;
  Draws draws_;
};

}  // namespace

Result<Traffic> make_synthetic_traffic(const SyntheticTrafficOptions& options) {
  if (const Status checked = check_options(options); !checked.ok()) return checked.error();
  Traffic traffic = Generator(options).traffic();
  std::stable_sort(traffic.requests.begin(), traffic.requests.end(),
                   [](const ArrivingRequest& a, const ArrivingRequest& b) {
                     return a.arrival_us < b.arrival_us;
                   });
  return traffic;
}

}  // namespace hybridscope
