#include "gui/model/retention_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "sessions/cache_report/cache_words.h"
#include "sessions/cache_report/stored_states.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMostDroppedNamed = 8;

std::string sentence(std::string words) {
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words + ".";
}

std::string why_dropped(std::int32_t period) {
  return period > 0 ? fmt::format("no multiple of {}, and no other boundary that is kept", period)
                    : std::string("interval 0 keeps no state but those where a known hit can end");
}

std::vector<PromptBoundary> boundaries_of(const GroupRetention& retention,
                                          const std::vector<KeptBoundary>& kept,
                                          std::int32_t num_prompt_tokens) {
  const bool dense = !retention.rule.interval;
  const std::int32_t period = dense ? 0 : kept_period(retention.rule, retention.block_size);
  std::vector<PromptBoundary> boundaries;
  for (std::int32_t end = retention.block_size; end <= num_prompt_tokens;
       end += retention.block_size) {
    const auto reached = std::ranges::find(kept, end, &KeptBoundary::num_tokens);
    if (dense)
      boundaries.push_back({end, true, "every state is kept"});
    else if (period > 0 && end % period == 0)
      boundaries.push_back({end, true, fmt::format("a multiple of {}", period)});
    else if (reached != kept.end())
      boundaries.push_back({end, true, std::string(kept_reason_words(reached->reason))});
    else
      boundaries.push_back({end, false, why_dropped(period)});
  }
  return boundaries;
}

std::string dropped_words(const std::vector<PromptBoundary>& boundaries) {
  std::vector<std::string> named;
  std::size_t count = 0;
  std::string why;
  for (const PromptBoundary& boundary : boundaries) {
    if (boundary.kept) continue;
    why = boundary.why;
    if (++count <= kMostDroppedNamed) named.push_back(fmt::format("{}", boundary.num_tokens));
  }
  if (count == 0) return {};
  return fmt::format("Dropped: {}{}: {}.", fmt::join(named, ", "),
                     count > named.size() ? fmt::format(" and {} more", count - named.size()) : "",
                     why);
}

}  // namespace

std::optional<RetentionModel> make_retention_model(ShownRun& run, RequestId selected) {
  if (selected.value < 0) return std::nullopt;
  const std::optional<GroupRetention> retention = group_retention(run.config());
  const std::optional<CachedPrompt> prompt = retention ? run.cached_prompt(selected) : std::nullopt;
  if (!prompt) return std::nullopt;
  const std::vector<KeptBoundary> kept = kept_boundaries(
      retention->rule, *prompt, retention->block_size, retention->drops_eagle_block);
  RetentionModel model{
      .name = run.names().request(selected),
      .group_name = run.names().group(retention->group),
      .num_prompt_tokens = prompt->num_prompt_tokens,
      .block_size = retention->block_size,
      .words =
          retention->rule.interval
              ? sentence(retention_words(*retention->rule.interval, kept, retention->block_size))
              : std::string("No retention interval is set: every state is kept."),
      .boundaries = boundaries_of(*retention, kept, prompt->num_prompt_tokens),
      .dropped = {}};
  model.dropped = dropped_words(model.boundaries);
  return model;
}

}  // namespace hybridscope
