// One case per way in which a scenario file can be wrong, with the whole message.

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "core/base/fingerprint.h"
#include "core/check/finding.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/json_reader.h"
#include "sessions/traffic/traffic_formats.h"
#include "tests/support/read_traffic.h"

namespace hybridscope::scenario_errors_test {
namespace {

struct Case {
  const char* name;
  std::string text;
  std::string message;  // after "s.json"
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// A scenario with K = 1, block size 8 and request A of 6 tokens, with members added or replaced.
std::string scenario(const std::string& settings, const std::string& requests,
                     const std::string& more = "") {
  return R"({"version": 1, "model": "tiny-mamba2", "settings": {)" + settings +
         R"("block_size": 8, "speculative_config": {"num_speculative_tokens": 1}}, "requests": [)" +
         requests + "]" + more + "}";
}

const std::string kA = R"({"id": "A", "prompt": 6, "max_tokens": 4})";

std::string with_settings(const std::string& settings) { return scenario(settings + ", ", kA); }
std::string with_requests(const std::string& requests) { return scenario("", requests); }
std::string with_script(const std::string& script) {
  return scenario("", kA, R"(, "script": [)" + script + "]");
}
std::string without_drafts(const std::string& script) {
  return R"({"version": 1, "model": "tiny-mamba2", "requests": [)" + kA + R"(], "script": [)" +
         script + "]}";
}
std::string with_expect(const std::string& expect) {
  return scenario("", kA, R"(, "expect": )" + expect);
}

std::string known_rules() {
  std::string known;
  for (const RuleInfo& rule : rule_table())
    known += (known.empty() ? "" : ", ") + std::string(rule.slug);
  return known;
}

class ScenarioErrors : public testing::TestWithParam<Case> {};

TEST_P(ScenarioErrors, NameThePlaceAndWhatWasExpected) {
  const auto result = parse_scenario({.text = GetParam().text, .file = "s.json"});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "s.json" + GetParam().message);
}

const auto kName = [](const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.name);
};

INSTANTIATE_TEST_SUITE_P(
    Document, ScenarioErrors,
    testing::Values(
        Case{
            "truncated", "{\"version\": 1,\n \"model\"",
            ":2:9: syntax error while parsing object separator - unexpected end of input; expected "
            "':'"},
        Case{"not_utf8", "{\"version\": 1,\n \"model\": \"\xE9\"}",
             ":2:12: byte 0xE9 is no UTF-8 (expected JSON in UTF-8)"},
        Case{"array", "[]", ": expected an object, found an array of 0"},
        Case{"no_version", "{}", ": key \"version\" is missing (expected 1)"},
        Case{"newer_version", R"({"version": 2, "news": 1})",
             ": /version: version is 2 (this program reads version 1)"},
        Case{"version_text", R"({"version": "1"})",
             ": /version: version is \"1\" (this program reads version 1)"},
        Case{"no_model", R"({"version": 1, "requests": []})", ": key \"model\" is missing"},
        Case{"no_requests", R"({"version": 1, "model": "m"})", ": key \"requests\" is missing"},
        Case{"empty_requests", R"({"version": 1, "model": "tiny-gdn", "requests": []})",
             ": /requests: no request (expected at least one)"},
        Case{"unknown_key", R"({"version": 1, "model": "m", "request": []})",
             ": /request: unknown key \"request\", did you mean \"requests\"?"},
        Case{"duplicate_key", R"({"version": 1, "model": "m", "model": "n"})",
             ": key \"model\" occurs twice"},
        Case{"unknown_model",
             R"({"version": 1, "model": "tiny-mamba3", "requests": [{"id": "A", "prompt": 6}]})",
             ": /model: " + resolve_model("tiny-mamba3").error().message},
        Case{"model_type", R"({"version": 1, "model": 3, "requests": []})",
             ": /model: expected a string, found 3"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Settings, ScenarioErrors,
    testing::Values(
        Case{"unknown", with_settings(R"("max_num_sequences": 4)"),
             ": /settings/max_num_sequences: unknown key \"max_num_sequences\", did you mean "
             "\"max_num_seqs\"?"},
        Case{"key_of_an_object", with_settings(R"("num_speculative_tokens": 2)"),
             ": /settings/num_speculative_tokens: unknown key \"num_speculative_tokens\", which is "
             "a key of speculative_config"},
        Case{"key_of_settings",
             R"({"version": 1, "model": "tiny-mamba2", "requests": [], "settings": )"
             R"({"speculative_config": {"max_num_seqs": 2}}})",
             ": /settings/speculative_config/max_num_seqs: unknown key \"max_num_seqs\", which is "
             "a key of settings"},
        Case{"setting_outside_of_settings",
             R"({"version": 1, "model": "tiny-mamba2", "requests": [], "block_size": 8})",
             ": /block_size: unknown key \"block_size\", which is a key of settings"},
        Case{"dspark_as_dflash",
             R"({"version": 1, "model": "tiny-mamba2", "requests": [], "settings": )"
             R"({"speculative_config": {"method": "dspark", "num_speculative_tokens": 2}}})",
             ": /settings/speculative_config/method: method is \"dspark\", which is not modelled: "
             "the draft model's own layers are in no group; method mtp is the nearest, but dflash "
             "has one look-ahead slot more, and from 0.33.0 on neither dflash nor dspark drops a "
             "block of a hit (allowed: one of none, mtp, ngram, draft_model)"},
        Case{"not_modelled", with_settings(R"("enforce_eager": true)"),
             ": /settings/enforce_eager: enforce_eager is not modelled: without graphs is "
             "cudagraph_mode NONE"},
        Case{
            "method_before_its_model",
            R"({"version": 1, "model": "tiny-mamba2", "requests": [], "settings": {"speculative_config": )"
            R"({"model": "a/b", "method": "eagle3"}}})",
            ": /settings/speculative_config/method: method is \"eagle3\", which is not modelled: "
            "the draft model's own layers are in no group; method mtp drafts, drops blocks of hits "
            "and schedules by the same rules (allowed: one of none, mtp, ngram, draft_model)"},
        Case{"range", with_settings(R"("max_num_seqs": 0)"),
             ": /settings/max_num_seqs: max_num_seqs is 0 (allowed: an integer from 1 to 65536)"},
        Case{"negative", with_settings(R"("max_num_batched_tokens": -8192)"),
             ": /settings/max_num_batched_tokens: max_num_batched_tokens is -8192 (allowed: an "
             "integer from 1 to 16777216)"},
        Case{"huge", with_settings(R"("num_gpu_blocks_override": 18446744073709551615)"),
             ": /settings/num_gpu_blocks_override: num_gpu_blocks_override is 18446744073709551615 "
             "(allowed: an integer from 2 to 268435456)"},
        Case{"type", with_settings(R"("watermark": "0.1")"),
             ": /settings/watermark: watermark is \"0.1\" (allowed: a number from 0 to 1)"},
        Case{"null", with_settings(R"("seed": null)"),
             ": /settings/seed: seed is null (allowed: an integer from 0 to 9223372036854775807)"},
        Case{"list_of_texts", with_settings(R"("cudagraph_capture_sizes": ["1"])"),
             ": /settings/cudagraph_capture_sizes: cudagraph_capture_sizes is an array of 1 "
             "(allowed: "
             "a list of integers from 1 to 1048576)"},
        Case{"no_capture_sizes", with_settings(R"("cudagraph_capture_sizes": [])"),
             ": /settings/cudagraph_capture_sizes: cudagraph_capture_sizes is empty (expected at "
             "least one size)"},
        Case{"section_type", with_settings(R"("step_cost": 3)"),
             ": /settings/step_cost: expected an object, found 3"},
        Case{"section_key", with_settings(R"("step_cost": {"base": 3})"),
             ": /settings/step_cost/base: unknown key \"base\", did you mean \"base_us\"?"},
        Case{"policy_value", with_settings(R"("policies": {"no_draft_step": "column_one"})"),
             ": /settings/policies/no_draft_step: no_draft_step is \"column_one\" (allowed: one of "
             "verify_with_counts, column_zero, "
             "zero_drafts)"},
        Case{"window_above_block",
             R"({"version": 1, "model": "m", "settings": {"block_size": 2, "speculative_config":
                {"num_speculative_tokens": 2}}, "requests": [{"id": "A", "prompt": 6}]})",
             ": /settings/speculative_config/num_speculative_tokens: num_speculative_tokens is 2, "
             "but "
             "1 + 2 tokens do not fit a block of 2 (expected at most 1)"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Requests, ScenarioErrors,
    testing::Values(
        Case{"no_id", with_requests(R"({"prompt": 6})"), ": /requests/0: key \"id\" is missing"},
        Case{"empty_id", with_requests(R"({"id": "", "prompt": 6})"),
             ": /requests/0/id: expected 1 to 64 bytes, found 0"},
        Case{"control_in_id", with_requests(R"({"id": "A\n", "prompt": 6})"),
             ": /requests/0/id: a control character in a name (expected printable text)"},
        Case{"twice", with_requests(kA + "," + kA),
             ": /requests/1/id: request \"A\" is defined twice"},
        Case{"no_prompt", with_requests(R"({"id": "A"})"),
             ": /requests/0: key \"prompt\" is missing"},
        Case{"empty_prompt", with_requests(R"({"id": "A", "prompt": 0})"),
             ": /requests/0/prompt: expected an integer from 1 to 16777216, found 0"},
        Case{"token_list", with_requests(R"({"id": "A", "prompt": [1, 2]})"),
             ": /requests/0/prompt: expected a number of tokens or an object, found an array of 2"},
        Case{"no_tokens", with_requests(R"({"id": "A", "prompt": {"share": "t"}})"),
             ": /requests/0/prompt: key \"tokens\" is missing"},
        Case{"shares_too_much",
             with_requests(
                 R"({"id": "A", "prompt": {"tokens": 6, "share": "t", "share_tokens": 7}})"),
             ": /requests/0/prompt/share_tokens: expected an integer from 1 to 6, found 7"},
        Case{"shares_nothing",
             with_requests(R"({"id": "A", "prompt": {"tokens": 6, "share_tokens": 2}})"),
             ": /requests/0/prompt/share_tokens: share_tokens without share (expected the name of "
             "what is shared)"},
        Case{"past_the_end",
             with_requests(kA + R"(, {"id": "B", "prompt": {"tokens": 20, "share": "A",
                                 "share_tokens": 11}})"),
             ": /requests/1/prompt/share_tokens: 11 tokens of request \"A\", whose sequence ends "
             "at 6 "
             "prompt + 4 output tokens (expected at most 10)"},
        Case{"shares_itself",
             with_requests(R"({"id": "A", "prompt": {"tokens": 6, "share": "A"}})"),
             ": /requests/0/prompt/share: sharing goes in a circle: A -> A"},
        Case{"circle", with_requests(R"({"id": "A", "prompt": {"tokens": 6, "share": "B"}},
                                        {"id": "B", "prompt": {"tokens": 6, "share": "C"}},
                                        {"id": "C", "prompt": {"tokens": 6, "share": "B"}})"),
             ": /requests/1/prompt/share: sharing goes in a circle: B -> C -> B"},
        Case{"no_output", with_requests(R"({"id": "A", "prompt": 6, "max_tokens": 0})"),
             ": /requests/0/max_tokens: expected an integer from 1 to 16777216, found 0"},
        Case{"step_zero", with_requests(R"({"id": "A", "prompt": 6, "at_step": 0})"),
             ": /requests/0/at_step: expected an integer from 1 to 1000000000, found 0"},
        Case{"longer_than_the_model",
             scenario(R"("max_model_len": 16, )", R"({"id": "A", "prompt": 16})"),
             ": /requests/0/prompt: 16 prompt tokens with max_model_len 16 (expected at most 15)"},
        Case{"longer_than_a_step",
             scenario(R"("enable_chunked_prefill": false, "max_num_batched_tokens": 8, )",
                      R"({"id": "A", "prompt": 9})"),
             ": /requests/0/prompt: 9 prompt tokens with max_num_batched_tokens 8 and no chunked "
             "prefill: the request could never run (expected at most 8)"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Script, ScenarioErrors,
    testing::Values(
        Case{"no_step", with_script(R"({"budget": 3})"), ": /script/0: key \"step\" is missing"},
        Case{"descending", with_script(R"({"step": 3, "budget": 3}, {"step": 3, "budget": 4})"),
             ": /script/1/step: step 3 after step 3 (expected ascending steps, one entry each)"},
        Case{"unknown_key", with_script(R"({"step": 3, "bugdet": 3})"),
             ": /script/0/bugdet: unknown key \"bugdet\", did you mean \"budget\"?"},
        Case{"unknown_request", with_script(R"({"step": 3, "accept": {"B": 1}})"),
             ": /script/0/accept/B: no request is called \"B\""},
        Case{"accepts_too_many", with_script(R"({"step": 3, "accept": {"A": 3}})"),
             ": /script/0/accept/A: 3 accepted tokens with num_speculative_tokens 1 (expected 1 to "
             "2, "
             "the bonus token included)"},
        Case{"accepts_nothing", with_script(R"({"step": 3, "accept": {"A": 0}})"),
             ": /script/0/accept/A: expected an integer from 1 to 65, found 0"},
        Case{"drafts_too_many", with_script(R"({"step": 3, "drafts": {"A": 2}})"),
             ": /script/0/drafts/A: 2 drafts with num_speculative_tokens 1 (expected 0 to 1)"},
        Case{"accepts_without_drafts", without_drafts(R"({"step": 3, "accept": {"A": 2}})"),
             ": /script/0/accept/A: 2 accepted tokens, but the engine makes no drafts: "
             "num_speculative_tokens is 0 (expected 1, the bonus token)"},
        Case{"drafts_without_drafts", without_drafts(R"({"step": 3, "drafts": {"A": 1}})"),
             ": /script/0/drafts/A: 1 drafts, but the engine makes none: num_speculative_tokens is "
             "0"},
        Case{"before_it_joins",
             scenario("", R"({"id": "A", "prompt": 6, "at_step": 4})",
                      R"(, "script": [{"step": 3, "preempt": ["A"]}])"),
             ": /script/0/preempt/0: request \"A\" joins at step 4, after step 3"},
        Case{"unknown_profile", with_script(R"({"step": 3, "engine": "page"})"),
             ": /script/0/engine: engine is \"page\", did you mean \"pages\"? (allowed: one of "
             "safe, reference, "
             "vllm-0.24.0, vllm-0.25.1, vllm-0.26.0, vllm-0.27.1, vllm-0.28.0, vllm-0.29.0, "
             "vllm-0.30.0, vllm-0.31.0, vllm-0.32.0, vllm-0.33.0, vllm (the newest) or "
             "vllm@YYYY-MM-DD)"},
        Case{"policy_as_text", with_script(R"({"step": 3, "policies": "reference"})"),
             ": /script/0/policies: expected an object, found \"reference\""},
        Case{"caching_policy",
             with_script(R"({"step": 3, "policies": {"block_registration": "at_allocation"}})"),
             ": /script/0/policies/block_registration: block_registration is a caching policy, "
             "which "
             "cannot change while an engine runs: blocks have been cached by it (set it in "
             "/settings/policies)"},
        Case{"sizing_policy",
             with_script(R"({"step": 3, "policies": {"conv_state_sizing": "as_reference"}})"),
             ": /script/0/policies/conv_state_sizing: conv_state_sizing sizes blocks, which cannot "
             "change while an engine runs (set it in /settings/policies)"},
        Case{"unknown_victim", with_script(R"({"step": 3, "abort": ["A", "Z"]})"),
             ": /script/0/abort/1: no request is called \"Z\""},
        Case{"budget_above_the_maximum", with_script(R"({"step": 3, "budget": 8193})"),
             ": /script/0/budget: a budget of 8193 tokens with max_num_batched_tokens 8192 "
             "(expected "
             "at most 8192)"},
        Case{"reset_type", with_script(R"({"step": 3, "reset_prefix_cache": 1})"),
             ": /script/0/reset_prefix_cache: expected true or false, found 1"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Expect, ScenarioErrors,
    testing::Values(Case{"other_word", with_expect(R"({"findings": "some"})"),
                         ": /expect/findings: expected \"none\" or an array, found \"some\""},
                    Case{"no_rule", with_expect(R"({"findings": [{"step": 3}]})"),
                         ": /expect/findings/0: key \"rule\" is missing"},
                    Case{"unknown_request",
                         with_expect(R"({"findings": [{"rule": "no-progress", "request": "B"}]})"),
                         ": /expect/findings/0/request: no request is called \"B\""},
                    Case{
                        "unknown_rule",
                        with_expect(R"({"findings": [{"rule": "no-progress"}, {"rule": "nope"}]})"),
                        ": /expect/findings/1/rule: no rule is called \"nope\" (known: " +
                            known_rules() + ")"},
                    Case{"too_many_finished", with_expect(R"({"finished": 2})"),
                         ": /expect/finished: 2 finished requests of 1"}),
    kName);

// A scenario file with bytes changed is either read or refused; nothing is thrown.

const std::string kFile = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/mixed_gdn_batch.json";

// One to four changes: a byte replaced, removed or doubled, a bit flipped, the rest cut off, a
// digit or a structural character put in.
std::string mutated(std::string text, std::uint64_t seed) {
  std::uint64_t state = mix(0x66757A7AULL, seed);
  const auto draw = [&](std::uint64_t below) { return (state = mix(state, below)) % below; };
  const std::string_view inserts = "{}[]\",:-0123456789eE.\\ntf \x80\xFF";
  const std::uint64_t changes = 1 + draw(4);
  for (std::uint64_t i = 0; i < changes && !text.empty(); ++i) {
    const auto at = static_cast<std::size_t>(draw(text.size()));
    switch (draw(7)) {
      case 0: text[at] = static_cast<char>(draw(256)); break;
      case 1: text.erase(at, 1 + draw(8)); break;
      case 2: text.insert(at, text.substr(at, 1 + draw(16))); break;
      case 3: text[at] = static_cast<char>(text[at] ^ (1 << draw(8))); break;
      case 4:
        if (draw(8) == 0) text.resize(at);
        break;
      default: text.insert(at, 1, inserts[draw(inserts.size())]);
    }
  }
  return text;
}

bool one_line_about(const std::string& message, const std::string& file) {
  return message.starts_with(file) && message.find('\n') == std::string::npos;
}

TEST(ScenarioMutations, GiveAScenarioOrOneLineOfError) {
  const std::string text = read_text_file(kFile).value();
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto scenario = parse_scenario({.text = mutated(text, seed), .file = "s.json"});
    if (!scenario.ok()) {
      ASSERT_TRUE(one_line_about(scenario.error().message, "s.json:"))
          << "seed " << seed << ": " << scenario.error().message;
      continue;
    }
    ++accepted;
    ASSERT_TRUE(resolve_requests(scenario.value()).ok()) << "seed " << seed;
    const auto back = parse_scenario({.text = write_scenario(scenario.value()), .file = "s.json"});
    ASSERT_TRUE(back.ok()) << "seed " << seed << ": " << back.error().message;
    ASSERT_EQ(back.value(), scenario.value()) << "seed " << seed;
  }
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 1500);
}

TEST(TrafficMutations, GiveTrafficOrOneLineOfError) {
  const std::string text =
      R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 7]})"
      "\n"
      R"({"timestamp": 12, "input_length": 512, "output_length": 5, "hash_ids": [0]})"
      "\n";
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::istringstream lines(mutated(text, seed));
    const auto traffic = test::read_traffic(lines);
    if (traffic.ok()) {
      ++accepted;
      continue;
    }
    ASSERT_TRUE(one_line_about(traffic.error().message, "t.jsonl:"))
        << "seed " << seed << ": " << traffic.error().message;
  }
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 1500);
}

}  // namespace

}  // namespace hybridscope::scenario_errors_test
