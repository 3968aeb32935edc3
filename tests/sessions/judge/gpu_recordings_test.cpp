// Runs of vllm 0.24.0 and 0.33.0 on a GPU, as integrations/vllm recorded them, and what a second
// observer saw the GPU hold (tests/recordings/README.md): the judge finds a fault where the GPU
// held a wrong state, and none where it did not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <ostream>
#include <set>

#include "core/engine/releases.h"
#include "sessions/text/input_file.h"
#include "tests/sessions/judge/judged_run.h"

namespace hybridscope::test::gpu_recordings_test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string kFolder = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/tests/recordings/";

const json& what_the_gpu_held() {
  static const json held = json::parse(std::ifstream(kFolder + "gpu.json"));
  return held;
}

// Name -> [header, step 1, ...], of one file.
std::map<std::string, std::vector<std::string>> read_recordings(const std::string& file) {
  std::map<std::string, std::vector<std::string>> recordings;
  LineSource source = LineSource::open(kFolder + file + ".jsonl.zst").value();
  std::vector<std::string>* current = nullptr;
  for (auto line = source.next(); line.value(); line = source.next()) {
    const std::string text(line.value()->text);
    if (text.starts_with("{\"hybridscope_trace\""))
      current = &recordings[json::parse(text).at("name")];
    current->push_back(text);
  }
  return recordings;
}

const std::vector<std::string>& recording(const std::string& file, const std::string& name) {
  static std::map<std::string, std::map<std::string, std::vector<std::string>>> files;
  if (!files.contains(file)) files[file] = read_recordings(file);
  return files.at(file).at(name);
}

// Without the two warnings that a healthy engine has, too.
std::vector<std::string> found_in(const std::string& file, const std::string& name) {
  Judgement judgement = judge(recording(file, name));
  EXPECT_EQ(judgement.error, "") << file << ' ' << name;
  std::erase_if(judgement.findings, [](const std::string& text) {
    return text.starts_with("chunk-off-grid") || text.starts_with("drafts-cut");
  });
  return judgement.findings;
}

// An older recording that does not tell the frames in flight when the engine died.
bool tells_too_little(const std::string& file, const std::string& name) {
  return file + " " + name == "older_0.24.0 n48_async";
}

class GpuRecordings : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(GpuRecordings, TheJudgeFindsAFaultWhereTheGpuHeldOne) {
  const auto& [file, name] = GetParam();
  const std::vector<std::string> found = found_in(file, name);
  const json& held = what_the_gpu_held().at(file).at(name);
  const bool wrong = held.at("wrong") > 0 || !held.at("wrong_outputs").empty();
  EXPECT_EQ(!found.empty(), wrong) << testing::PrintToString(found);
  if (!held.contains("first") || held.at("first").at("kind") != "read") return;
  // A graph that replays old buffers is found a step before what it left is read.
  const json& first = held.at("first");
  const std::string read =
      " step " + first.at("frame").dump() + " " + first.at("request").get<std::string>() + ":";
  EXPECT_THAT(found,
              Contains(HasSubstr(name == "n05_graph" ? "stale-persistent-array step 6" : read)));
}

using Recorded = std::pair<std::string, std::string>;

std::vector<Recorded> recordings_but(bool (*left_out)(const std::string&, const std::string&)) {
  std::vector<Recorded> all;
  for (const auto& [file, names] : what_the_gpu_held().items())
    for (const auto& [name, held] : names.items())
      if (!left_out(file, name)) all.emplace_back(file, name);
  return all;
}

std::string name_of(const testing::TestParamInfo<Recorded>& recorded) {
  std::string text = recorded.param.first + "_" + recorded.param.second;
  std::ranges::replace(text, '.', '_');
  return text;
}

INSTANTIATE_TEST_SUITE_P(Recorded, GpuRecordings,
                         testing::ValuesIn(recordings_but(tells_too_little)), name_of);

// A trace does not tell that somebody changed the budget or preempted a request, nor that another
// one waits; an older recorder did not tell all settings.
bool is_not_told_all(const std::string& file, const std::string& name) {
  static const std::set<std::string> kNames = {"n48_minimal", "n48_none", "n48_async",
                                               "n50_minimal", "n49_natural_k1"};
  return file.starts_with("older_") || kNames.contains(name);
}

class ReleaseRecordings : public testing::TestWithParam<Recorded> {};

INSTANTIATE_TEST_SUITE_P(Recorded, ReleaseRecordings,
                         testing::ValuesIn(recordings_but(is_not_told_all)), name_of);

TEST_P(ReleaseRecordings, OurEngineDecidesAsTheReleaseDid) {
  const auto& [file, name] = GetParam();
  const ModelRunner runner = file.ends_with("_v2") ? ModelRunner::v2 : ModelRunner::v1;
  EXPECT_EQ(first_difference(recording(file, name),
                             release_policies(parse_release(file.substr(0, 6)).value(), runner)),
            "");
}

// vLLM main of June 2026, GatedDeltaNet: chunks are made for prefill rows alone when decodes share
// the batch. The findings are those of known bug 7: step 9 has no drafts.
TEST(Recording, ChunksOfPrefillRowsAloneAreNoFinding) {
  const std::vector<std::string> found = found_in("gdn_2026-06", "recorded 134");
  EXPECT_EQ(found.front(), "running-state-wrong step 9 q4: expected 13, seen 12");
  EXPECT_THAT(found, Each(StartsWith("running-state-wrong ")));
  EXPECT_EQ(first_difference(recording("gdn_2026-06", "recorded 134"),
                             release_policies(Release::v0_24_0, ModelRunner::v1)),
            "");
}

TEST(GpuRecording, APromptOfOneMoreTokenThanDraftsReplaysBuffersThatItsBuildDidNotWrite) {
  EXPECT_THAT(found_in("0.33.0", "n05_graph"),
              ElementsAre("stale-persistent-array step 6 -: expected 6, seen 5",
                          "stale-persistent-array step 6 -: expected 6, seen 5"));
}

TEST(GpuRecording, ABlockTableOfModeAllIsPaddedToAMultipleOfEightColumns) {
  const json line = json::parse(recording("0.24.0", "n18_all").at(1));
  EXPECT_EQ(line.at("/attn_metadata/0/state_indices_tensor_p/0"_json_pointer).size(), 24U);
  EXPECT_THAT(found_in("0.24.0", "n18_all"),
              Contains("label-mismatch step 5 A: expected 16, seen 13"));
}

// The engine died with two frames in flight; the older one's tokens never reached the host.
TEST(GpuRecording, TheFramesInFlightWhenTheEngineDiedAreJudged) {
  EXPECT_THAT(found_in("0.24.0", "n48_async"),
              Contains("running-state-wrong step 6 C: expected 8, seen 7"));
}

TEST(GpuRecording, AFrameWhoseTokensTheSchedulerDroppedIsFound) {
  EXPECT_THAT(found_in("0.24.0", "n51_reset"),
              ElementsAre("rejected-draft-counted step 6 A: expected 1, seen 0",
                          "rejected-draft-counted step 7 A: expected 3, seen 0"));
}

// The recorder did not tell how many tokens a request had; it still ran after its last one.
TEST(GpuRecording, ARequestThatRunsAfterItsLastTokenIsFound) {
  EXPECT_THAT(found_in("older_0.24.0", "n51_reset"),
              ElementsAre("schedule-over-limit step 13 A: expected 28, seen 31"));
}

// Known bug 49 on the real engine: the victim hits its own block, which nobody wrote.
TEST(GpuRecording, APreemptedRequestHitsTheBlockThatItNeverWrote) {
  EXPECT_THAT(found_in("0.24.0", "n49_read_b"),
              Contains("read-of-unwritten-block step 7 L: expected 80, seen 0"));
  EXPECT_EQ(what_the_gpu_held().at("0.24.0").at("n49_read_b").at("wrong_outputs"),
            json::array({"L"}));
}

// Runs that tell hashes of the GPU's memory in each step.
class MemoryRecordings : public testing::TestWithParam<std::string> {};

TEST_P(MemoryRecordings, WhatAHealthyEngineHoldsIsWhatItsWritesLeft) {
  const auto& lines = recording("states_healthy", GetParam());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const json line = json::parse(lines[i]);
    EXPECT_EQ(line.contains("states"), line.contains("attn_metadata")) << line.at("step");
  }
  EXPECT_THAT(found_in("states_healthy", GetParam()), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Recorded, MemoryRecordings,
                         testing::Values("v1_async_all", "v2_async_align_gdn_mtp_k1",
                                         "v1_align_eagle_k2", "v2_async_align_tp2_graphs"),
                         [](const auto& name) { return name.param; });

// Without the hashes nothing is found: every decision was right.
struct PlantedKernelFault {
  const char* name = "";
  std::vector<std::string> found;
};
void PrintTo(const PlantedKernelFault& fault, std::ostream* out) { *out << fault.name; }

class PlantedMemoryRecordings : public testing::TestWithParam<PlantedKernelFault> {};

TEST_P(PlantedMemoryRecordings, AKernelThatGoesWrongIsFoundInMemory) {
  std::vector<std::string> lines = recording("states_planted", GetParam().name);
  std::vector<std::string> found = judge(lines).findings;
  for (std::string& text : found) text.resize(std::min(text.size(), text.find(':')));
  EXPECT_EQ(found, GetParam().found);
  for (std::string& text : lines) {
    json line = json::parse(text);
    line.erase("states");
    text = line.dump();
  }
  EXPECT_THAT(judge(lines).findings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, PlantedMemoryRecordings,
    testing::Values(PlantedKernelFault{"page",
                                       {"write-missing step 53 14", "state-changed step 57 10"}},
                    PlantedKernelFault{"null", {"write-missing step 51 8"}},
                    PlantedKernelFault{"conv", {"state-changed step 57 10"}},
                    PlantedKernelFault{"clobber", {"state-changed step 56 12"}},
                    PlantedKernelFault{"copy", {"copy-differs step 20 0"}}),
    [](const auto& fault) { return std::string(fault.param.name); });

}  // namespace
}  // namespace hybridscope::test::gpu_recordings_test
