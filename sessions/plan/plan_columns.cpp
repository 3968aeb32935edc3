#include "sessions/plan/plan_columns.h"

#include <fmt/core.h>

#include "sessions/plan/plan_goals.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

using F = PlanFigures;

// "12.3 / 40": on average over steps, and at most.
std::string average_and_most(const F& figures, const CountOverSteps& count) {
  return fmt::format("{:.1f} / {}", figures.average(count), grouped_number(count.most));
}

std::string shown_percentiles(const Percentiles& of) {
  const auto in_ms = [](std::int64_t us) { return static_cast<double>(us) / 1000; };
  return fmt::format("{:.1f} / {:.1f} / {:.1f}", in_ms(of.p50_us), in_ms(of.p90_us),
                     in_ms(of.p99_us));
}

// A goal whose value is a count.
PlanColumn count(std::string_view name, std::string_view goal) {
  const PlanGoal& of = plan_goal(goal);
  return {.name = name, .words = of.words, .is_count = true, .value = of.value, .shown = of.shown};
}

template <BlockKind kKind>
constexpr PlanColumn blocks(std::string_view name, std::string_view words) {
  return {.name = name,
          .words = words,
          .value = [](const F& f) { return f.average(f.blocks[std::size_t(kKind)]); },
          .shown = [](const F& f) { return average_and_most(f, f.blocks[std::size_t(kKind)]); }};
}

template <Percentiles PlanLatency::*kMember>
constexpr PlanColumn percentiles(std::string_view name, std::string_view words) {
  return {.name = name,
          .words = words,
          .needs_step_time = true,
          .value = [](const F& f) { return static_cast<double>((f.latency.*kMember).p90_us); },
          .shown = [](const F& f) { return shown_percentiles(f.latency.*kMember); }};
}

constexpr double kBytesInGiB = 1024.0 * 1024 * 1024;

const PlanColumn kColumns[] = {
    {.name = "hit %",
     .words = plan_goal("hits").words,
     .value = [](const F& f) { return f.hit_rate(); },
     .shown = [](const F& f) { return fmt::format("{:.1f}", 100 * f.hit_rate()); }},
    {.name = "hit tokens",
     .words = "prompt tokens that the prefix cache served at first admissions",
     .is_count = true,
     .value = [](const F& f) { return static_cast<double>(f.hit_tokens); },
     .shown = [](const F& f) { return grouped_number(f.hit_tokens); }},
    count("computed", "computed"),
    {.name = "running",
     .words = "requests that have blocks: average / most over steps",
     .value = [](const F& f) { return f.average(f.running); },
     .shown = [](const F& f) { return average_and_most(f, f.running); }},
    blocks<BlockKind::attention>("attention",
                                 "attention blocks that requests hold: average / most over steps"),
    blocks<BlockKind::running_state>("state",
                                     "blocks with running states: average / most over steps"),
    blocks<BlockKind::draft>("drafts",
                             "blocks with states of draft tokens: average / most over steps"),
    blocks<BlockKind::snapshot>("snapshots",
                                "snapshots of states that requests hold: average / most over "
                                "steps"),
    count("preempted", "preemptions"),
    count("lost", "lost"),
    {.name = "copied GiB",
     .words = plan_goal("copies").words,
     .value = [](const F& f) { return static_cast<double>(f.state_copy_bytes); },
     .shown =
         [](const F& f) {
           return fmt::format("{:.2f}", static_cast<double>(f.state_copy_bytes) / kBytesInGiB);
         }},
    count("padding", "padding"),
    count("steps", "steps"),
    {.name = "tokens/s",
     .words = plan_goal("throughput").words,
     .needs_step_time = true,
     .value = [](const F& f) { return f.throughput(); },
     .shown = [](const F& f) { return fmt::format("{:.1f}", f.throughput()); }},
    percentiles<&PlanLatency::first_token>(
        "first token ms", "from arrival to the first token: 50 / 90 / 99 % of requests"),
    percentiles<&PlanLatency::between_tokens>("between tokens ms",
                                              "between tokens: 50 / 90 / 99 % of tokens"),
};

}  // namespace

std::vector<const PlanColumn*> plan_columns(bool has_step_time) {
  std::vector<const PlanColumn*> columns;
  for (const PlanColumn& column : kColumns)
    if (!column.needs_step_time || has_step_time) columns.push_back(&column);
  return columns;
}

}  // namespace hybridscope
