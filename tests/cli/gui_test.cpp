// hybridscope gui as a program: pictures without a display, a real window under Xvfb, what is said
// where neither can be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/program.h"
#include "tests/gui/image_difference.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::gui_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kScenario =
    HYBRIDSCOPE_SOURCE_DIR "/scenarios/align_boundary_by_accepted_drafts.json";

// Nothing of the person who runs the tests is read or written.
std::string home(const TemporaryFolder& folder) { return "HOME=" + folder.path(); }

bool lacks_egl(const ProgramResult& run) {
  return run.exit_code == 4 && run.err.find("no drawing without a display") != std::string::npos;
}

// How many pixels differ by more than a shade.
std::size_t num_different(const Image& a, const Image& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.rgba.size(); ++i)
    count += std::abs(int{a.rgba[i]} - int{b.rgba[i]}) > 8 ? 1 : 0;
  return count;
}

TEST(Gui, AScreenshotNeedsNoDisplay) {
  const TemporaryFolder folder;
  const ProgramResult run =
      run_program("gui " + kScenario + " --size 800x600 --command 'run.go_to 2' --screenshot " +
                      (folder / "shot.png"),
                  "DISPLAY= " + home(folder));
  if (lacks_egl(run)) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto image = read_png(folder / "shot.png");
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image.value().size, (PixelSize{800, 600}));
}

TEST(Gui, TheIdsOfCommandsAndPanelsAreListedWithoutADisplay) {
  const ProgramResult run = run_program("gui --commands", "DISPLAY=");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n  run.go_to STEP "));
  EXPECT_THAT(run.out, HasSubstr("\n  batch_rows "));
}

TEST(Gui, AnUnknownCommandIsRefusedBeforeAnythingRunsWithNearOnes) {
  const TemporaryFolder folder;
  const ProgramResult run =
      run_program("gui " + kScenario + " --command run.stp --screenshot " + (folder / "shot.png"),
                  "DISPLAY= " + home(folder));
  if (lacks_egl(run)) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--command:1: there is no command \"run.stp\", did you mean "
                                 "\"run.step\""));
}

TEST(Gui, APictureOfAnEngineShowsWhatItHasWritten) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_program("run " + kScenario + " --trace " + (folder / "trace.jsonl")).exit_code, 0);
  const ProgramResult run = run_program(
      "gui --attach " + (folder / "trace.jsonl") + " --record " + (folder / "living.db") +
          ":now --size 800x600 --command 'engine.wait 3' --screenshot " + (folder / "shot.png"),
      "DISPLAY= " + home(folder));
  if (lacks_egl(run)) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(read_png(folder / "shot.png").ok());
  const ProgramResult kept = run_program("sessions show " + (folder / "living.db") + ":now");
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("3 steps"));
}

TEST(Gui, AStepThatDoesNotComeIsExitCode1) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_program("run " + kScenario + " --trace " + (folder / "trace.jsonl")).exit_code, 0);
  const ProgramResult run =
      run_program("gui --attach " + (folder / "trace.jsonl") +
                      " --command 'engine.wait 99 1' --screenshot " + (folder / "shot.png"),
                  "DISPLAY= " + home(folder));
  if (lacks_egl(run)) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err, "hybridscope gui: engine.wait 99 1: step 99 did not come within 1 s\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "shot.png"));
}

TEST(Gui, OnlyWhatComesFromAnEngineIsRecorded) {
  const ProgramResult run = run_program("gui " + kScenario + " --record living.db");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err,
            "hybridscope gui: --record requires --attach\n"
            "hybridscope gui --help lists what it takes\n");
}

TEST(Gui, ALessonIsForLessonsRun) {
  const TemporaryFolder folder;
  const ProgramResult run =
      run_program("gui align_boundary --screenshot " + (folder / "shot.png"), home(folder));
  if (lacks_egl(run)) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err,
              HasSubstr("align_boundary is a lesson: hybridscope lessons run align_boundary\n"));
}

TEST(Gui, AScriptIsCarriedOutFirst) {
  const TemporaryFolder folder;
  folder.write("tour.txt", "# to the second step\nrun.step\nselect.cell A 1 1\n");
  const std::string shot = "gui " + kScenario + " --size 800x600 --screenshot ";
  const ProgramResult by_script =
      run_program(shot + (folder / "a.png") + " --script " + (folder / "tour.txt"), home(folder));
  if (lacks_egl(by_script)) GTEST_SKIP() << by_script.err;
  ASSERT_EQ(by_script.exit_code, 0) << by_script.err;
  const ProgramResult by_options =
      run_program(shot + (folder / "b.png") + " --command run.step --command 'select.cell A 1 1'",
                  home(folder));
  ASSERT_EQ(by_options.exit_code, 0) << by_options.err;
  EXPECT_EQ(read_png(folder / "a.png").value().rgba, read_png(folder / "b.png").value().rgba);
}

TEST(Gui, WithoutADisplayTheHeadlessCommandsAreNamed) {
  const TemporaryFolder folder;
  const ProgramResult run = run_program("gui", "DISPLAY= " + home(folder));
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("no display"));
  EXPECT_THAT(run.err, HasSubstr("hybridscope run SCENARIO.json --explain STEP"));
  EXPECT_THAT(run.err, HasSubstr("--screenshot FILE.png"));
}

TEST(Gui, WhatCannotBeOpenedForAScreenshotIsAnError) {
  const TemporaryFolder folder;
  folder.write("broken.json", "{");
  const ProgramResult run = run_program(
      "gui " + (folder / "broken.json") + " --screenshot " + (folder / "shot.png"), home(folder));
  if (lacks_egl(run)) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("broken.json"));
  EXPECT_FALSE(std::ifstream(folder / "shot.png").good());
}

TEST(Gui, ACommandThatIsRefusedIsAnError) {
  const TemporaryFolder folder;
  const ProgramResult run =
      run_program("gui " + kScenario + " --command 'run.stp' --screenshot " + (folder / "shot.png"),
                  home(folder));
  if (lacks_egl(run)) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("run.step"));
}

// Misuse of an option is 2, an output that cannot be written 4, a script that is wrong 3.
TEST(Gui, ACommandThatFailsHasTheExitCodeOfItsReason) {
  const TemporaryFolder folder;
  folder.write("wrong.txt", "run.go_to x\n");
  const auto exit_code = [&](const std::string& options) {
    return run_program("gui " + kScenario + " --screenshot " + (folder / "shot.png") + options,
                       home(folder))
        .exit_code;
  };
  if (exit_code("") != 0) GTEST_SKIP() << "no drawing without a display";
  EXPECT_EQ(exit_code(" --command 'run.go_to x'"), 2);
  EXPECT_EQ(exit_code(" --command 'file.export_html report.txt'"), 2);
  EXPECT_EQ(exit_code(" --command 'file.export_html /none/report.html'"), 4);
  EXPECT_EQ(exit_code(" --script " + (folder / "wrong.txt")), 3);
}

TEST(Gui, AScriptExportsPanelsAsTheyAreAtItsCommand) {
  const TemporaryFolder folder;
  const ProgramResult run = run_program(
      "gui " + kScenario + " --size 1280x800 --screenshot " + (folder / "shot.png") +
          " --command 'run.go_to 2' --command 'panel.export_png " + (folder / "two.png") +
          " requests' --command 'run.go_to 1' --command 'panel.export_png " + (folder / "one.png") +
          " requests' --command 'run.go_to 2'",
      home(folder));
  if (lacks_egl(run)) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto two = read_png(folder / "two.png");
  const auto one = read_png(folder / "one.png");
  ASSERT_TRUE(two.ok() && one.ok());
  EXPECT_GT(two.value().size.width, 400);
  EXPECT_LT(two.value().size.width, 1280);
  EXPECT_EQ(two.value().size, one.value().size);
  EXPECT_NE(two.value().rgba, one.value().rgba);
}

TEST(Gui, APictureThatCannotBeWrittenIsTheEnvironmentsFault) {
  const TemporaryFolder folder;
  const ProgramResult run =
      run_program("gui " + kScenario + " --screenshot " + (folder / "shot.png") +
                      " --command 'panel.export_png " + (folder / "none/panel.png") + "'",
                  home(folder));
  if (lacks_egl(run)) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("none/panel.png"));
  EXPECT_FALSE(std::ifstream(folder / "shot.png").good());
  const ProgramResult shot =
      run_program("gui " + kScenario + " --screenshot " + (folder / "none/shot.png"), home(folder));
  EXPECT_EQ(shot.exit_code, 4);
  EXPECT_THAT(shot.err, HasSubstr("cannot write " + (folder / "none/shot.png")));
  EXPECT_THAT(shot.err, Not(HasSubstr("display")));  // as where none can be drawn on
}

TEST(Gui, WhatIsMissingIsAnErrorOfInputThatNamesIt) {
  const TemporaryFolder folder;
  const std::string shot = " --screenshot " + (folder / "shot.png");
  const std::string scenario = "gui " + kScenario + shot;
  const ProgramResult none = run_program("gui /none.json" + shot, home(folder));
  if (lacks_egl(none)) GTEST_SKIP() << none.err;
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("/none.json"));
  const ProgramResult script = run_program(scenario + " --script /none.txt", home(folder));
  EXPECT_EQ(script.exit_code, 3);
  EXPECT_THAT(script.err, HasSubstr("/none.txt"));
  const ProgramResult directory =
      run_program(scenario + " --script " + folder.path(), home(folder));
  EXPECT_EQ(directory.exit_code, 3);
  EXPECT_THAT(directory.err, HasSubstr("is a directory (expected a file)"));
}

TEST(Gui, OptionsThatWouldDoNothingAreRefused) {
  const ProgramResult session = run_program("gui runs.db:before --engine reference");
  EXPECT_EQ(session.exit_code, 2);
  EXPECT_THAT(session.err, HasSubstr("runs.db:before: a session has its settings"));
  const ProgramResult limit = run_program("gui " + kScenario + " --limit 3");
  EXPECT_EQ(limit.exit_code, 2);
  EXPECT_THAT(limit.err, HasSubstr("--limit: there is no --traffic"));
  const ProgramResult text = run_program("gui --screenshot x.txt");
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_THAT(text.err, HasSubstr("expected FILE.png, found \"x.txt\""));
}

TEST(Gui, AScriptUsesNamedLayouts) {
  const TemporaryFolder folder;
  const std::string shot = "gui " + kScenario + " --size 800x600 --screenshot ";
  const ProgramResult saved = run_program(
      shot + (folder / "a.png") + " --command 'panel.hide timeline' --command 'layout.save mine'",
      home(folder));
  if (lacks_egl(saved)) GTEST_SKIP() << saved.err;
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  const ProgramResult loaded =
      run_program(shot + (folder / "b.png") + " --command 'layout.load mine'", home(folder));
  ASSERT_EQ(loaded.exit_code, 0) << loaded.err;
  EXPECT_EQ(num_different(read_png(folder / "a.png").value(), read_png(folder / "b.png").value()),
            0U);
}

TEST(Gui, ASizeThatIsNoneIsAUsageError) {
  const ProgramResult run = run_program("gui --size 80 --screenshot x.png");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("expected WIDTHxHEIGHT"));
}

TEST(Gui, TheBenchPrintsALineAFigure) {
  const TemporaryFolder folder;
  const ProgramResult run =
      run_program("gui " + kScenario + " --bench --size 320x320", home(folder));
  if (lacks_egl(run)) return;
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("320 x 320 pixels, OpenGL "));
  EXPECT_THAT(run.out, ContainsRegex("the first frame: [0-9]+ ms"));
  EXPECT_THAT(run.out, ContainsRegex("a frame, the step stays +200( +[0-9]+\\.[0-9]+){5}"));
  EXPECT_THAT(run.out, ContainsRegex("until it is seen +200( +[0-9]+\\.[0-9]+){5}"));
  EXPECT_EQ(run_program("gui --bench --screenshot x.png").exit_code, 2);
}

TEST(Gui, ARealWindowUnderXvfbShowsWhatTheOffscreenPictureShows) {
  if (std::system("command -v xvfb-run >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "xvfb-run is not installed";
  const TemporaryFolder folder;
  const std::string arguments =
      " gui " + kScenario + " --size 800x600 --command 'run.go_to 2' --screenshot ";
  // Under the sanitizers: what the display's OpenGL driver leaves behind is not ours.
  const std::string window =
      home(folder) +
      " ASAN_OPTIONS=detect_leaks=0 xvfb-run -a -s '-screen 0 1024x768x24' " HYBRIDSCOPE_PROGRAM +
      arguments + (folder / "window.png") + " --window";
  ASSERT_EQ(std::system(window.c_str()), 0);
  const ProgramResult offscreen =
      run_program(arguments.substr(1) + (folder / "offscreen.png"), home(folder));
  const auto shown = read_png(folder / "window.png");
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  EXPECT_EQ(shown.value().size, (PixelSize{800, 600}));
  if (lacks_egl(offscreen)) return;
  const auto drawn = read_png(folder / "offscreen.png");
  ASSERT_TRUE(drawn.ok());
  // A percent of 800 x 600 pixels of 4 values: the software renderers round otherwise.
  EXPECT_LT(num_different(shown.value(), drawn.value()), 800u * 600u * 4u / 100u);
}

}  // namespace
}  // namespace hybridscope::test::gui_test
