// Text, window, page and report give one answer about a cell of a block table in a step, in every
// shipped scenario under every profile, and in the scenario of every known bug; and what they say
// is written is what the checker has executed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "gui/model/block_table_model.h"
#include "gui/model/live_run.h"
#include "gui/web/lesson_data.h"
#include "sessions/explain/explain_step.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/record/step_recorder.h"
#include "sessions/report/report_tables.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/support/swept_profiles.h"

namespace hybridscope::cell_answers_test {
namespace {

using Json = nlohmann::ordered_json;
using Blocks = std::set<std::int32_t>;

Blocks blocks_in(const std::string& line, const std::string& pattern) {
  Blocks blocks;
  const std::regex wanted(pattern);
  for (std::sregex_iterator found(line.begin(), line.end(), wanted), end; found != end; ++found)
    blocks.insert(std::stoi((*found)[1]));
  return blocks;
}

// What --explain says that a row reads and writes in the group, by the request's name.
struct Said {
  Blocks read;
  Blocks written;
};
std::map<std::string, Said> said_in(const std::string& text, std::string_view group) {
  std::map<std::string, Said> said;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(std::string(group) + ", ");
    if (at == std::string::npos || line.find(" kernel: ") == std::string::npos) continue;
    const std::string label = line.substr(2, at - 2);
    said[label.substr(0, label.find_last_not_of(' ') + 1)] = {
        .read = blocks_in(line, R"(needs S\(\d+\), reads [^;]*?block (\d+))"),
        .written = blocks_in(line, R"(S\(\d+\) to (?:column \d+ \()?block (\d+))")};
  }
  return said;
}

struct Seen {
  std::int64_t steps = 0;
  std::int64_t sentences = 0;  // of rows, in explanations
  std::map<ForwardUse, std::int64_t> uses;
};

class Faces {
 public:
  Faces(RunPlan plan, Seen& seen)
      : run_(LiveRun::create(plan).value()),
        source_(LiveSource::create(std::move(plan), RecordLevel::full, "run").value()),
        report_(run_->config(), run_->names()),
        seen_(seen) {}

  void compare() {
    while (run_->forward().value()) {
      ASSERT_NE(source_->next().value(), nullptr);
      report_.take(*source_->record().value());
      SCOPED_TRACE("step " + std::to_string(run_->step()));
      ++seen_.steps;
      const BlockTableModel window = make_block_table_model(*run_, {});
      const Json page = block_tables_data(*run_);
      const auto report = report_.cells();
      for (std::size_t i = 0; i < window.grids.size(); ++i) {
        compare_pages(window.grids[i], page["grids"][i], report);
        compare_words(window.grids[i]);
        compare_writes(window.grids[i]);
      }
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  void compare_pages(const BlockTableGrid& grid, const Json& page,
                     const ReportTables::Tables& report) {
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      const ReportTables::Cells& told = report.at({grid.group, grid.rows[row].request.value});
      ASSERT_EQ(static_cast<std::int32_t>(told.size()), grid.rows[row].num_columns);
      for (std::int32_t column = 0; column < grid.rows[row].num_columns; ++column) {
        const auto at = static_cast<std::size_t>(column);
        const BlockCell& cell = grid.at(row, column);
        SCOPED_TRACE(testing::Message() << grid.name << " " << grid.rows[row].name << " column "
                                        << column << " block " << cell.block);
        ASSERT_EQ(told[at].block, cell.block);
        ASSERT_EQ(told[at].role, cell.role);
        ASSERT_EQ(told[at].use, cell.use);
        ASSERT_EQ(told[at].is_changed, cell.changed);
        const Json& drawn = page["rows"][row]["cells"][at];
        ASSERT_EQ(drawn["role"], cell.role == CellRole::null_block
                                     ? std::string("null-block")
                                     : std::string(role_name(cell.role)));
        // "R rw": the letter of the role, then what the step does there.
        const std::string use = drawn["signs"].get<std::string>().substr(1);
        ASSERT_EQ(use.find('r') != std::string::npos, cell.use.read);
        ASSERT_EQ(use.find('w') != std::string::npos, cell.use.written);
        ++seen_.uses[cell.use.what];
      }
    }
  }

  // Of the first recurrent group: of the others the text says that they do the same.
  void compare_words(const BlockTableGrid& grid) {
    const StepView view = run_->view();
    const std::string text = explain_topics({.trace = view.trace,
                                             .config = view.config,
                                             .names = view.names,
                                             .scheduler_tables = view.scheduler_tables,
                                             .findings = view.findings,
                                             .columns = 1'000'000},
                                            std::array{StepTopic::forward});
    for (const auto& [name, said] : said_in(text, grid.name)) {
      const auto row = std::ranges::find(grid.rows, name, &BlockTableRow::name);
      if (row == grid.rows.end()) continue;
      Said shown;
      Blocks own;
      for (std::int32_t column = 0; column < row->num_columns; ++column) {
        const BlockCell& cell = grid.at(static_cast<std::size_t>(row - grid.rows.begin()), column);
        own.insert(cell.block);
        if (cell.use.read) shown.read.insert(cell.block);
        if (cell.use.written) shown.written.insert(cell.block);
      }
      SCOPED_TRACE(testing::Message() << grid.name << " " << name << "\n" << text);
      // A row under a fault may read or write another row's cells too.
      const bool alone = view.findings.empty();
      const auto compare = [&](const Blocks& words, const Blocks& cells) {
        Blocks expected;
        std::ranges::set_intersection(words, own, std::inserter(expected, expected.end()));
        if (!alone) expected.insert(cells.begin(), cells.end());
        ASSERT_EQ(cells, expected);
      };
      if (keeps_temporal(grid.group)) {
        ++seen_.sentences;
        compare(said.read, shown.read);
        compare(said.written, shown.written);
      }
    }
  }

  bool keeps_temporal(std::int32_t group) const {
    return states_kept(run_->config().kv_cache_config.groups[static_cast<std::size_t>(group)])
        .temporal;
  }

  // Against the log of what the checker executed, which follows from the metadata by other code.
  void compare_writes(const BlockTableGrid& grid) {
    if (grid.is_assumed) return;
    const ContentKind content = !grid.is_mamba               ? ContentKind::attention
                                : keeps_temporal(grid.group) ? ContentKind::temporal
                                                             : ContentKind::conv;
    Blocks executed;
    for (const StateWrite& write : run_->view().writes)
      if (write.group == grid.group && write.content == content &&
          (write.event.kind == WriteKind::prefill || write.event.kind == WriteKind::decode ||
           write.event.kind == WriteKind::attention))
        executed.insert(write.block);
    Blocks in_tables;
    Blocks shown;
    for (const BlockCell& cell : grid.cells) {
      if (cell.block > kNullBlock) in_tables.insert(cell.block);
      if (cell.use.written && cell.use.what != ForwardUse::padding) shown.insert(cell.block);
    }
    Blocks expected;
    std::ranges::set_intersection(executed, in_tables, std::inserter(expected, expected.end()));
    SCOPED_TRACE(grid.name);
    ASSERT_EQ(shown, expected);
  }

  std::unique_ptr<LiveRun> run_;
  std::unique_ptr<LiveSource> source_;
  ReportTables report_;
  Seen& seen_;
};

void compare_all(std::vector<std::pair<std::string, Scenario>> scenarios, Seen& seen) {
  for (auto& [name, scenario] : scenarios) {
    SCOPED_TRACE(name);
    auto plan = plan_scenario(scenario, name);
    if (!plan.ok()) continue;  // a release that has no such mode, for example
    Faces(std::move(plan).value(), seen).compare();
    if (testing::Test::HasFatalFailure()) return;
  }
}

std::string profile_word(const EngineProfile& profile) {
  std::string name = engine_profile_name(profile);
  for (char& letter : name)
    if (letter == '-' || letter == '.') letter = '_';
  return name;
}

class CellAnswers : public testing::TestWithParam<EngineProfile> {};

TEST_P(CellAnswers, AreEqualInEveryShippedScenario) {
  std::vector<std::pair<std::string, Scenario>> scenarios;
  for (const std::string& path : test::shipped_scenarios()) {
    scenarios.emplace_back(path, read_scenario_file(path).value());
    scenarios.back().second.settings.engine = GetParam();
  }
  Seen seen;
  compare_all(std::move(scenarios), seen);
  EXPECT_GT(seen.steps, 200);
  EXPECT_GT(seen.sentences, 200);
  for (const ForwardUse use : {ForwardUse::keys, ForwardUse::running, ForwardUse::draft})
    EXPECT_GT(seen.uses[use], 50) << static_cast<int>(use);
}

INSTANTIATE_TEST_SUITE_P(Profiles, CellAnswers, testing::ValuesIn(test::swept_profiles()),
                         [](const auto& profile) { return profile_word(profile.param); });

TEST(CellAnswersOfKnownBugs, AreEqual) {
  std::vector<std::pair<std::string, Scenario>> scenarios;
  for (const KnownBug& bug : known_bug_table()) {
    const auto exhibit = shipped_bug(bug.id);
    if (exhibit.ok()) scenarios.emplace_back(bug.id, faulty_scenario(exhibit.value()));
  }
  EXPECT_GT(scenarios.size(), 40u);
  Seen seen;
  compare_all(std::move(scenarios), seen);
  EXPECT_GT(seen.steps, 200);
  EXPECT_GT(seen.sentences, 100);
}

// The worker's array says block 7 where A has block 4: whoever has block 7 is written to.
TEST(CellAnswersUnderFaults, AWriteIsShownWhereItsBlockIs) {
  StepTrace trace;
  trace.rows.push_back({.request = {0}});
  GroupTrace group{.group = 0, .block_size = 16};
  group.attention_writes.push_back({.row = 0, .column = 1, .block = 7});
  const std::vector<std::int32_t> of_a{3, 4};
  const std::vector<std::int32_t> of_b{6, 7};
  const std::vector<ShownTable> tables{{{0}, of_a}, {{1}, of_b}};
  const std::vector<UsedCell> used = used_cells({.trace = trace, .group = group}, tables);
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0].table, 1u);
  EXPECT_EQ(used[0].column, 1);
  EXPECT_EQ(used[0].use, (CellUse{.what = ForwardUse::keys, .written = true}));
}

// The four boundary states of a prompt of 30 tokens in mode all, blocks of 8: S(8), S(16) and S(24)
// are stored on the way and registered, S(30) is where the next step begins.
TEST(CellAnswersOfModeAll, APrefillWritesTheBlocksThatItPasses) {
  const auto run = LiveRun::create(test::plan_of_text(R"({
    "version": 1, "name": "boundaries", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "all", "block_size": 8, "num_gpu_blocks_override": 64,
                 "max_model_len": 128, "async_scheduling": false},
    "requests": [{"id": "A", "prompt": 30, "max_tokens": 3}]})"))
                       .value();
  ASSERT_TRUE(run->go_to(1).ok());
  const BlockTableModel model = make_block_table_model(*run, {});
  const BlockTableGrid& grid = model.grids.at(1);
  ASSERT_EQ(grid.rows.at(0).num_columns, 4);
  for (std::int32_t column = 0; column < 4; ++column) {
    const BlockCell& cell = grid.at(0, column);
    EXPECT_EQ(cell.block, 5 + column);
    EXPECT_EQ(cell.role, column < 3 ? CellRole::cached : CellRole::running);
    EXPECT_EQ(cell.use, (CellUse{column < 3 ? ForwardUse::passed : ForwardUse::running,
                                 /*read=*/false, /*written=*/true}));
  }
}

}  // namespace
}  // namespace hybridscope::cell_answers_test
