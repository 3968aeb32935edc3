#include "sessions/known_bugs/bug_exhibit.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sessions/known_bugs/bug_files.h"
#include "sessions/known_bugs/bug_tests.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

namespace {

constexpr LeftOutBug kLeftOut[] = {
    {11, "v2-seed-column-in-wrong-units",
     "the policy is there (`initial_state_column`) and profile reference has it, but no model of a "
     "scenario has recurrent blocks larger than cache_config.block_size; an engine made for the "
     "example shows it in tests/sessions/run/differences_test.cpp"},
    {20, "ds-layout-precopy-multi-accept",
     "a crash of the reference; here every layout is shifted row by row"},
    {21, "encoder-cap-starves-align-split", "there are no encoders here"},
    {26, "all-mode-block-not-multiple-of-chunk", "refused at start-up"},
    {27, "mamba-blocks-never-zeroed",
     "worsens other faults, does nothing alone: a block that is given out counts as never written "
     "here, and reading it is a finding"},
    {28, "accepted-count-out-of-range-index",
     "counts outside 1..1 + K are refused or cut and reported"},
    {36, "gdn-zero-length-rows-as-prefills",
     "a fault inside the GDN builder, whose rows are classed in one place here"},
    {38, "gdn-decode-and-spec-decode-mix",
     "a fault inside the GDN builder that ended in an assertion"},
    {41, "all-plus-spec-three-shape-bugs",
     "no engine here makes arrays of a wrong shape; the checker calls them metadata-inconsistent",
     "the index buffer and the padded slices"},
    {42, "fused-postprocess-port-bugs",
     "lengths, widths and strides of addresses inside the kernel: copies are decided by blocks and "
     "token positions here, and a run in bytes compares what the kernels made of them",
     "(b) copy length, (c) 32-bit addresses, (e) strides of the other layout"},
    {42, "fused-postprocess-port-bugs",
     "needs two columns of a row on one block with a state, which no engine here gives out",
     "(d) equal addresses for equal columns"},
    {46, "prefill-row-replays-decode-graph-1tok",
     "the same policy value as no. 5, of which it is the case K = 0"},
};

constexpr std::size_t kSentences = 3;
constexpr std::string_view kFolder = "scenarios/bugs/";

bool is_in_newest_release(const KnownBug& bug) {
  return bug.v1_releases.is_open() || bug.v2_releases.is_open();
}

ReportedBug read_report(const JsonValue& place) {
  place.check_keys({"place", "when", "tried", "not_tried"});
  ReportedBug report;
  report.place = place.require("place").words();
  report.when = place.require("when").words();
  report.tried = place.require("tried").words();
  report.not_tried = place.require("not_tried").strings();
  return report;
}

// For the number of a bug without an entry, the error gives the reason.
Error left_out_or(std::string_view name, const Error& unknown) {
  for (const LeftOutBug& bug : left_out_bugs())
    if (bug.id == name || std::to_string(bug.number) == name)
      return {ErrorKind::not_found,
              fmt::format("known bug {} ({}) has no entry: {}", bug.number, bug.id, bug.reason)};
  return unknown;
}

void check_scenario_of(const KnownBug& bug, const Scenario& scenario) {
  if (!scenario.expect.findings || scenario.expect.findings->empty())
    throw JsonFault("/scenario/expect", "expects no finding (expected what the bug does)");
  const bool sets_the_bug = std::ranges::any_of(bug.values(), [&](const PolicyValue& value) {
    return scenario.settings.policies.values[value.place].has_value();
  });
  if (scenario.settings.engine || sets_the_bug)
    throw JsonFault(
        "/scenario/settings",
        "sets a profile or a policy of the bug (expected that of safe, which it changes)");
}

void read_exhibit(const JsonValue& top, BugExhibit& exhibit) {
  top.check_keys(
      {"title", "upstream", "function", "dates", "users_saw", "mechanism", "report", "scenario"});
  exhibit.title = top.require("title").words();
  exhibit.upstream = top.require("upstream").strings();
  exhibit.function = top.require("function").words();
  exhibit.dates = top.string_at("dates").value_or("");
  exhibit.users_saw = top.require("users_saw").words();
  exhibit.mechanism = top.require("mechanism").strings();
  if (const auto report = top.find("report")) {
    exhibit.report = read_report(*report);
    if (!is_in_newest_release(*exhibit.bug))
      report->fail(fmt::format("the newest release, {}, does not have the bug",
                               release_name(kNewestRelease)));
  }
  if (exhibit.mechanism.size() != kSentences)
    top.fail_at("mechanism",
                fmt::format("{} sentences (expected {})", exhibit.mechanism.size(), kSentences));
  exhibit.scenario = read_inner_scenario(top.require("scenario"));
  exhibit.scenario.name = exhibit.bug->id;
  check_scenario_of(*exhibit.bug, exhibit.scenario);
}

}  // namespace

std::span<const LeftOutBug> left_out_bugs() { return kLeftOut; }

Scenario faulty_scenario(const BugExhibit& exhibit) {
  Scenario scenario = exhibit.scenario;
  for (const PolicyValue& value : exhibit.bug->values()) scenario.settings.policies.set(value);
  return scenario;
}

Scenario healthy_scenario(const BugExhibit& exhibit) {
  Scenario scenario = exhibit.scenario;
  scenario.expect.findings.emplace();
  return scenario;
}

Result<BugExhibit> parse_bug(const BugText& bug) {
  const auto json = parse_json({.text = bug.text, .file = bug.file});
  if (!json.ok()) return json.error();
  const std::string file(bug.file);
  BugExhibit exhibit;
  const auto row = find_known_bug(std::filesystem::path(file).stem().string());
  if (!row.ok()) return Error{row.error().kind, fmt::format("{}: {}", file, row.error().message)};
  exhibit.bug = row.value();
  return read_json(file, [&] {
    read_exhibit(JsonValue(json.value()), exhibit);
    return exhibit;
  });
}

std::string_view shipped_bug_test(std::string_view id) {
  const auto file =
      std::ranges::find(bug_tests::kFiles, fmt::format("{}.py", id), &EmbeddedFile::path);
  return file == bug_tests::kFiles.end() ? std::string_view() : file->text;
}

Result<BugExhibit> shipped_bug(std::string_view name) {
  const auto row = find_known_bug(name);
  if (!row.ok()) return left_out_or(name, row.error());
  const std::string path = fmt::format("{}.json", row.value()->id);
  const auto file = std::ranges::find(bug_files::kFiles, path, &EmbeddedFile::path);
  if (file == bug_files::kFiles.end())
    return Error{ErrorKind::not_found, fmt::format("{}{}: is not built in", kFolder, path)};
  return parse_bug({.text = file->text, .file = fmt::format("{}{}", kFolder, path)});
}

}  // namespace hybridscope
