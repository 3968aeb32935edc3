#include "cli/plan_clock.h"

#include <fmt/core.h>

#include "sessions/text/number_words.h"

namespace hybridscope {

std::string plan_progress_words(const PlanPass& pass, const PlanProgress& at, double seconds) {
  const auto later = static_cast<std::int64_t>(pass.later);
  std::string words =
      fmt::format("{} of {} runs{}", grouped_number(at.done), grouped_number(at.all), pass.suffix);
  if (at.earlier > 0) words += fmt::format(" ({} were there)", grouped_number(at.earlier));
  if (later > 0) words += fmt::format(", then as many with {}", counted(later, "other step time"));
  const std::int64_t left = at.all - at.done + later * (at.all + at.earlier);
  if (at.done > 0)
    words += fmt::format(", about {:.0f} s left",
                         seconds * static_cast<double>(left) / static_cast<double>(at.done));
  return words;
}

std::string PlanClock::text(const PlanProgress& at) const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  return plan_progress_words(pass_, at, passed.count());
}

}  // namespace hybridscope
