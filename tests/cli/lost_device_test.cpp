// Devices that are not there, break down, or hold the wrong bytes: a host memory plays a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/process.h"
#include "core/language/language_machine.h"
#include "core/numeric/hybrid_model.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "storage/session_file.h"

namespace hybridscope::lost_device_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kScenario = "/scenarios/plain_decode.json";  // 5 steps

Error lost() { return Error{ErrorKind::device, "CUDA: the device was lost"}; }

// What goes wrong.
struct Breakdown {
  int run = 0;           // of a step's operations, 1-based; 0: none
  int changed_byte = 0;  // run after which a byte of block 2 is another
  bool digests = false;
};

class BrokenDevice : public StateBackend {
 public:
  BrokenDevice(std::unique_ptr<CpuStateBackend> memory, Breakdown breakdown)
      : memory_(std::move(memory)), breakdown_(breakdown) {}

  const StateMemory& memory() const override { return memory_->memory(); }
  Status run(const StateOps& ops) override {
    if (++num_runs_ == breakdown_.run) return lost();
    Status ran = memory_->run(ops);
    if (num_runs_ == breakdown_.changed_byte)
      memory_->bytes()[static_cast<std::size_t>(2 * memory().page_size_bytes)] ^= std::byte{1};
    return ran;
  }
  Result<std::vector<StateMismatch>> verify(const BlockContents& contents) override {
    return memory_->verify(contents);
  }
  Result<std::vector<std::uint64_t>> digests(std::span<const std::int32_t> blocks) override {
    if (breakdown_.digests) return lost();
    return memory_->digests(blocks);
  }
  StateDelays delays() const override { return memory_->delays(); }

 private:
  std::unique_ptr<CpuStateBackend> memory_;
  Breakdown breakdown_;
  int num_runs_ = 0;
};

// The host's machine, lost when a step ends.
class LostMachine : public LanguageMachine {
 public:
  LostMachine(std::unique_ptr<LanguageMachine> host, int lost_at)
      : host_(std::move(host)), lost_at_(lost_at) {}

  const LanguageLayout& layout() const override { return host_->layout(); }
  void poison(std::span<const std::int32_t> blocks) override { host_->poison(blocks); }
  void zero(std::span<const std::int32_t> blocks) override { host_->zero(blocks); }
  void copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first) override {
    host_->copy(copies, shifts_last_position_first);
  }
  void copy_blocks(std::span<const BlockCopy> copies) override { host_->copy_blocks(copies); }
  void forward(const MachineForward& batch) override { host_->forward(batch); }
  std::size_t keep_state(const BlockElementRange& place) override {
    return host_->keep_state(place);
  }
  std::size_t keep_logits(std::int32_t token) override { return host_->keep_logits(token); }
  Status finish() override { return ++num_steps_ == lost_at_ ? Status(lost()) : host_->finish(); }
  std::span<const float> kept(std::size_t number) const override { return host_->kept(number); }
  std::int32_t greedy(std::size_t number) const override { return host_->greedy(number); }

 private:
  std::unique_ptr<LanguageMachine> host_;
  int lost_at_;
  int num_steps_ = 0;
};

// Device 1 is lost in step 3, device 2 is not there, others are well.
Result<std::unique_ptr<LanguageMachine>> make_machine(const LanguageMachineRequest& request,
                                                      std::int32_t device) {
  if (device == 2) return Error{ErrorKind::not_available, "CUDA: there is no device 2 of 2"};
  auto host = HostLanguageMachine::create(request);
  if (!host.ok()) return host.error();
  return std::unique_ptr<LanguageMachine>(
      std::make_unique<LostMachine>(std::move(host).value(), device == 1 ? 3 : 0));
}

using Made = Result<std::unique_ptr<StateBackend>>;

Made make(StateMemory memory, Breakdown breakdown) {
  auto host = CpuStateBackend::create(std::move(memory));
  if (!host.ok()) return host.error();
  return Made(std::make_unique<BrokenDevice>(std::move(host).value(), breakdown));
}

StateDevice device_with(Made (*make)(StateRequest)) {
  return {.make = make,
          .free_bytes = [](std::int32_t) { return Result<std::int64_t>(std::int64_t{1} << 30); },
          .name = [](std::int32_t device) { return "GPU " + std::to_string(device); }};
}

struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

class Device : public testing::Test {
 protected:
  Device() { std::filesystem::create_directories(folder_); }
  ~Device() override { std::filesystem::remove_all(folder_); }

  // hybridscope run --backend cuda ... on this device.
  static Said run(const StateDevice& cuda, const std::vector<std::string>& options = {},
                  const std::string& scenario = kScenario) {
    std::vector<std::string> words = {"run", "--backend", "cuda",
                                      HYBRIDSCOPE_SOURCE_DIR + scenario};
    words.insert(words.end(), options.begin(), options.end());
    return say(std::move(words), {.cuda = cuda});
  }
  // hybridscope WORDS...
  static Said say(std::vector<std::string> words, const Backends& backends) {
    words.insert(words.begin(), "hybridscope");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Said said;
    said.code = run_command_line(static_cast<int>(argv.size()), argv.data(), backends);
    std::fflush(stdout);
    std::fflush(stderr);
    said.out = testing::internal::GetCapturedStdout();
    said.err = testing::internal::GetCapturedStderr();
    return said;
  }
  std::string database() const { return folder_ + "/runs.db"; }
  std::string trace() const { return folder_ + "/trace.jsonl"; }
  SessionInfo session() const {
    return SessionFile::open(database(), FileAccess::read).value().find("gpu").value();
  }

 private:
  std::string folder_ = testing::TempDir() + "hybridscope_device_" + std::to_string(::getpid());
};

TEST_F(Device, IsNamedInTheReport) {
  const StateDevice healthy =
      device_with([](StateRequest request) { return make(std::move(request.memory), {}); });
  const Said text = run(healthy, {"--device", "1", "--no-timings"});
  EXPECT_EQ(text.code, kExitFine) << text.err;
  EXPECT_THAT(text.out, HasSubstr("state in bytes (cuda, GPU 1): 2 of 2 layers per group"));
  const auto json = nlohmann::json::parse(run(healthy, {"--json"}).out);
  EXPECT_EQ(json.at("state").at("backend"), "cuda");
  EXPECT_EQ(json.at("state").at("device"), "GPU 0");
}

TEST_F(Device, ThatIsLostInMidRunEndsItAndKeepsWhatWasRecorded) {
  const StateDevice breaks =
      device_with([](StateRequest request) { return make(std::move(request.memory), {.run = 4}); });
  const Said said = run(breaks, {"--record", database() + ":gpu", "--json"});
  EXPECT_EQ(said.code, kExitEnvironment);
  EXPECT_THAT(said.err, HasSubstr("hybridscope run: step 4: CUDA: the device was lost"));
  const auto json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json.at("summary").at("complete"), false);
  EXPECT_EQ(json.at("stopped"), "step 4: CUDA: the device was lost");
  EXPECT_TRUE(json.at("state").at("digest").is_null());
  EXPECT_GT(json.at("state").at("elements_verified"), 0);
  EXPECT_EQ(session().num_steps, 3);
  EXPECT_EQ(session().status, SessionStatus::failed);
  EXPECT_EQ(session().status_reason, "step 4: CUDA: the device was lost");
}

TEST_F(Device, ThatIsLostBeforeItsDigestFailsTheRun) {
  const StateDevice breaks = device_with(
      [](StateRequest request) { return make(std::move(request.memory), {.digests = true}); });
  const Said said = run(breaks);
  EXPECT_EQ(said.code, kExitEnvironment);
  EXPECT_THAT(said.err, HasSubstr("CUDA: the device was lost"));
  EXPECT_THAT(said.out, HasSubstr("no digest"));
}

TEST_F(Device, ThatIsLostFailsOneScenarioOfASuite) {
  const StateDevice breaks =
      device_with([](StateRequest request) { return make(std::move(request.memory), {.run = 6}); });
  const Said said = run(breaks, {HYBRIDSCOPE_SOURCE_DIR "/scenarios/chunked_prefill.json"});
  EXPECT_EQ(said.code, kExitEnvironment);
  EXPECT_THAT(said.out, HasSubstr("step 6: CUDA: the device was lost"));
  EXPECT_THAT(said.out, HasSubstr("1 ok, 1 environment"));
}

TEST_F(Device, WithAWrongByteGivesAFindingAndExitCode1) {
  const StateDevice wrong = device_with(
      [](StateRequest request) { return make(std::move(request.memory), {.changed_byte = 2}); });
  const Said said = run(wrong, {"--record", database() + ":gpu", "--json"});
  EXPECT_EQ(said.code, kExitFindings) << said.err;
  const auto finding = nlohmann::json::parse(said.out).at("findings").at(0);
  EXPECT_EQ(finding.at("rule"), "state-bytes-wrong");
  EXPECT_EQ(finding.at("step"), 2);
  EXPECT_EQ(finding.at("request"), "A");
  EXPECT_EQ(finding.at("block"), 2);
  EXPECT_EQ(finding.at("content"), "conv");
  EXPECT_EQ(finding.at("layer"), 0);
  EXPECT_EQ(finding.at("state"), 0);
  EXPECT_EQ(finding.at("element"), 0);
  EXPECT_THAT(finding.at("text"), HasSubstr("element 0 of state 0 of layer 0 is 0x"));
  EXPECT_GE(session().num_errors, 1);
  const Said at_break = run(wrong, {"--break", "finding"});
  EXPECT_THAT(at_break.out, HasSubstr("stopped at step 2 by --break 'finding'"));
}

TEST_F(Device, ThatIsNotThereIsToldBeforeAnythingIsSimulated) {
  StateDevice none = device_with([](StateRequest) { return Made(lost()); });
  none.free_bytes = [](std::int32_t device) {
    return Result<std::int64_t>(Error{
        ErrorKind::not_available, "CUDA: there is no device " + std::to_string(device) + " of 2"});
  };
  const Said said = run(none, {"--device", "3", "--record", database() + ":gpu"});
  EXPECT_EQ(said.code, kExitEnvironment);
  EXPECT_EQ(said.err, "hybridscope run: CUDA: there is no device 3 of 2\n");
  EXPECT_THAT(said.out, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(database()));
}

TEST_F(Device, ThatCannotHoldTheBytesIsRefusedWithWhatFits) {
  StateDevice small = device_with([](StateRequest) { return Made(lost()); });
  small.free_bytes = [](std::int32_t) { return Result<std::int64_t>(std::int64_t{64} << 20); };
  const Said said = run(small, {}, "/scenarios/several_groups.json");
  EXPECT_EQ(said.code, kExitEnvironment);
  EXPECT_THAT(said.err, HasSubstr("more than the 60 MiB that are 15/16 of the free memory "
                                  "(--state-memory): --layers 1 needs 52 MiB"));
}

const std::string kWeights = HYBRIDSCOPE_SOURCE_DIR "/tests/golden/numeric/model_lfm2";

// How often a machine was made on device 4, which is well.
int num_made = 0;
Result<std::unique_ptr<LanguageMachine>> make_counted(const LanguageMachineRequest& request,
                                                      std::int32_t device) {
  if (device == 4) ++num_made;
  return make_machine(request, device);
}

const StateDevice kSpeaks{.make_language = &make_counted};

// The words of a command on a device.
std::vector<std::string> on(std::string device, std::vector<std::string> words) {
  words.insert(words.end(), {"--weights", kWeights, "--backend", "cuda", "--device", device});
  return words;
}

TEST_F(Device, JudgesWithTheLanguageModelThatItIsAskedFor) {
  ASSERT_EQ(
      say({"run", HYBRIDSCOPE_SOURCE_DIR "/scenarios/plain_decode.json", "--trace", trace()}, {})
          .code,
      kExitFine);
  num_made = 0;
  const Said well = say(on("4", {"judge", trace()}), {.cuda = kSpeaks});
  EXPECT_EQ(well.code, kExitFine) << well.err;
  EXPECT_EQ(num_made, 1);
  const Said breaks = say(on("1", {"judge", trace()}), {.cuda = kSpeaks});
  EXPECT_EQ(breaks.code, kExitEnvironment);
  EXPECT_THAT(breaks.err, HasSubstr("trace.jsonl:4: CUDA: the device was lost"));
}

TEST_F(Device, RunsBothSidesOfAKnownBug) {
  num_made = 0;
  const Said well = say(on("4", {"bugs", "run", "7"}), {.cuda = kSpeaks});
  EXPECT_EQ(well.code, kExitFine) << well.err;
  EXPECT_EQ(num_made, 2);
  const Said breaks = say(on("1", {"bugs", "run", "7"}), {.cuda = kSpeaks});
  EXPECT_EQ(breaks.code, kExitEnvironment);
  EXPECT_THAT(breaks.err, HasSubstr("hybridscope bugs run: step 3: CUDA: the device was lost"));
}

TEST_F(Device, RunsBothTwins) {
  const std::string scenario = HYBRIDSCOPE_SOURCE_DIR "/scenarios/async_worked_example.json";
  num_made = 0;
  const Said well = say(on("4", {"run", scenario, "--twin"}), {.cuda = kSpeaks});
  EXPECT_EQ(well.code, kExitFine) << well.err;
  EXPECT_EQ(num_made, 2);
  const Said breaks = say(on("1", {"run", scenario, "--twin"}), {.cuda = kSpeaks});
  EXPECT_EQ(breaks.code, kExitEnvironment);
  EXPECT_THAT(breaks.err, HasSubstr("CUDA: the device was lost"));
}

TEST_F(Device, IsGivenToTheWindow) {
  static MakeLanguageMachine given;
  const Backends backends{.cuda = kSpeaks, .run_gui = [](GuiStart start) {
                            given = start.make_machine;
                            return Status(Ok{});
                          }};
  const std::string scenario = HYBRIDSCOPE_SOURCE_DIR "/scenarios/plain_decode.json";
  EXPECT_EQ(say({"gui", scenario, "--weights", kWeights}, backends).code, kExitFine);
  EXPECT_EQ(given, nullptr);
  EXPECT_EQ(say(on("2", {"gui", scenario}), backends).code, kExitFine);
  ASSERT_NE(given, nullptr);
  const HybridModel model;
  const KVCacheConfig config;
  EXPECT_EQ(given({.model = model, .kv_cache_config = config}).error().message,
            "CUDA: there is no device 2 of 2");
}

// Before a trace is opened, a run begins or a window opens.
TEST_F(Device, ThatIsNotThereIsToldByEveryCommandThatRunsALanguageModel) {
  StateDevice none = kSpeaks;
  none.free_bytes = [](std::int32_t) {
    return Result<std::int64_t>(Error{ErrorKind::not_available, "CUDA: there is no device"});
  };
  const Backends backends{.cuda = none, .run_gui = [](GuiStart) { return Status(lost()); }};
  const std::string scenario = HYBRIDSCOPE_SOURCE_DIR "/scenarios/async_worked_example.json";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", scenario},
                                                {"run", scenario, "--twin"},
                                                {"judge", trace()},
                                                {"bugs", "run", "7"},
                                                {"gui", scenario}}) {
    const Said said = say(on("0", words), backends);
    EXPECT_EQ(said.code, kExitEnvironment) << words[0];
    EXPECT_THAT(said.err, HasSubstr(": CUDA: there is no device\n")) << words[0];
  }
}

TEST_F(Device, ForALanguageModelNeedsOne) {
  const std::string scenario = HYBRIDSCOPE_SOURCE_DIR "/scenarios/plain_decode.json";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"judge", trace()}, {"bugs", "run", "7"}, {"gui", scenario}}) {
    const auto with = [&](std::vector<std::string> more) {
      std::vector<std::string> all = words;
      all.insert(all.end(), more.begin(), more.end());
      return say(all, {.cuda = kSpeaks, .run_gui = [](GuiStart) { return Status(Ok{}); }});
    };
    EXPECT_EQ(with({"--backend", "cuda"}).code, kExitUsage);
    EXPECT_THAT(with({"--backend", "cuda"}).err, HasSubstr("--backend is for --state numeric"));
    EXPECT_THAT(with({"--weights", kWeights, "--device", "1"}).err,
                HasSubstr("--device is for --backend cuda"));
    EXPECT_THAT(with({"--state", "symbolic", "--weights", kWeights}).err,
                HasSubstr("--weights is for --state numeric"));
    EXPECT_EQ(with({"--state", "bytes"}).code, kExitUsage);
    const std::string help = with({"--help"}).out;
    EXPECT_THAT(help, HasSubstr("--backend cpu|cuda"));
    EXPECT_THAT(help, HasSubstr("where the language model runs: cpu (default) or cuda"));
  }
}

TEST_F(Device, WithoutRoomForALanguageModelTellsHowManyBlocksFit) {
  const StateDevice small{
      .free_bytes = [](std::int32_t) { return Result<std::int64_t>(std::int64_t{1} << 20); }};
  const Said said = say({"run", HYBRIDSCOPE_SOURCE_DIR "/scenarios/plain_decode.json", "--weights",
                         kWeights, "--num-blocks", "4096"},
                        {.cpu = small});
  EXPECT_EQ(said.code, kExitEnvironment);
  EXPECT_THAT(said.err,
              HasSubstr("hybridscope run: 4096 blocks of the language model take 7.0 MiB, and 1.0 "
                        "MiB of memory are free: enough for 585 (num_gpu_blocks_override)"));
}

TEST_F(Device, RunsTheLanguageModelThatItIsAskedFor) {
  const StateDevice device{.make_language = &make_machine};
  const std::string& weights = kWeights;
  const Said well = run(device, {"--weights", weights, "--no-timings"});
  EXPECT_EQ(well.code, kExitFine) << well.err;
  EXPECT_THAT(well.out, HasSubstr("as alone"));
  const Said breaks = run(device, {"--weights", weights, "--device", "1"});
  EXPECT_EQ(breaks.code, kExitEnvironment);
  EXPECT_THAT(breaks.err, HasSubstr("step 3: CUDA: the device was lost"));
  const Said missing = run(device, {"--weights", weights, "--device", "2"});
  EXPECT_EQ(missing.code, kExitEnvironment);
  EXPECT_THAT(missing.err, HasSubstr("CUDA: there is no device 2 of 2"));
}

TEST_F(Device, AnExceptionThatNobodyThoughtOfIsABugOfHybridscope) {
  Backends backends;
  backends.describe_cuda = []() -> std::string { throw std::out_of_range("no such\nkey"); };
  const Said said = say({"doctor"}, backends);
  EXPECT_EQ(said.code, kExitInternal);
  EXPECT_THAT(said.err, HasSubstr("hybridscope: internal error: no such\\x0Akey\n"
                                  "This is a bug of hybridscope. Please report it with"));
  backends.describe_cuda = []() -> std::string { throw 7; };
  EXPECT_THAT(say({"doctor"}, backends).err,
              HasSubstr("hybridscope: internal error: an exception of no standard type\n"));
}

}  // namespace
}  // namespace hybridscope::lost_device_test
