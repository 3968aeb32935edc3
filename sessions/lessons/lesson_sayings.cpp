#include "sessions/lessons/lesson_sayings.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/spoken_words.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

// The answers of a part's run.
Result<SpokenWords> played(const Lesson& lesson, const LessonPart& part,
                           const std::shared_ptr<const HybridModel>& model) {
  auto plan = plan_lesson(lesson, part);
  if (!plan.ok()) return plan.error();
  auto run = CheckedRun::create(std::move(plan).value(), {.language = {.model = model}});
  if (!run.ok()) return run.error();
  if (const auto driven = drive(run.value(), {}); !driven.ok()) return driven.error();
  return spoken_words(run.value().texts(), model->vocab_size, make_names(run.value().engine()));
}

std::string said_by(const SpokenWords& words, const std::string& request) {
  const auto found = std::ranges::find(words.requests, request);
  if (found == words.requests.end()) return {};
  return said_words(words.texts[static_cast<std::size_t>(found - words.requests.begin())],
                    words.vocab_size);
}

}  // namespace

std::size_t num_sayings(const Lesson& lesson) {
  return std::accumulate(
      lesson.parts.begin(), lesson.parts.end(), std::size_t{0},
      [](std::size_t sum, const LessonPart& part) { return sum + part.says.size(); });
}

std::vector<LessonProblem> check_sayings(const Lesson& lesson,
                                         const std::shared_ptr<const HybridModel>& model) {
  std::vector<LessonProblem> problems;
  for (std::size_t p = 0; p < lesson.parts.size(); ++p) {
    const LessonPart& part = lesson.parts[p];
    if (part.says.empty()) continue;
    const std::string place = fmt::format("{}, part {}", lesson.name, p + 1);
    const auto words = played(lesson, part, model);
    if (!words.ok()) {
      problems.push_back(
          {.part = p + 1, .message = fmt::format("{}: {}", place, words.error().message)});
      continue;
    }
    for (const LessonSaying& saying : part.says)
      if (const std::string said = said_by(words.value(), saying.request); said != saying.text)
        problems.push_back(
            {.part = p + 1,
             .message = fmt::format("{}: {} says {} in the lesson, {} in the model", place,
                                    saying.request, quoted_text(saying.text), quoted_text(said))});
  }
  return problems;
}

}  // namespace hybridscope
