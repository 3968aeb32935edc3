// A plan as text is the plan: every part comes back, and the run makes the same steps.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/fingerprint.h"
#include "core/model/model_presets.h"
#include "sessions/record/model_json.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_record.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/traffic/traffic_formats.h"
#include "sessions/traffic/traffic_load.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/support/read_traffic.h"

namespace hybridscope::session_plan_test {
namespace {

using test::digests_of;
using test::plan_of_file;
using test::plan_of_text;
using testing::HasSubstr;

void expect_equal(const ArrivingRequest& a, const ArrivingRequest& b) {
  EXPECT_EQ(a.at_step, b.at_step);
  EXPECT_EQ(a.arrival_us, b.arrival_us);
  EXPECT_EQ(a.request.name, b.request.name);
  EXPECT_EQ(a.request.prompt, b.request.prompt);
  EXPECT_EQ(a.request.max_tokens, b.request.max_tokens);
  EXPECT_EQ(a.request.priority, b.request.priority);
  EXPECT_EQ(a.request.cache_salt, b.request.cache_salt);
  EXPECT_EQ(a.request.key, b.request.key);
}

// The plan read back, after comparing all that it was written from.
RunPlan round_trip(const RunPlan& plan) {
  const std::string text = write_session_plan(plan);
  auto read = read_session_plan(text, "plan");
  EXPECT_TRUE(read.ok()) << read.error().message;
  const RunPlan& back = read.value();
  EXPECT_EQ(back.name, plan.name);
  EXPECT_EQ(back.teaches, plan.teaches);
  EXPECT_EQ(back.settings, plan.settings);
  EXPECT_EQ(back.setup.layout.model, plan.setup.layout.model);
  EXPECT_EQ(back.setup.config.policies, plan.setup.config.policies);
  EXPECT_EQ(back.setup.config.max_model_len, plan.setup.config.max_model_len);
  EXPECT_EQ(back.setup.config.kv_cache_config.num_blocks,
            plan.setup.config.kv_cache_config.num_blocks);
  EXPECT_EQ(back.script, plan.script);
  EXPECT_EQ(back.expect, plan.expect);
  EXPECT_EQ(back.notes, plan.notes);
  EXPECT_EQ(back.requests.size(), plan.requests.size());
  for (std::size_t i = 0; i < std::min(back.requests.size(), plan.requests.size()); ++i)
    expect_equal(back.requests[i], plan.requests[i]);
  EXPECT_EQ(write_session_plan(back), text);
  return std::move(read).value();
}

TEST(SessionPlan, EveryShippedScenarioRunsAgainFromItsText) {
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    const RunPlan plan = plan_of_file(path);
    const auto steps = digests_of(plan);
    EXPECT_FALSE(steps.empty());
    EXPECT_EQ(digests_of(round_trip(plan)), steps);
  }
}

TEST(SessionPlan, EveryPresetComesBackWithAllItsDimensions) {
  for (const std::string& name : model_preset_names()) {
    SCOPED_TRACE(name);
    const ModelSpec model = model_preset(name).value();
    const nlohmann::json json = nlohmann::json::parse(model_to_json(model).dump());
    EXPECT_EQ(read_model(JsonValue(json)), model);
  }
}

TEST(SessionPlan, AModelFromAConfigFileNeedsTheFileNoMore) {
  const ModelSpec model =
      parse_hf_config({.text = R"({"architectures": ["Mamba2ForCausalLM"], "num_hidden_layers": 4,
                       "hidden_size": 256, "state_size": 16, "num_heads": 8, "head_dim": 64,
                       "n_groups": 1, "conv_kernel": 4, "expand": 2, "chunk_size": 64,
                       "torch_dtype": "bfloat16"})",
                       .file = "/there/is/no/config.json"})
          .value();
  RunPlan plan = plan_of_text(
      R"({"version": 1, "name": "n", "model": "tiny-mamba2",
          "settings": {"block_size": 8, "num_gpu_blocks_override": 16, "max_model_len": 64},
          "requests": [{"id": "A", "prompt": 11, "max_tokens": 3}]})");
  plan.setup = make_engine_setup(model, plan.settings).value();
  const RunPlan back = round_trip(plan);
  EXPECT_EQ(back.setup.layout.model.source, model.source);
  EXPECT_EQ(back.setup.layout.model.layers.size(), 4u);
  EXPECT_EQ(digests_of(back), digests_of(plan));
}

TEST(SessionPlan, RealTrafficComesBackWithTheLengthItWasRaisedTo) {
  std::istringstream lines(
      R"({"timestamp": 0, "input_length": 9000, "output_length": 5, "hash_ids": [0, 7, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]})"
      "\n"
      R"({"timestamp": 12, "input_length": 512, "output_length": 5, "hash_ids": [0]})"
      "\n");
  const RunPlan plan = plan_traffic(test::read_traffic(lines).value(),
                                    {.name = "t.jsonl", .model = "nemotron-h-8b", .settings = {}})
                           .value();
  EXPECT_EQ(plan.settings.max_model_len, 9006);
  EXPECT_EQ(digests_of(round_trip(plan)), digests_of(plan));
}

TEST(SessionPlan, WhomARequestWaitsForComesBack) {
  RunPlan plan = plan_of_text(
      R"({"version": 1, "name": "n", "teaches": "t", "model": "tiny-gdn",
          "settings": {"mamba_cache_mode": "align", "block_size": 8, "max_model_len": 64},
          "requests": [{"id": "A", "prompt": 11, "max_tokens": 3},
                       {"id": "B", "prompt": 5, "max_tokens": 3},
                       {"id": "C", "prompt": 9, "max_tokens": 3}]})");
  plan.requests[2].after = {"A", "B"};
  plan.requests[2].delay_us = 2'500'000;
  EXPECT_THAT(write_session_plan(plan), HasSubstr(R"("after":["A","B"],"delay_us":2500000})"));
  const RunPlan back = round_trip(plan);
  EXPECT_EQ(back.requests[2].after, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(back.requests[2].delay_us, 2'500'000);
  EXPECT_EQ(digests_of(back), digests_of(plan));
}

TEST(SessionPlan, SyntheticTrafficComesBack) {
  const Traffic traffic =
      make_synthetic_traffic({.seed = 7, .num_conversations = 12, .num_system_prompts = 2}).value();
  EngineSettings settings;
  settings.num_speculative_tokens = 2;
  settings.num_gpu_blocks_override = 512;
  const RunPlan plan =
      plan_traffic(traffic,
                   {.name = "synthetic", .model = "qwen3-next-80b-a3b", .settings = settings})
          .value();
  EXPECT_EQ(digests_of(round_trip(plan), 300), digests_of(plan, 300));
}

TEST(SessionPlan, EverySettingAndTheLargestNumbersComeBack) {
  RunPlan plan = plan_of_text(
      R"({"version": 1, "name": "n", "teaches": "t", "model": "tiny-gdn",
          "settings": {"mamba_cache_mode": "align", "block_size": 8, "watermark": 0.1,
                       "kv_cache_memory_bytes": 123456789, "acceptance_rate": 0.30000000000000004,
                       "seed": 9223372036854775807, "cudagraph_capture_sizes": [1, 2, 4],
                       "engine": "reference", "policies": {"aligned_split": "every_chunk_on_grid"},
                       "speculative_config": {"method": "mtp", "num_speculative_tokens": 3},
                       "max_model_len": 64},
          "requests": [{"id": "A", "prompt": 11, "max_tokens": 3, "priority": -4,
                        "cache_salt": 9223372036854775807, "at_step": 3, "arrival_us": 5}],
          "script": [{"step": 4, "budget": 5, "accept": {"A": 2}, "drafts": {"A": 1},
                      "preempt": ["A"], "abort": ["A"], "reset_prefix_cache": {"running": true}}],
          "expect": {"findings": [{"rule": "drafts-cut", "step": 5, "request": "A"}],
                     "steps": 7, "finished": 1}})");
  plan.requests[0].request.cache_salt = 18446744073709551615U;
  plan.requests[0].request.key = 18446744073709551614U;
  plan.requests[0].request.prompt = {{.source = PromptSegment::Source::output,
                                      .content = 18446744073709551613U,
                                      .first = 6,
                                      .length = 5},
                                     {.content = 1, .first = 0, .length = 6}};
  plan.notes = {"one", "two"};
  round_trip(plan);
}

TEST(SessionPlan, NamesWithQuotesAndNewlinesComeBackAndBytesThatAreNoTextAreMadeText) {
  RunPlan plan = plan_of_text(
      R"({"version": 1, "name": "n", "model": "tiny-mamba2", "settings": {"block_size": 8},
          "requests": [{"id": "A", "prompt": 11}]})");
  plan.name = "\"</script>\n\xC3\xA9";
  plan.requests[0].request.name = "a\"\\\n\x01\xE2\x82\xAC";
  EXPECT_EQ(round_trip(plan).requests[0].request.name, "a\"\\\n\x01\xE2\x82\xAC");
  plan.name = "\xFF";
  EXPECT_EQ(read_session_plan(write_session_plan(plan), "plan").value().name, "\xEF\xBF\xBD");
}

// Errors in a plan are reported with file and place; nothing is thrown.

using testing::StartsWith;

std::string good_plan() {
  return write_session_plan(test::plan_of_text(
      R"({"version": 1, "name": "n", "model": "tiny-mamba2",
          "settings": {"block_size": 8, "num_gpu_blocks_override": 16, "max_model_len": 64,
                       "speculative_config": {"num_speculative_tokens": 2}},
          "requests": [{"id": "A", "prompt": 11, "max_tokens": 3},
                       {"id": "B", "prompt": {"tokens": 9, "share": "A"}, "at_step": 2}],
          "script": [{"step": 2, "accept": {"A": 2}}], "expect": {"finished": 2}})"));
}

// What reading says after the first `from` of the good plan became `to`.
std::string error_after(const std::string& from, const std::string& to) {
  std::string text = good_plan();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  text.replace(at, from.size(), to);
  const auto plan = read_session_plan(text, "run.db");
  return plan.ok() ? "no error" : plan.error().message;
}

TEST(SessionPlanErrors, TheGoodPlanIsRead) {
  EXPECT_EQ(error_after("\"name\":\"n\"", "\"name\":\"m\""), "no error");
}

TEST(SessionPlanErrors, AnotherVersionIsRefusedBeforeAnythingElse) {
  EXPECT_EQ(error_after("{\"version\":1,\n\"name\"", "{\"version\":2,\n\"nom\""),
            "run.db: /version: version is 2 (this program reads version 1)");
  EXPECT_EQ(read_session_plan("[1]", "run.db").error().message,
            "run.db: expected an object, found an array of 1");
}

TEST(SessionPlanErrors, TextThatIsNoJsonIsCorrupt) {
  const auto plan = read_session_plan("{\"version\":", "run.db");
  EXPECT_EQ(plan.error().kind, ErrorKind::corrupt);
  EXPECT_THAT(plan.error().message, StartsWith("run.db: no plan of a run: "));
}

TEST(SessionPlanErrors, EachPartNamesItsPlace) {
  EXPECT_EQ(error_after("\"teaches\"", "\"teach\""),
            "run.db: /teach: unknown key \"teach\", did you mean \"teaches\"?");
  EXPECT_EQ(error_after("\"teaches\":\"\",\n", ""), "run.db: key \"teaches\" is missing");
  EXPECT_EQ(error_after("\"teaches\":\"\"", "\"name\":\"\""),
            "run.db: /name: this key occurs twice");
  EXPECT_THAT(error_after("\"block_size\":8", "\"block_size\":0"),
              StartsWith("run.db: /settings/block_size: block_size is 0 (allowed: "));
  EXPECT_THAT(error_after("\"max_model_len\":64", "\"max_model_len\":8"),
              StartsWith("run.db: /requests/0: "));
  EXPECT_THAT(error_after("\"num_gpu_blocks_override\":16", "\"num_gpu_blocks_override\":2"),
              StartsWith("run.db: /requests/0: "));
  EXPECT_THAT(error_after("\"accept\":{\"A\":2}", "\"accept\":{\"A\":4}"),
              StartsWith("run.db: /script/0/accept/A: 4 accepted tokens"));
  EXPECT_EQ(error_after("\"accept\":{\"A\":2}", "\"accept\":{\"X\":2}"),
            "run.db: /script/0/accept/X: no request is called \"X\"");
  EXPECT_EQ(error_after("\"finished\":2", "\"finished\":3"),
            "run.db: /expect/finished: 3 finished requests of 2");
  EXPECT_EQ(error_after("\"notes\":[", "\"notes\":[1"),
            "run.db: /notes/0: expected a string, found 1");
}

TEST(SessionPlanErrors, TheModelNamesItsPlace) {
  EXPECT_EQ(error_after("\"type\":\"mamba2\"", "\"type\":\"mamba9\""),
            "run.db: /model/recurrent/type: expected mamba1, mamba2, linear_attention, short_conv, "
            "gdn_attention or kda, found \"mamba9\"");
  EXPECT_EQ(error_after("\"n_groups\"", "\"m_groups\""),
            "run.db: /model/recurrent/m_groups: unknown key \"m_groups\", did you mean "
            "\"n_groups\"?");
  EXPECT_THAT(error_after("\"n_groups\":1", "\"n_groups\":0"),
              StartsWith("run.db: /settings: model tiny-mamba2: n_groups is 0, expected 1"));
  EXPECT_THAT(error_after("\"layers\":\"", "\"layers\":\"X"),
              StartsWith("run.db: /model/layers: layer pattern: letter 0 is 'X'"));
}

TEST(SessionPlanErrors, RequestsNameTheirPlace) {
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"max_tokens\":0"),
            "run.db: /requests/0/max_tokens: expected an integer from 1 to 16777216, found 0");
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"key\":3"),
            "run.db: /requests/0: key \"max_tokens\" is missing");
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"max_tokens\":3,\"max_tokens\":3"),
            "run.db: /requests/0/max_tokens: this key occurs twice");
  EXPECT_EQ(error_after("0,11]", "0]"),
            "run.db: /requests/0/prompt: expected four numbers for each segment, found an array of "
            "3");
  EXPECT_EQ(error_after("0,11]", "0,0]"),
            "run.db: /requests/0/prompt/3: expected an integer from 1 to 16777216, found 0");
  EXPECT_EQ(error_after("\"prompt\":[0,", "\"prompt\":[2,"),
            "run.db: /requests/0/prompt/0: expected an integer from 0 to 1, found 2");
  EXPECT_EQ(error_after("\"id\":\"B\"", "\"id\":\"A\""),
            "run.db: /requests/1/id: request \"A\" is there twice");
  EXPECT_THAT(error_after("\"max_tokens\":3", "\"max_tokens\":3,\"at_step\":3"),
              HasSubstr("/requests/1: joins before the request in front of it"));
}

TEST(SessionPlanErrors, ARequestWaitsForOneThatIsThereAndEnds) {
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"max_tokens\":3,\"after\":[\"C\"]"),
            "run.db: /requests/0/after: there is no request \"C\"");
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"max_tokens\":3,\"after\":[\"A\"]"),
            "run.db: /requests/0/after: request \"A\" waits for itself, or for one that does");
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"max_tokens\":3,\"after\":\"A\""),
            "run.db: /requests/0/after: expected an array, found \"A\"");
  EXPECT_EQ(
      error_after("\"max_tokens\":3", "\"max_tokens\":3,\"delay_us\":-1"),
      "run.db: /requests/0/delay_us: expected an integer from 0 to 4503599627370496, found -1");
}

// As in scenario_mutation_test: bytes replaced, removed, doubled, put in.
TEST(SessionPlanErrors, ADamagedPlanIsReadOrRefusedInOneLine) {
  const std::string plan = good_plan();
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::uint64_t state = mix(0x706C616EULL, seed);
    const auto draw = [&](std::uint64_t below) { return (state = mix(state, below)) % below; };
    const std::string_view inserts = "{}[]\",:-0123456789eE.\\ntf \x80\xFF";
    std::string text = plan;
    for (std::uint64_t i = 0; i < 1 + seed % 3; ++i) {
      const auto at = static_cast<std::size_t>(draw(text.size()));
      const auto what = draw(4);
      if (what == 0) text[at] = static_cast<char>(text[at] ^ (1 << draw(8)));
      if (what == 1) text.erase(at, 1 + draw(8));
      if (what == 2) text.insert(at, text.substr(at, 1 + draw(16)));
      if (what == 3) text.insert(at, 1, inserts[draw(inserts.size())]);
    }
    const auto read = read_session_plan(text, "run.db");
    if (!read.ok()) {
      ASSERT_THAT(read.error().message, StartsWith("run.db: ")) << "seed " << seed;
      ASSERT_EQ(read.error().message.find('\n'), std::string::npos) << "seed " << seed;
      continue;
    }
    ++accepted;
    const std::string again = write_session_plan(read.value());
    const auto back = read_session_plan(again, "run.db");
    ASSERT_TRUE(back.ok()) << "seed " << seed << ": " << back.error().message;
    ASSERT_EQ(write_session_plan(back.value()), again) << "seed " << seed;
  }
  EXPECT_GT(accepted, 50);
  EXPECT_LT(accepted, 2500);
}

TEST(SessionHeader, EnumsHaveNamesAndALevelIsReadByItsName) {
  EXPECT_EQ(session_kind_name(SessionKind::judge), "judge");
  EXPECT_EQ(session_status_name(SessionStatus::failed), "failed");
  EXPECT_EQ(record_level_name(RecordLevel::full), "full");
  for (const RecordLevel level : {RecordLevel::counts, RecordLevel::blocks, RecordLevel::full})
    EXPECT_EQ(record_level_of(record_level_name(level)), level);
  EXPECT_EQ(record_level_of("everything"), std::nullopt);
}

}  // namespace

}  // namespace hybridscope::session_plan_test
