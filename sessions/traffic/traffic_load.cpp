#include "sessions/traffic/traffic_load.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "sessions/scenario/scenario.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

TrafficDraws::TrafficDraws(std::uint64_t domain, std::uint64_t seed) : seed_(mix(domain, seed)) {}

std::uint64_t TrafficDraws::bits(const TrafficDrawKey& key) const {
  std::uint64_t x = mix(seed_, key.purpose);
  x = mix(x, static_cast<std::uint64_t>(key.conversation));
  return mix(x, static_cast<std::uint64_t>(key.turn));
}

// The high half of a 32 by 32 bit product.
std::int32_t TrafficDraws::uniform(const TokenRange& range, const TrafficDrawKey& key) const {
  const auto count = static_cast<std::uint64_t>(range.max - range.min) + 1;
  return range.min + static_cast<std::int32_t>(((bits(key) >> 32) * count) >> 32);
}

// -log2 of a uniform draw is its number of leading zeros plus one minus its mantissa, interpolated
// linearly between powers of two. Its mean is 1.5, or 98304 in units of 1/65536.
std::int64_t TrafficDraws::waiting_time(std::int64_t mean_us, const TrafficDrawKey& key) const {
  const std::uint64_t x = bits(key) | 1U;
  const int zeros = std::countl_zero(x);
  const auto mantissa = static_cast<std::int64_t>((x << zeros << 1) >> 48);  // 16 bits
  const std::int64_t log2 = std::int64_t{zeros} * 65536 + 65536 - mantissa;
  return mean_us / 98304 * log2 + mean_us % 98304 * log2 / 98304;
}

namespace {

constexpr std::uint64_t kDomain = 0x7261746566696C65ULL;  // "ratefile"
constexpr std::int64_t kDefaultRate = 1'000'000;          // one conversation a second

Status check_load(const TrafficLoad& load) {
  const auto check = [](const char* what, std::int64_t value, std::int64_t most) -> Status {
    if (value >= 0 && value <= most) return Ok{};
    return invalid_input(fmt::format("{} is {} (allowed: 0 to {})", what, value, most));
  };
  if (Status fits = check("the number of users", load.users, kMaxTrafficUsers); !fits.ok())
    return fits;
  if (Status fits =
          check("the rate, in conversations per million seconds,", load.rate, kMaxTrafficRate);
      !fits.ok())
    return fits;
  if (Status fits = check("the think time in us", load.think_us.value_or(0), kMaxThinkUs);
      !fits.ok())
    return fits;
  if (load.users > 0 && load.rate > 0)
    return invalid_input(
        "users who wait for their answers and a rate of conversations exclude each other");
  return Ok{};
}

// Conversations one after the other, in the order in which they begin in the file.
void sort_by_conversation(TrafficLog& log) {
  std::vector<std::int32_t> order(log.requests.size());
  std::iota(order.begin(), order.end(), 0);
  const auto conversation = [&](std::int32_t i) {
    return log.requests[static_cast<std::size_t>(i)].conversation;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return conversation(a) < conversation(b);
  });
  std::vector<std::int32_t> place(order.size());
  std::vector<LoggedRequest> sorted;
  sorted.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
    sorted.push_back(std::move(log.requests[static_cast<std::size_t>(order[i])]));
  }
  for (LoggedRequest& logged : sorted)
    for (std::int32_t& index : logged.after) index = place[static_cast<std::size_t>(index)];
  log.requests = std::move(sorted);
}

// Numbers conversations in the order of their first requests.
std::int32_t number_conversations(TrafficLog& log) {
  std::int32_t most = -1;
  for (const LoggedRequest& logged : log.requests) most = std::max(most, logged.conversation);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(most + 1), -1);
  std::int32_t count = 0;
  for (LoggedRequest& logged : log.requests) {
    std::int32_t& number = numbers[static_cast<std::size_t>(logged.conversation)];
    if (number < 0) number = count++;
    logged.conversation = number;
  }
  return count;
}

class TrafficArrangement {
 public:
  TrafficArrangement(TrafficLog log, const TrafficLoad& load)
      : log_(std::move(log)),
        load_(load),
        num_conversations_(number_conversations(log_)),
        replaces_times_(load.users > 0 || load.rate > 0 || load.think_us.has_value()),
        waits_(replaces_times_ || !log_.arrivals_allow_for_answers) {}

  Result<Traffic> traffic() {
    if (load_.users > 0) sort_by_conversation(log_);
    note_missing_times();
    find_starts();
    if (load_.users > 0) find_last_requests();
    bool any_waits = false;
    traffic_.requests.reserve(log_.requests.size());
    for (std::size_t i = 0; i < log_.requests.size(); ++i) {
      ArrivingRequest arriving{.request = std::move(logged(i).request)};
      any_waits = any_waits || waits(i);
      if (waits(i))
        place_follower(i, arriving);
      else
        place_beginning(i, arriving);
      if (arriving.arrival_us > kMaxArrivalUs)
        return invalid_input(fmt::format("request {} would arrive after {} us (allowed: up to {})",
                                         arriving.request.name, arriving.arrival_us,
                                         kMaxArrivalUs));
      traffic_.num_prompt_tokens += num_prompt_tokens(arriving.request);
      traffic_.num_output_tokens += arriving.request.max_tokens;
      traffic_.requests.push_back(std::move(arriving));
    }
    if (load_.think_us && !any_waits)
      traffic_.notes.push_back("no request follows another one, so there is no think time");
    std::stable_sort(traffic_.requests.begin(), traffic_.requests.end(),
                     [](const ArrivingRequest& a, const ArrivingRequest& b) {
                       return a.arrival_us < b.arrival_us;
                     });
    if (load_.users == 0 && load_.rate == 0) traffic_.num_out_of_order = log_.num_out_of_order;
    traffic_.num_without_output = log_.num_without_output;
    traffic_.notes.insert(traffic_.notes.begin(), std::make_move_iterator(log_.notes.begin()),
                          std::make_move_iterator(log_.notes.end()));
    return std::move(traffic_);
  }

 private:
  LoggedRequest& logged(std::size_t i) { return log_.requests[i]; }
  bool waits(std::size_t i) { return waits_ && !logged(i).after.empty(); }
  // Without a rate, and without the time of a conversation that could stand in for it.
  void note_missing_times() {
    if (load_.users > 0 || load_.rate > 0) return;
    const auto has_none = [&](const LoggedRequest& one) {
      return !one.arrival_us && (one.after.empty() || !waits_);
    };
    const auto count = std::count_if(log_.requests.begin(), log_.requests.end(), has_none);
    if (count == 0) return;
    const bool has_some = std::any_of(log_.requests.begin(), log_.requests.end(),
                                      [](const LoggedRequest& one) { return one.arrival_us; });
    load_.rate = kDefaultRate;
    replaces_times_ = true;
    traffic_.notes.push_back(
        fmt::format("{}: conversations begin one a second on average (--request-rate, or --users "
                    "for a closed loop)",
                    has_some ? fmt::format("the file has no time for {}",
                                           counted(static_cast<std::int64_t>(count), "request"))
                             : "the file has no times"));
  }

  void find_starts() {
    begins_.assign(static_cast<std::size_t>(num_conversations_), -1);
    for (const LoggedRequest& one : log_.requests) {
      std::int64_t& begins = begins_[static_cast<std::size_t>(one.conversation)];
      if (begins < 0) begins = one.arrival_us.value_or(0);
    }
    if (load_.rate == 0) return;
    const TrafficDraws draws(kDomain, load_.seed);
    const std::int64_t mean_us = std::max<std::int64_t>(1'000'000'000'000 / load_.rate, 1);
    std::int64_t start_us = 0;
    for (std::int32_t c = 0; c < num_conversations_; ++c) {
      starts_.push_back(start_us);
      start_us = std::min(start_us + draws.waiting_time(mean_us, {.purpose = 0, .conversation = c}),
                          kMaxArrivalUs + 1);
    }
  }

  void find_last_requests() {
    std::vector<bool> followed(log_.requests.size(), false);
    for (const LoggedRequest& one : log_.requests)
      for (const std::int32_t index : one.after) followed[static_cast<std::size_t>(index)] = true;
    last_.resize(static_cast<std::size_t>(num_conversations_));
    for (std::size_t i = 0; i < log_.requests.size(); ++i)
      if (!followed[i]) last_[static_cast<std::size_t>(logged(i).conversation)].push_back(i);
  }
  // A request that waits for none of its conversation keeps its distance from the conversation's
  // first one.
  void place_beginning(std::size_t i, ArrivingRequest& arriving) {
    const LoggedRequest& one = logged(i);
    const auto conversation = static_cast<std::size_t>(one.conversation);
    const std::int64_t later_us =
        std::max<std::int64_t>(one.arrival_us.value_or(0) - begins_[conversation], 0);
    if (load_.users > 0) {
      const std::int64_t before = one.conversation - load_.users;  // this user's last conversation
      arriving.arrival_us = before < 0 ? later_us : 0;
      if (before < 0) return;
      arriving.delay_us = later_us;
      for (const std::size_t last : last_[static_cast<std::size_t>(before)]) {
        const ArrivingRequest& other = traffic_.requests[last];
        arriving.after.push_back(other.request.name);
        arriving.arrival_us = std::max(arriving.arrival_us, other.arrival_us);
      }
    } else if (load_.rate > 0) {
      arriving.arrival_us = starts_[conversation] + later_us;
    } else {
      arriving.arrival_us = one.arrival_us.value_or(0);
    }
  }

  void place_follower(std::size_t i, ArrivingRequest& arriving) {
    const LoggedRequest& one = logged(i);
    if (!replaces_times_) arriving.arrival_us = one.arrival_us.value_or(0);
    arriving.delay_us = load_.think_us.value_or(one.delay_us);
    for (const std::int32_t index : one.after) {
      HS_EXPECT(index >= 0 && static_cast<std::size_t>(index) < i);
      const ArrivingRequest& other = traffic_.requests[static_cast<std::size_t>(index)];
      arriving.after.push_back(other.request.name);
      arriving.arrival_us = std::max(arriving.arrival_us, other.arrival_us);
    }
  }

  TrafficLog log_;
  TrafficLoad load_;
  std::int32_t num_conversations_;
  bool replaces_times_;  // do the file's times of requests that follow others have no meaning?
  bool waits_;           // do requests wait for those that they follow?
  std::vector<std::int64_t> begins_;  // [conversations] time of the first request in the file
  std::vector<std::int64_t> starts_;  // [conversations] drawn starts; empty: those of the file
  std::vector<std::vector<std::size_t>> last_;  // [conversations] requests that nothing follows
  Traffic traffic_;
};

}  // namespace

Result<Traffic> arrange_traffic(TrafficLog log, const TrafficLoad& load) {
  if (Status fits = check_load(load); !fits.ok()) return fits.error();
  return TrafficArrangement(std::move(log), load).traffic();
}

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
      history.push_back(answer_of(log.requests.back().request, position));
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
