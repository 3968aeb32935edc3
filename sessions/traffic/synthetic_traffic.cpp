#include "sessions/traffic/synthetic_traffic.h"

#include <fmt/core.h>

#include <string_view>
#include <utility>
#include <vector>

#include "sessions/scenario/scenario.h"
#include "sessions/text/name_hash.h"
#include "sessions/traffic/traffic_load.h"

namespace hybridscope {
namespace {

// The purpose of a draw.
enum class Draw : std::uint8_t { system_choice, system_length, turns, user, output, gap, think };

constexpr std::uint64_t kSyntheticDomain = 0x73796E746865746BULL;

constexpr TrafficDrawKey draw_key(Draw draw, std::int32_t conversation, std::int32_t turn) {
  return {static_cast<std::uint64_t>(draw), conversation, turn};
}

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
      : options_(options), draws_(kSyntheticDomain, options.seed) {}

  TrafficLog log() {
    TrafficLog log;
    log.arrivals_allow_for_answers = true;
    std::int64_t start_us = 0;
    for (std::int32_t c = 1; c <= options_.num_conversations; ++c) {
      add_conversation(c, start_us, log);
      start_us += draws_.waiting_time(options_.mean_gap_us, draw_key(Draw::gap, c, 0));
    }
    return log;
  }

 private:
  PromptSegment system_prompt(std::int32_t conversation) const {
    const std::int32_t system = draws_.uniform({1, options_.num_system_prompts},
                                               draw_key(Draw::system_choice, conversation, 0));
    return {
        .content = text_content(fmt::format("system{}", system)),
        .length = draws_.uniform(options_.system_tokens, draw_key(Draw::system_length, system, 0))};
  }

  void add_conversation(std::int32_t conversation, std::int64_t start_us, TrafficLog& log) const {
    std::vector<PromptSegment> history = {system_prompt(conversation)};
    std::int32_t position = history.front().length;
    std::int64_t arrival_us = start_us;
    std::int64_t think_us = 0;
    const std::int32_t turns =
        draws_.uniform(options_.turns, draw_key(Draw::turns, conversation, 0));
    for (std::int32_t turn = 1; turn <= turns; ++turn) {
      const std::string name = fmt::format("c{}.t{}", conversation, turn);
      history.push_back({.content = text_content(name),
                         .length = draws_.uniform(options_.user_tokens,
                                                  draw_key(Draw::user, conversation, turn))});
      position += history.back().length;
      const std::int32_t output =
          draws_.uniform(options_.output_tokens, draw_key(Draw::output, conversation, turn));
      LoggedRequest logged{.request = {.name = name,
                                       .prompt = history,
                                       .max_tokens = output,
                                       .key = request_key(name)},
                           .arrival_us = arrival_us,
                           .conversation = conversation};
      if (turn > 1) {
        logged.after = {static_cast<std::int32_t>(log.requests.size()) - 1};
        logged.delay_us = think_us;
      }
      log.requests.push_back(std::move(logged));
      history.push_back({.source = PromptSegment::Source::output,
                         .content = request_key(name),
                         .first = position,
                         .length = output});
      position += output;
      think_us =
          draws_.waiting_time(options_.mean_think_us, draw_key(Draw::think, conversation, turn));
      arrival_us += output * options_.token_time_us + think_us;
    }
  }

  SyntheticTrafficOptions options_;
  TrafficDraws draws_;
};

}  // namespace

Result<TrafficLog> make_synthetic_log(const SyntheticTrafficOptions& options) {
  if (const Status checked = check_options(options); !checked.ok()) return checked.error();
  return Generator(options).log();
}

Result<Traffic> make_synthetic_traffic(const SyntheticTrafficOptions& options) {
  auto log = make_synthetic_log(options);
  if (!log.ok()) return log.error();
  return arrange_traffic(std::move(log).value(), {});
}

}  // namespace hybridscope
