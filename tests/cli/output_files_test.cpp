// No command writes over a file that it reads, or over another output, whatever names the file has.
// The tables name every option of every command that takes a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "sessions/job/backends.h"
#include "tests/cli/program.h"

namespace hybridscope::test::output_files_test {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

// A command that writes `option`, and the file that it must not write there. In `words`, % is the
// folder of files that the fixture makes.
struct Overwriting {
  const char* words;
  const char* option;  // empty: the last word of all
  const char* file;    // in the folder
};

constexpr Overwriting kOverwriting[] = {
    {"run %/in.json", "--trace", "in.json"},
    {"run %/in.json", "--junit", "in.json"},
    {"run %/in.json", "--tap", "in.json"},
    {"run %/in.json", "--record", "in.json"},
    {"run %/suite", "--junit", "suite/in.json"},
    {"run %/in.json --rerun-failed %/report.tap", "--tap", "report.tap"},
    {"run %/in.json", "--write-baseline", "in.json"},
    {"run --traffic %/traffic.jsonl", "--trace", "traffic.jsonl"},
    {"run --traffic %/traffic.jsonl --model %/config.json", "--trace", "config.json"},
    {"run %/in.json --weights %/weights", "--trace", "weights/config.json"},
    {"judge %/t.jsonl", "--junit", "t.jsonl"},
    {"judge %/t.jsonl", "--tap", "t.jsonl"},
    {"judge %/t.jsonl", "--record", "t.jsonl"},
    {"judge - <%/t.jsonl", "--junit", "t.jsonl"},
    {"conformance %/vectors", "--junit", "vectors/v.jsonl"},
    {"conformance %/vectors/v.jsonl", "--junit", "vectors/v.jsonl"},
    {"bugs run 48 --weights %/weights", "--junit", "weights/config.json"},
    {"diff %/runs.db:a %/runs.db:a", "--html", "runs.db"},
    {"diff --scenario %/in.json --a engine=safe --b engine=reference", "--html", "in.json"},
    {"plan --traffic %/traffic.jsonl", "--html", "traffic.jsonl"},
    {"plan --traffic %/traffic.jsonl", "--out", "traffic.jsonl"},
    {"plan --merge %/plan.jsonl", "--html", "plan.jsonl"},
    {"plan fit %/t.jsonl", "--out", "t.jsonl"},
    {"matrix --merge %/matrix", "--html", "matrix/matrix.jsonl"},
    {"matrix --merge %/matrix", "--html", "matrix/faults/a.json"},
    {"shrink %/in.json", "--output", "in.json"},
    {"shrink %/t.jsonl", "--output", "t.jsonl"},
    {"export %/in.json --as markdown", "--output", "in.json"},
    {"sessions export %/runs.db:a", "--html", "runs.db"},
    {"sessions export %/runs.db:a", "--jsonl", "runs.db"},
    {"sessions export %/runs.db:a", "--trace", "runs.db"},
    {"sessions import %/t.jsonl", "", "t.jsonl"},
    {"gui %/picture.png", "--screenshot", "picture.png"},
    {"gui --attach %/t.jsonl", "--record", "t.jsonl"},
};

// Two outputs of a command, both of which get the same name.
struct Colliding {
  const char* words;
  const char* one;
  const char* other;
};

constexpr Colliding kColliding[] = {
    {"run %/in.json", "--trace", "--junit"},
    {"run %/in.json", "--junit", "--tap"},
    {"run %/in.json", "--record", "--trace"},
    {"run %/in.json", "--write-baseline", "--junit"},
    {"judge %/t.jsonl", "--junit", "--tap"},
    {"judge %/t.jsonl", "--record", "--tap"},
    {"plan --traffic %/traffic.jsonl", "--html", "--out"},
    {"sessions export %/runs.db:a", "--html", "--jsonl"},
    {"sessions export %/runs.db:a", "--jsonl", "--trace"},
    {"gui --attach %/t.jsonl", "--record", "--screenshot"},
};

// Options with a file that is only read, that a session is in or comes into beside others (two
// tests below), or a folder with a file for each of many names.
const std::set<std::string> kOthers = {"run scenario",
                                       "run --traffic",
                                       "run --model",
                                       "run --rerun-failed",
                                       "run --baseline",
                                       "run --weights",
                                       "judge trace",
                                       "judge --weights",
                                       "bugs run --weights",
                                       "conformance files",
                                       "diff sessions",
                                       "diff --scenario",
                                       "explain-cache scenario",
                                       "explain-cache --traffic",
                                       "explain-cache --model",
                                       "export scenario",
                                       "gui file",
                                       "gui --traffic",
                                       "gui --attach",
                                       "gui --model",
                                       "gui --weights",
                                       "gui --script",
                                       "lessons show lesson",
                                       "lessons run lesson",
                                       "lessons run --answers-from",
                                       "lessons check lessons",
                                       "lessons check --weights",
                                       "lessons export --html",
                                       "lessons export lessons",
                                       "matrix --merge",
                                       "matrix --out",
                                       "matrix --write-scenarios",
                                       "model model",
                                       "plan --model",
                                       "plan --draft-model",
                                       "plan --from-log",
                                       "plan --step-time",
                                       "plan --traffic",
                                       "plan --merge",
                                       "plan fit trace",
                                       "plan fit --model",
                                       "sessions bookmark session",
                                       "sessions delete session",
                                       "sessions export session",
                                       "sessions fork --record",
                                       "sessions fork session",
                                       "sessions list file",
                                       "sessions note session",
                                       "sessions query file",
                                       "sessions rename session",
                                       "sessions rerun session",
                                       "sessions show session",
                                       "sessions stats session",
                                       "sessions import input",
                                       "shrink input"};

std::string read(const fs::path& path) { return read_file(path.string()); }

class OutputFiles : public testing::Test {
 protected:
  void SetUp() override {
    const std::string scenario = read(fs::path(HYBRIDSCOPE_SOURCE_DIR) / "scenarios" /
                                      "align_boundary_by_accepted_drafts.json");
    folder_ = temporary_folder("output_files", {{"in.json", scenario},
                                                {"picture.png", scenario},
                                                {"report.tap", "TAP version 13\n1..0\n"},
                                                {"traffic.jsonl", "{}\n"},
                                                {"config.json", "{}\n"},
                                                {"plan.jsonl", "{}\n"}});
    for (const char* inner : {"suite", "weights", "vectors", "matrix/faults"})
      fs::create_directories(at(inner));
    for (const char* file : {"suite/in.json", "weights/config.json", "vectors/v.jsonl",
                             "matrix/matrix.jsonl", "matrix/faults/a.json"})
      std::ofstream(at(file)) << "{}\n";
    ASSERT_EQ(run_program("run -q " + at("in.json") + " --trace " + at("t.jsonl") + " --record " +
                          at("runs.db:a"))
                  .exit_code,
              0);
  }
  void TearDown() override {
    if (!HasFailure()) fs::remove_all(folder_);
  }

  std::string at(const std::string& file) const { return folder_ + "/" + file; }
  std::string command(std::string words) const {
    for (auto place = words.find('%'); place != words.npos; place = words.find('%'))
      words.replace(place, 1, folder_);
    return words;
  }
  // Everything that the folder and the folders in it hold, but links.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file() && !entry.is_symlink())
        all[entry.path().string()] = read(entry.path());
    return all;
  }

  std::string folder_;
};

// Every option with the file itself, and with one of its other names by turns.
TEST_F(OutputFiles, WhatIsReadIsNeverWrittenByAnyOfItsNames) {
  std::size_t turn = 0;
  for (const Overwriting& row : kOverwriting) {
    const std::string file = at(row.file);
    const std::string ending = fs::path(row.file).extension().string();
    const std::string symbolic = at("symbolic" + ending);
    const std::string hard = at("hard" + ending);
    for (const std::string& link : {symbolic, hard}) fs::remove(link);
    fs::create_symlink(fs::path(row.file), symbolic);
    fs::create_hard_link(file, hard);
    const auto before = contents();
    const std::array others = {folder_ + "/./suite/../" + row.file, symbolic, hard};
    for (const std::string& name : {file, others[turn++ % others.size()]}) {
      const std::string words = command(row.words) + " " + row.option + " " + name;
      const ProgramResult result = run_program(words);
      EXPECT_EQ(result.exit_code, 2) << words << "\n" << result.out << result.err;
      EXPECT_THAT(result.err, HasSubstr(name + ": this is ")) << words;
      EXPECT_THAT(result.err, HasSubstr(", expected another file\n")) << words;
    }
    EXPECT_EQ(contents(), before) << row.words << " " << row.option;
    EXPECT_TRUE(fs::is_symlink(symbolic));
  }
}

TEST_F(OutputFiles, TwoOutputsAreTwoFiles) {
  fs::create_symlink("new.png", at("link.png"));  // leads to what is not there yet
  for (const Colliding& row : kColliding)
    for (const char* other : {"new.png", "suite/../new.png", "link.png"}) {
      const auto before = contents();
      const std::string words = command(row.words) + " " + row.one + " " + at("new.png") + " " +
                                row.other + " " + at(other);
      const ProgramResult result = run_program(words);
      EXPECT_EQ(result.exit_code, 2) << words << "\n" << result.out << result.err;
      EXPECT_THAT(result.err, HasSubstr("are the same, expected two places\n")) << words;
      EXPECT_EQ(contents(), before) << words;
    }
}

TEST_F(OutputFiles, FilesBesideASessionFileBelongToIt) {
  for (const char* ending : {"-wal", "-shm", "-journal", "-lock"}) {
    const ProgramResult result =
        run_program("run " + at("in.json") + " --record " + at("new.db:a") + " --trace " +
                    at(std::string("new.db") + ending));
    EXPECT_EQ(result.exit_code, 2) << ending;
    EXPECT_THAT(result.err, HasSubstr("are the same, expected two places")) << ending;
  }
  EXPECT_FALSE(fs::exists(at("new.db")));
}

TEST_F(OutputFiles, ASessionMayComeIntoTheFileThatItsParentIsIn) {
  const ProgramResult fork = run_program("sessions fork " + at("runs.db:a") +
                                         " --at 2 --preempt A --record " + at("runs.db:b"));
  EXPECT_NE(fork.exit_code, 2) << fork.err;
  EXPECT_THAT(run_program("sessions list " + at("runs.db")).out, HasSubstr("\nb "));
}

TEST_F(OutputFiles, ADeviceIsNoFileThatIsWrittenOver) {
  const ProgramResult run =
      run_program("run -q " + at("in.json") + " --trace /dev/null --junit /dev/null");
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST_F(OutputFiles, TheFileOfStandardOutputIsStandardOutput) {
  for (const std::string& name : {at("out"), std::string("/dev/stdout")}) {
    const ProgramResult run =
        run_program("run " + at("in.json") + " --trace " + name + " >" + at("out"));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(read(at("out")), read(at("t.jsonl")));
    EXPECT_THAT(run.err, HasSubstr("no findings"));  // the text for people
  }
  const ProgramResult two =
      run_program("run " + at("in.json") + " --trace " + at("out") + " --junit - >" + at("out"));
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err, HasSubstr("--trace and --junit would both be on standard output"));
}

TEST_F(OutputFiles, ThroughASymbolicLinkTheFileIsReplacedNotTheLink) {
  std::ofstream(at("suite/old.xml")) << "old";
  fs::create_symlink("suite/old.xml", at("link.xml"));
  fs::create_symlink("link.xml", at("link2.xml"));
  ASSERT_EQ(run_program("run -q " + at("in.json") + " --junit " + at("link2.xml")).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(at("link.xml")));
  EXPECT_TRUE(fs::is_symlink(at("link2.xml")));
  EXPECT_THAT(read(at("suite/old.xml")), HasSubstr("<testsuites"));
  fs::create_symlink("suite/new.xml", at("ahead.xml"));
  ASSERT_EQ(run_program("run -q " + at("in.json") + " --junit " + at("ahead.xml")).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(at("ahead.xml")));
  EXPECT_THAT(read(at("suite/new.xml")), HasSubstr("<testsuites"));
}

TEST_F(OutputFiles, WhatKilledProgramsLeftOfTheSameFileIsRemoved) {
  const std::string dead = "hybridscope-" + std::to_string(INT32_MAX);  // no such process id
  const std::string alive = "hybridscope-" + std::to_string(::getpid());
  const std::vector<std::string> others = {
      "r.xml." + alive + ".part",   "r.xml." + dead + ".part.old", "other.xml." + dead + ".part",
      "r.xml.hybridscope-12x.part", "r.xml.hybridscope-.part",     "r.xml.hybridscope-part"};
  std::ofstream(at("r.xml." + dead + ".part")) << "half";
  for (const std::string& name : others) std::ofstream(at(name)) << "half";
  ASSERT_EQ(run_program("run -q " + at("in.json") + " --junit " + at("r.xml")).exit_code, 0);
  EXPECT_FALSE(fs::exists(at("r.xml." + dead + ".part")));
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(at(name))) << name;
}

TEST_F(OutputFiles, TemporaryFilesOfOtherProgramsStay) {
  const std::string foreign = "r.xml." + std::to_string(INT32_MAX) + ".part";
  for (const std::string& name : {foreign, std::string("r.xml.99999.part")})
    std::ofstream(at(name)) << "not ours";
  ASSERT_EQ(run_program("run -q " + at("in.json") + " --junit " + at("r.xml")).exit_code, 0);
  for (const std::string& name : {foreign, std::string("r.xml.99999.part")})
    EXPECT_EQ(read(at(name)), "not ours") << name;
}

// "run --trace" for each option of the command and its subcommands that takes a file or folder.
void add_file_options(const CLI::App& app, const std::string& name, std::set<std::string>& all) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const bool takes_file = std::ranges::any_of(
        std::vector<std::string>{"FILE", "DIR", "OUT.", "IN.", "TRACE", ".json"},
        [&](const std::string& word) { return type.find(word) != type.npos; });
    const bool is_profile = type.find("PROFILE") != type.npos;
    if (takes_file && !is_profile)
      all.insert(name + " " +
                 (option->get_lnames().empty() ? option->get_name(true)
                                               : "--" + option->get_lnames().front()));
  }
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; }))
    add_file_options(*inner, name + " " + inner->get_name(), all);
}

TEST(OutputFileTables, NameEveryOptionThatTakesAFile) {
  const Backends backends;
  std::set<std::string> all;
  for (const ProgramCommand& command : program_commands()) {
    CLI::App app(command.description, command.name);
    command.add(app, backends);
    add_file_options(app, command.name, all);
  }
  std::set<std::string> known = kOthers;
  const auto add = [&](const std::string& words, const std::string& option) {
    const std::size_t second = words.find(' ') + 1;
    const std::string word = words.substr(second, words.find(' ', second) - second);
    const bool has_subcommand =
        word == "run" || word == "fit" || word == "export" || word == "import";
    known.insert((has_subcommand ? words.substr(0, second) + word : words.substr(0, second - 1)) +
                 " " + (option.empty() ? "session" : option));
  };
  for (const Overwriting& row : kOverwriting) add(row.words, row.option);
  std::vector<std::string> in_one_only;  // all of them: a set is printed in part
  std::ranges::set_symmetric_difference(all, known, std::back_inserter(in_one_only));
  for (const std::string& option : in_one_only)
    ADD_FAILURE() << option << (known.contains(option) ? " is no option" : " is in no table");
}

}  // namespace
}  // namespace hybridscope::test::output_files_test
