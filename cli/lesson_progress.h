// How far lessons were taken in a terminal, kept from one run to the next.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cli/environment.h"
#include "core/base/result.h"

namespace hybridscope {

// [questions of the lesson], in their order.
enum class AnswerState : char { open = '.', right = 'r', wrong = 'w' };

struct LessonPlace {
  std::size_t question = 0;  // the next one, over all parts; 0: at the beginning
  std::vector<AnswerState> answers = {};
};

// $XDG_STATE_HOME/hybridscope/lessons.json, else below $HOME/.local/state; empty: there is neither.
std::string lesson_progress_path(const EnvironmentLookup& lookup);

class LessonProgress {
 public:
  // `path`: empty, nothing is kept. A file that cannot be read counts as empty.
  explicit LessonProgress(std::string path);

  bool is_kept() const { return !path_.empty(); }
  // `lesson`: a shipped one's name, or the absolute path of another's file. Its beginning where
  // nothing fits `num_questions`.
  LessonPlace of(const std::string& lesson, std::size_t num_questions) const;
  // Keeps the place, or forgets the lesson when it stands at its beginning or end. Error: the file
  // cannot be written.
  Status keep(const std::string& lesson, const LessonPlace& place);

 private:
  std::string path_;
  std::map<std::string, LessonPlace> places_;  // by lesson
};

}  // namespace hybridscope
