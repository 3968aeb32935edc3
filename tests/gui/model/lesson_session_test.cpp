#include "gui/model/lesson_session.h"

#include <gtest/gtest.h>

#include "gui/model/workbench.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope::lesson_session_test {
namespace {

Workbench& apply(Workbench& workbench, const GuiCommand& command) {
  const Status done = workbench.apply(command);
  EXPECT_TRUE(done.ok()) << to_text(command) << ": " << done.error().message;
  return workbench;
}

TEST(LessonSession, EveryLessonIsTakenToItsEndWithTheStoredAnswers) {
  for (const std::string_view name : shipped_lesson_names()) {
    SCOPED_TRACE(name);
    Workbench workbench;
    apply(workbench, {"lesson.open", std::string(name)});
    const Lesson lesson = workbench.lesson()->lesson();
    for (std::size_t part = 0; part < lesson.parts.size(); ++part) {
      ASSERT_EQ(workbench.lesson()->part_index(), part);
      for (std::size_t q = 0; q < lesson.parts[part].questions.size(); ++q)
        apply(workbench, {"lesson.answer",
                          std::to_string(q + 1) + " " + lesson.parts[part].questions[q].answer});
      EXPECT_EQ(workbench.run()->step(), lesson.parts[part].step);
      apply(workbench, {"lesson.next"});
    }
    EXPECT_EQ(workbench.lesson()->num_right(), num_questions(lesson));
  }
}

TEST(LessonSession, APartThatAsksFirstShowsItsStepWhenAllIsAnswered) {
  for (const std::string_view name : shipped_lesson_names()) {
    auto session = LessonSession::open(shipped_lesson(name).value()).value();
    for (std::size_t i = 0; i < session.lesson().parts.size(); ++i) {
      ASSERT_TRUE(session.go_to_part(i).ok());
      const LessonPart& part = session.part();
      if (!part.predict || part.questions.empty()) continue;
      EXPECT_EQ(session.step_to_show(), part.step - 1);
      for (std::size_t q = 0; q < part.questions.size(); ++q)
        ASSERT_TRUE(session.answer(q, part.questions[q].answer).ok());
      EXPECT_EQ(session.step_to_show(), part.step);
    }
  }
}

// In the panel, in the status line and when the lesson is over.
TEST(LessonSession, TheCountersAgreeWhereverTheyAreShown) {
  Workbench workbench;
  apply(workbench, {"lesson.open", "align_boundary"});
  EXPECT_EQ(progress_words(*workbench.lesson()), "part 1 of 3, 0 of 9 questions answered, 0 right");
  apply(workbench, {"lesson.answer", "1 3"});
  EXPECT_EQ(progress_words(*workbench.lesson()), "part 1 of 3, 1 of 9 questions answered, 1 right");
  EXPECT_EQ(workbench.notice().text, progress_words(*workbench.lesson()));
  apply(workbench, {"lesson.answer", "1 2"});
  EXPECT_EQ(workbench.notice().text, "part 1 of 3, 1 of 9 questions answered, 0 right");
  for (int i = 0; i < 3; ++i) apply(workbench, {"lesson.next"});
  EXPECT_EQ(workbench.notice().text,
            "the lesson is over: part 3 of 3, 1 of 9 questions answered, 0 right");
}

TEST(LessonSession, AWrongAnswerIsToldAndNotCountedAsRight) {
  auto session = LessonSession::open(shipped_lesson("align_boundary").value()).value();
  for (std::size_t i = 0; session.part().questions.empty(); ++i)
    ASSERT_TRUE(session.go_to_part(i + 1).ok());
  ASSERT_TRUE(session.answer(0, "nonsense").ok());  // a number is asked for
  EXPECT_EQ(session.taken()[0].verdict, AnswerVerdict::unreadable);
  EXPECT_FALSE(session.taken()[0].answered);
  ASSERT_TRUE(session.answer(0, "777").ok());
  EXPECT_EQ(session.taken()[0].verdict, AnswerVerdict::wrong);
  EXPECT_TRUE(session.taken()[0].answered);
  EXPECT_FALSE(session.taken()[0].words.empty());
  EXPECT_EQ(session.num_right(), 0u);
}

TEST(LessonSession, AForeseenMistakeIsToldWithWhatWasMisread) {
  auto session = LessonSession::open(shipped_lesson("align_boundary").value()).value();
  ASSERT_TRUE(session.answer(0, "1").ok());
  const std::string& words = session.taken()[0].words;
  EXPECT_EQ(words.substr(0, words.find("A gets")),
            "Not 1 but 3.\nBlock 1 is in group 0, with keys and values. Each group has its own "
            "block table.\n");
  ASSERT_TRUE(session.answer(0, "777").ok());  // nobody foresaw this one
  EXPECT_EQ(session.taken()[0].words.substr(0, 24), "Not 777 but 3. A gets 1 ");
}

TEST(LessonSession, AQuestionOfYesOrNoOffersBoth) {
  auto session = LessonSession::open(shipped_lesson("async_frames").value()).value();
  std::size_t found = 0;
  for (std::size_t part = 0; part < session.lesson().parts.size(); ++part)
    for (const LessonQuestion& question : session.lesson().parts[part].questions) {
      if (question.ask == "Does B end?") {
        EXPECT_EQ(offered_answers(question), (std::vector<std::string>{"yes", "no"}));
        ++found;
      }
      if (question.ask == "Which frame returns to the scheduler in step 2?") {
        EXPECT_TRUE(offered_answers(question).empty());
      }
    }
  EXPECT_EQ(found, 1u);
}

// The text has a separate leaf; a part's panel comes to the front in its own place.
TEST(LessonSession, ALessonMovesNoPanelButItsOwnAndBringsItBack) {
  Workbench workbench(test::panels_named({"block_tables", "state_copies", "lesson", "timeline"}));
  const LayoutTree before = workbench.view().layout;
  const auto together = [&](const char* a, const char* b) {
    return workbench.view().layout.leaf_of(a) == workbench.view().layout.leaf_of(b);
  };
  ASSERT_TRUE(together("lesson", "state_copies"));
  apply(workbench, {"lesson.open", "align_boundary"});
  for (std::size_t part = 1; part < workbench.lesson()->lesson().parts.size(); ++part) {
    EXPECT_FALSE(together("lesson", "state_copies"));
    EXPECT_FALSE(together("state_copies", "block_tables"));
    EXPECT_TRUE(workbench.view().layout.is_active("lesson"));
    EXPECT_TRUE(workbench.view().layout.is_active("state_copies"));
    apply(workbench, {"lesson.next"});
  }
  apply(workbench, {"lesson.close"});
  EXPECT_EQ(workbench.view().layout, before);
}

std::vector<PanelInfo> lesson_panel_infos() {
  return test::panels_named({"block_tables", "state_copies", "metadata", "lesson"});
}

bool is_covered(const Workbench& workbench, std::string_view panel) {
  return workbench.view().layout.leaf_of(panel) == workbench.view().layout.leaf_of("lesson");
}

TEST(LessonSession, ThePanelOfAPartDoesNotCoverTheText) {
  for (const bool hides_tables : {false, true})
    for (const std::string_view name : shipped_lesson_names()) {
      SCOPED_TRACE(name);
      Workbench workbench(lesson_panel_infos());
      if (hides_tables) apply(workbench, {"panel.hide", "block_tables"});
      apply(workbench, {"lesson.open", std::string(name)});
      ASSERT_TRUE(workbench.banner().empty()) << workbench.banner();
      EXPECT_TRUE(workbench.view().layout.is_active("lesson"));
      const std::string& panel = workbench.lesson()->part().show.panel;
      if (workbench.view().find_panel(panel) == nullptr) continue;
      EXPECT_TRUE(workbench.view().layout.is_active(panel));
      EXPECT_FALSE(is_covered(workbench, panel));
    }
}

TEST(LessonSession, ThePartBehindBeginsWithoutTheComparisonAndTheSelectionOfTheOneBefore) {
  Workbench workbench;
  apply(workbench, {"lesson.open", "cache_modes"});
  apply(workbench, {"diff.open", "shipped:shared_prefix_align"});
  apply(workbench, {"select.block", "3"});
  apply(workbench, {"lesson.next"});
  EXPECT_EQ(workbench.comparison(), nullptr);
  EXPECT_EQ(workbench.selection().block, workbench.lesson()->part().show.block.value_or(-1));
}

TEST(LessonSession, OpeningSomethingElseEndsTheLesson) {
  Workbench workbench;
  apply(workbench, {"lesson.open", "block_tables"});
  apply(workbench, {"file.open", "shipped:plain_decode"});
  EXPECT_EQ(workbench.lesson(), nullptr);
}

}  // namespace
}  // namespace hybridscope::lesson_session_test
