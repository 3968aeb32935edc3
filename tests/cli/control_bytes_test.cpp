// Whatever reaches a command through names, paths, arguments, settings and files: none of it
// controls the terminal that shows the command's output, or the page that a Markdown file is.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "sessions/text/output_file.h"
#include "tests/cli/program.h"

namespace hybridscope::test::control_bytes_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// What of C0, DEL, C1, marks of direction and bytes that are no UTF-8 `text` has; empty: nothing.
std::string controls_in(const std::string& text) {
  try {
    static_cast<void>(json(text).dump());
  } catch (const json::exception& error) {
    return error.what();  // says which byte is no UTF-8
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto at = [&](std::size_t k) {
      return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U;
    };
    const bool c0 = at(0) < 0x20 && text[i] != '\n' && text[i] != '\t';
    const bool c1 = at(0) == 0xC2 && at(1) < 0xA0;
    const bool embeds = at(0) == 0xE2 && at(1) == 0x80 && at(2) >= 0xAA && at(2) <= 0xAE;
    const bool isolates = at(0) == 0xE2 && at(1) == 0x81 && at(2) >= 0xA6 && at(2) <= 0xA9;
    if (c0 || at(0) == 0x7F || c1 || embeds || isolates)
      return "byte " + std::to_string(i) + ", after: " + json(text.substr(0, i)).dump();
  }
  return {};
}

// Words with everything that a terminal must not get, each time in another order.
class Hostile {
 public:
  // An argument or a path.
  std::string word() {
    return shuffled({"\x1b[31m", "\x1b]0;x\x07", "\x7f", "\xC2\x9B", "\xE2\x80\xAE", "\xE2\x81\xA6",
                     "\r", "\b", "ab", ".", "\xff", "\xE2\x80", "\xC0\x9B"});
  }
  // UTF-8, as JSON has to be.
  std::string text() {
    return shuffled({"\x1b[31m", "\x07", "\x7f", "\xC2\x9B", "\xE2\x80\xAE", "\r", "ab"});
  }
  // A name that scenarios allow.
  std::string name() { return shuffled({"\xC2\x9B", "\xE2\x80\xAE", "\xE2\x81\xA9", "ab"}); }

 private:
  std::string shuffled(std::vector<std::string> pieces) {
    std::ranges::shuffle(pieces, random_);
    std::string text = "n";
    for (const std::string& piece : pieces) text += piece;
    return text;
  }

  std::mt19937_64 random_{20261127};
};

class ControlBytes : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = temporary_folder("controls", {});
    json scenario = json::parse(read_file(HYBRIDSCOPE_SOURCE_DIR "/scenarios/plain_decode.json"));
    scenario["name"] = hostile_.text();
    scenario["teaches"] = hostile_.text();
    scenario["requests"][0]["id"] = hostile_.name();
    write("scenario.json", scenario.dump());
    const std::string path = folder_ + "/" + hostile_.word() + ".json";
    ASSERT_TRUE(write_output_file(path, scenario.dump()).ok());
    odd_path_ = "'" + path + "'";
    for (const char* key : {"model", "policies", "settings", "script", "x"}) {
      json wrong = scenario;
      wrong[key] = {{hostile_.text(), hostile_.text()}};
      write(std::string("wrong_") + key + ".json", wrong.dump());
    }
    write("garbage.json", "{\"name\": " + hostile_.word() + "}");
    write("lesson.json", R"({"name": ")" + hostile_.word() + "\"");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_output_file(folder_ + "/" + name, text).ok());
  }
  // The command; @ is the folder, # a hostile word, % a scenario with such a name.
  void expect_no_controls(const std::string& command) {
    std::string arguments;
    for (const char c : command)
      arguments += c == '@'   ? folder_
                   : c == '#' ? "'" + hostile_.word() + "'"
                   : c == '%' ? odd_path_
                              : std::string(1, c);
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(controls_in(result.out), "") << command;
    EXPECT_EQ(controls_in(result.err), "") << command;
    EXPECT_NE(result.exit_code, 5) << command << '\n' << result.err;
    EXPECT_GE(result.exit_code, 0) << command << '\n' << result.err;
  }

  Hostile hostile_;
  std::string folder_;
  std::string odd_path_;
};

TEST_F(ControlBytes, OfScenariosReachNoTerminal) {
  for (const char* command :
       {"run @/scenario.json --explain 2",
        "run @/scenario.json --twin",
        "run % --json",
        "run % --jsonl --record @/runs.db:one --record-level full --trace @/trace.jsonl",
        "run @",
        "run % @/wrong_x.json --tap -",
        "run % --junit -",
        "run @/garbage.json",
        "run @/wrong_model.json",
        "run @/wrong_policies.json",
        "run @/wrong_settings.json",
        "run @/wrong_script.json",
        "explain-cache %",
        "explain-cache % --json",
        "export % --as markdown",
        "export % --as pytest --no-async-scheduling",
        "export % --as step-actions",
        "shrink %",
        "diff --scenario % --engine safe --engine reference",
        "diff --scenario % --engine safe --engine reference --html -",
        "judge @/trace.jsonl --explain 2",
        "judge @/trace.jsonl --json",
        "judge %",
        "sessions show @/runs.db --step 2 --explain",
        "sessions show @/runs.db",
        "sessions show @/runs.db --step 2 --json",
        "sessions export @/runs.db:one --jsonl -",
        "sessions export @/runs.db:one --html -",
        "sessions query @/runs.db 'SELECT name FROM requests'",
        "sessions rerun @/runs.db",
        "lessons run @/lesson.json",
        "conformance @/garbage.json",
        "model --config @/garbage.json"})
    expect_no_controls(command);
}

TEST_F(ControlBytes, OfArgumentsReachNoTerminal) {
  const std::string place = folder_ + "/runs.db";
  ASSERT_EQ(run_program("run scenarios/plain_decode.json --record '" + place + "'").exit_code, 0);
  for (const char* command : {"#",
                              "run @/#",
                              "run --#",
                              "run % --engine #",
                              "run % --break #",
                              "run % --trace @/#/x",
                              "run % --record @/#.db:#",
                              "run % --record @/#.db:a",
                              "run % --model #",
                              "run % --steps #",
                              "run --traffic #",
                              "judge #",
                              "judge % --engine #",
                              "model #",
                              "conformance #",
                              "lessons run #",
                              "lessons show #",
                              "lessons #",
                              "bugs show #",
                              "bugs run #",
                              "matrix --engine #",
                              "matrix --out @/#/#",
                              "shrink #",
                              "export % --as #",
                              "explain-cache #",
                              "gui # --screenshot #",
                              "gui % --command # --screenshot @/x.png",
                              "gui --attach unix:#",
                              "doctor #",
                              "sessions #",
                              "sessions list #",
                              "sessions show @/runs.db:#",
                              "sessions rename @/runs.db #",
                              "sessions note @/runs.db #",
                              "sessions bookmark @/runs.db --step 1 --note #",
                              "sessions query @/runs.db #",
                              "sessions import # @/runs.db:#",
                              "sessions fork @/runs.db --step 1 --set #",
                              "sessions rerun @/#",
                              "diff @/runs.db:# #",
                              "diff @/runs.db @/runs.db --ignore #"})
    expect_no_controls(command);
}

TEST_F(ControlBytes, StayOutOfMarkdownAndPythonFiles) {
  for (const char* form : {"markdown", "pytest", "step-actions"}) {
    const std::string file = folder_ + "/report";
    const ProgramResult made =
        run_program("export '" + folder_ + "/scenario.json' --no-async-scheduling --as " + form +
                    " -o '" + file + "'");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(controls_in(read_file(file)), "") << form;
  }
}

// A report has the name as standard output has it.
TEST_F(ControlBytes, AreSpelledInJunitAndTapAsOnStandardOutput) {
  json scenario = json::parse(read_file(folder_ + "/scenario.json"));
  scenario["name"] = "a\x1b\xC2\x9B\xE2\x80\xAE";
  scenario["expect"] = {{"steps", 99}};
  const std::string path = folder_ + "/b\xff\xE2\x80\xAE.json";
  ASSERT_TRUE(write_output_file(path, scenario.dump()).ok());
  const std::string junit = folder_ + "/report.xml";
  const std::string tap = folder_ + "/report.tap";
  run_program("run '" + path + "' --junit '" + junit + "' --tap '" + tap + "'");
  EXPECT_THAT(read_file(junit), HasSubstr(R"(name="a\x1B\u009B\u202E")"));
  EXPECT_THAT(read_file(junit), HasSubstr(R"(b\xFF\u202E.json")"));
  EXPECT_EQ(controls_in(read_file(junit)), "");
  EXPECT_THAT(read_file(tap), HasSubstr(R"(ok 1 - a\\x1B\\u009B\\u202E)"));
  EXPECT_THAT(read_file(tap), HasSubstr(R"(b\\xFF\\u202E.json")"));
  EXPECT_EQ(controls_in(read_file(tap)), "");
}

// JSON that has them in a string keeps its meaning.
TEST_F(ControlBytes, AreTheSameCharactersInJson) {
  const std::string name = "a\x1b\x7f\xC2\x9B\xE2\x80\xAE";
  json scenario = json::parse(read_file(folder_ + "/scenario.json"));
  scenario["name"] = name;
  write("named.json", scenario.dump());
  const ProgramResult run = run_program("run '" + folder_ + "/named.json' --json");
  EXPECT_THAT(run.out, HasSubstr(R"(a\u001b\u007F\u009B\u202E)"));
  const json values = json::parse(run.out).flatten();
  EXPECT_TRUE(std::ranges::any_of(values, [&](const json& value) { return value == name; }));
}

}  // namespace
}  // namespace hybridscope::test::control_bytes_test
